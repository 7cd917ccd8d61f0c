"""``flower doctor``: is everything as it should be, and what to do if it is not."""

from __future__ import annotations

import platform
from dataclasses import asdict
from typing import Any

import click

from flower import __version__
from flower.cli import paper
from flower.cli.options import agent_flags, global_options, refuse_flags, settings_of
from flower.locale import _, ngettext

ATTENTION = 1
"""Exit status when something needs attention."""


@click.command("doctor", help=_("Check credentials, endpoint, versions, database and leftovers."))
@global_options
@agent_flags(hidden=True)
@click.pass_context
def command(ctx: click.Context, /, **_said: Any) -> None:
    from flower.config.dotenv import load_dotenv
    from flower.inspect.doctor import Finding, examine

    settings = settings_of(ctx)
    refuse_flags(settings, "doctor")
    versions = [Finding("versions", True, ", ".join(_versions()))]
    guesses = [Finding("settings", False, line, _("Correct that line.")) for line in load_dotenv()]
    findings = [*versions, *guesses, *examine(settings.workspace, settings.run_dir)]
    wrong = sum(not finding.ok for finding in findings)
    if settings.json is not None:
        for finding in findings:
            settings.json.write({"type": "finding", **asdict(finding)})
        settings.json.end("attention" if wrong else "ok", ATTENTION if wrong else 0)
    else:
        paper.write(line for finding in findings for line in _lines(finding))
        text = ngettext("{n} thing needs attention", "{n} things need attention", wrong)
        paper.write([text.format(n=wrong) if wrong else _("all is well")])
    if wrong:
        ctx.exit(ATTENTION)


def _lines(finding: Any) -> list[str]:
    lines = [f"{'ok' if finding.ok else '!!'}  {finding.name:<12} {finding.found}"]
    return [*lines, f"{'':<17}{finding.todo}"] if finding.todo and not finding.ok else lines


def _versions() -> list[str]:
    from flower.cli.version import parts
    from flower.model import FlowerError

    try:
        return [f"flower {__version__}", *parts()]
    except FlowerError:  # No CLI: its own finding says so.
        return [f"flower {__version__}", f"Python {platform.python_version()}"]
