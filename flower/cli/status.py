"""``flower status``: what this directory remembers, and who is at work in it."""

from __future__ import annotations

from collections.abc import Iterator

from flower.cli import paper
from flower.cli.phrases import dollars, tokens
from flower.cli.terminal import shown_path
from flower.locale import _, ngettext

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from flower.cli.settings import Settings
    from flower.inspect.books import Problem
    from flower.inspect.status import Status


def run(settings: Settings) -> None:
    """Answer ``flower status``."""
    from flower.inspect.status import status_of

    status = status_of(settings.workspace, settings.run_dir)
    if settings.json is not None:
        settings.json.write({"type": "status", **status.as_json()})
        settings.json.end("ok", 0, steps=status.rows, cost_usd=status.cost_usd, run=status.last_run or None)
        return
    paper.write(_lines(status))


def _lines(status: Status) -> Iterator[str]:
    yield _("workspace  {path}").format(path=shown_path(status.workspace))
    yield _("books      {path}").format(path=shown_path(status.run_dir))
    if not (status.steps or status.rows or status.sessions or status.brief):
        yield _("nothing is remembered here yet")
    else:
        yield from _memory(status)
    for holder in status.live:
        text = _("live       run {run} (pid {pid} on {host}, since {when})")
        when = paper.moment(holder.since or holder.started)
        yield text.format(run=holder.run or "?", pid=holder.pid or "?", host=holder.host, when=when)
    yield from problem_lines(status.problems)


def _memory(status: Status) -> Iterator[str]:
    facts = [_("brief confirmed") if status.waking else _("brief not confirmed")]
    if status.checks:
        facts.append(ngettext("{n} check", "{n} checks", status.checks).format(n=status.checks))
    facts.append(ngettext("woke {n} time", "woke {n} times", status.woke).format(n=status.woke))
    yield _("memory     {facts}").format(facts=_(" | ").join(facts))
    spent = [
        ngettext("{n} run", "{n} runs", status.runs).format(n=status.runs),
        ngettext("{n} row", "{n} rows", status.rows).format(n=status.rows),
        ngettext("{n} session", "{n} sessions", status.sessions).format(n=status.sessions),
        dollars(status.cost_usd),
    ]
    yield _("so far     {facts}").format(facts=_(" | ").join(spent))
    if status.steps:
        yield ""
        titles = (_("step"), _("session"), ">" + _("entries"), ">" + _("context"), _("changed"), "")
        rows = []
        for step in status.steps:
            note = _("at work in {run}").format(run=step.driven_by) if step.driven_by else ""
            if not step.stored and not note:
                note = _("not in the database")
            context = tokens(step.context) if step.context else "-"
            changed = paper.moment(step.modified / 1000)
            rows.append((step.step, step.session_id, str(step.entries), context, changed, note))
        yield from paper.table(titles, rows)


def problem_lines(problems: list[Problem]) -> Iterator[str]:
    """One line for each thing that needs attention."""
    for problem in problems:
        todo = f" {problem.todo}" if problem.todo else ""
        yield f"! {shown_path(problem.file)}: {problem.what}.{todo}".replace("..", ".")
