"""``flower report``: one page that shows what a directory's runs did, when, for how much."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from flower.cli.options import agent_flags, global_options, refuse_flags, settings_of
from flower.cli.status import problem_lines
from flower.cli.terminal import printable, shown_path
from flower.locale import _, ngettext

NAME = "flower-report.html"


@click.command("report", help=_("One HTML page: steps, cost and context per turn, verdicts."))
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default=NAME,
    show_default=True,
    type=click.Path(path_type=Path, allow_dash=True, dir_okay=False),
    help=_("this file; `-` is stdout"),
)
@global_options
@agent_flags(hidden=True)
@click.pass_context
def command(ctx: click.Context, /, output: Path, **_said: Any) -> None:
    from flower.books.files import write_atomic
    from flower.cli import paper
    from flower.cli.report_page import page
    from flower.config.dotenv import load_dotenv
    from flower.config.secrets import Masker
    from flower.inspect.report import report_of

    settings = settings_of(ctx)
    refuse_flags(settings, "report")
    load_dotenv()
    report = report_of(settings.run_dir, settings.workspace, Masker())
    text = "".join(page(report))
    cost = sum(step.cost_usd for step in report.steps)
    if str(output) == "-" and settings.json is None:
        paper.write(text.splitlines())
    elif str(output) != "-":
        # Half a page would look like all of it. What agents said is in it: for nobody else to read.
        write_atomic(output, text.encode("utf-8", "backslashreplace"), 0o600)
    if settings.json is not None:
        settings.json.write(
            {"type": "report", "file": str(output), "html": text if str(output) == "-" else None}
        )
        last = report.runs[-1].run if report.runs else None
        settings.json.end("ok", 0, steps=len(report.steps), cost_usd=cost, run=last)
    elif str(output) != "-":
        counted = ngettext("{n} step in {path}", "{n} steps in {path}", len(report.steps))
        print(counted.format(n=len(report.steps), path=shown_path(output)))
    for line in problem_lines(list(report.problems)):
        print(printable(line), file=sys.stderr)
