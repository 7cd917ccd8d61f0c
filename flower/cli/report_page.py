"""The report as HTML: one file that loads nothing and runs nothing."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator

from flower import __version__, locale
from flower.cli.paper import moment
from flower.cli.phrases import dollars, seconds, tokens
from flower.cli.report_chart import CHART_STYLE, turns_chart
from flower.cli.terminal import printable, shown_path
from flower.documents.verdict import Verdict
from flower.inspect.report import Report, ReportedRun, ReportedStep
from flower.locale import _, ngettext

_STYLE = """
:root { color-scheme: light dark; --faint: #8886; --good: #2a8a4a; --bad: #c0392b; --work: #3b6fb6; --judge: #8a6d3b; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--faint); }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .2rem .6rem; text-align: left; vertical-align: top; } td:last-child { width: 99%; }
tr + tr td { border-top: 1px solid var(--faint); }
th.n, td.n { white-space: nowrap; text-align: right; font-variant-numeric: tabular-nums; }
.lane { display: grid; grid-template-columns: 12rem 1fr; gap: .6rem; align-items: center; }
.lane span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.track { position: relative; height: 1.1rem; background: #8882; }
.track i { position: absolute; top: 0; bottom: 0; min-width: 3px; background: var(--work); }
.track i.judge { background: var(--judge); } .track i.failed { background: var(--bad); }
.pass, .achieved { color: var(--good); } .fail, .cannot, .not_yet, .unreachable, .failed { color: var(--bad); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; max-height: 30rem; overflow: auto; }
details { margin: .3rem 0; } .faint { opacity: .7; }
"""


def page(report: Report) -> Iterator[str]:
    """The whole file, piece by piece."""
    title = _("flower: {path}").format(path=shown_path(report.workspace))
    yield f'<!doctype html>\n<html lang="{locale.current()}">\n<head>\n<meta charset="utf-8">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{_text(title)}</title>\n<style>{_STYLE}{CHART_STYLE}</style>\n</head>\n<body>\n"
    yield f"<h1>{_text(title)}</h1>\n<p>{_text(_summary(report))}</p>\n"
    for problem in report.problems:
        yield f'<p class="failed">{_text(f"{problem.file}: {problem.what}. {problem.todo}")}</p>\n'
    for run in report.runs:
        yield from _run(run)
    yield f'<p class="faint">flower {__version__}</p>\n</body>\n</html>\n'


def _summary(report: Report) -> str:
    if not report.runs:
        return _("no step has been run here yet")
    count, runs = len(report.steps), len(report.runs)
    facts = [
        ngettext("{n} run", "{n} runs", runs).format(n=runs),
        ngettext("{n} step", "{n} steps", count).format(n=count),
        dollars(sum(step.cost_usd for step in report.steps)),
        seconds(sum(run.ended - run.started for run in report.runs)),
    ]
    return _(" | ").join(facts)


def _run(run: ReportedRun) -> Iterator[str]:
    title = _("run {run}").format(run=run.run or "?")
    yield f"<h2>{_text(title)}</h2>\n"
    facts = [
        moment(run.started),
        seconds(run.ended - run.started),
        dollars(sum(s.cost_usd for s in run.steps)),
    ]
    line = _(" | ").join(facts)
    yield f'<p class="faint">{_text(line)}</p>\n'
    for step in run.steps:
        yield _lane(step, run)
    yield from _table(run.steps)
    judged = [step for step in run.steps if step.verdict is not None]
    if judged:
        title = _("rounds and verdicts")
        yield f"<h3>{_text(title)}</h3>\n"
    for step in judged:
        assert step.verdict is not None
        yield from _verdict(step.step, step.verdict)
    for step in run.steps:
        yield from _details(step)


def _lane(step: ReportedStep, run: ReportedRun) -> str:
    """A step's bar in the time of its run."""
    whole = (run.ended - run.started) or 1.0
    left, wide = (step.started - run.started) / whole * 100, (step.ended - step.started) / whole * 100
    kind = "failed" if not step.ok else "judge" if step.verdict is not None else ""
    tip = (
        f"{step.step}: {moment(step.started)}, {seconds(step.ended - step.started)}, {dollars(step.cost_usd)}"
    )
    return (
        f'<div class="lane"><span>{_text(step.step)}</span><div class="track">'
        f'<i class="{kind}" title="{_text(tip)}" style="left:{max(0.0, left):.2f}%;width:{wide:.2f}%"></i>'
        "</div></div>\n"
    )


def _table(steps: Iterable[ReportedStep]) -> Iterator[str]:
    titles = (_("cost"), _("time"), _("turns"), _("context"))
    numbers_of = "".join(f'<th class="n">{_text(title)}</th>' for title in titles)
    first, last = _("step"), _("ended")
    yield f"<table>\n<tr><th>{_text(first)}</th>{numbers_of}<th>{_text(last)}</th></tr>\n"
    for step in steps:
        estimated = "~" if step.estimated else ""
        numbers = (
            estimated + dollars(step.cost_usd),
            seconds(step.ended - step.started),
            str(sum(not turn.agent for turn in step.turns)),
            tokens(step.context) if step.context else "-",
        )
        right = "".join(f'<td class="n">{_text(number)}</td>' for number in numbers)
        kind = "" if step.ok else ' class="failed"'
        yield f"<tr><td>{_text(step.step)}</td>{right}<td{kind}>{_text(_ending(step))}</td></tr>\n"
    yield "</table>\n"


def _ending(step: ReportedStep) -> str:
    facts = [_("done") if step.ok else step.error or _("at work, or killed in it")]
    if step.attempts > 1:
        facts.append(ngettext("{n} attempt", "{n} attempts", step.attempts).format(n=step.attempts))
    if step.handoffs:
        facts.append(ngettext("{n} handoff", "{n} handoffs", step.handoffs).format(n=step.handoffs))
    return ", ".join(facts)


def _verdict(name: str, verdict: Verdict) -> Iterator[str]:
    words = {"achieved": _("achieved"), "not_yet": _("not yet"), "unreachable": _("unreachable")}
    word = words[verdict.conclusion]
    yield f'<h4>{_text(name)}: <span class="{verdict.conclusion}">{_text(word)}</span></h4>\n'
    if reason := verdict.reason or verdict.problem:
        yield f"<p>{_text(reason)}</p>\n"
    if verdict.checks:
        yield "<table>\n"
        said = {"pass": _("pass"), "fail": _("fail"), "cannot": _("cannot")}
        for number, (status, evidence) in sorted(verdict.checks.items()):
            mark = f'<td class="{status}">{_text(said[status])}</td>'
            yield f'<tr><td class="n">{number}</td>{mark}<td>{_text(evidence)}</td></tr>\n'
        yield "</table>\n"


def _details(step: ReportedStep) -> Iterator[str]:
    if not (step.turns or step.text):
        return
    yield f"<h3>{_text(step.step)}</h3>\n"
    if step.session_id:
        yield f'<p class="faint"><code>flower show {_text(step.session_id)}</code></p>\n'
    if step.turns:
        yield turns_chart(step.turns)
    if step.text:
        title = _("result")
        yield f"<details><summary>{_text(title)}</summary><pre>{_text(step.text)}</pre></details>\n"


def _text(text: str) -> str:
    """Safe inside of an element and of a quoted attribute."""
    return html.escape(printable(text))
