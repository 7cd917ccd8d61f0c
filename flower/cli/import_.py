"""``flower import FILE.jsonl``: a conversation of plain Claude Code becomes a step's."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from flower.cli.options import agent_flags, global_options, refuse_flags, settings_of
from flower.locale import _, ngettext

WORK = "干活"
"""The step that does the work: what a person has done with Claude Code so far is most often this."""


@click.command("import", help=_("Bring a conversation of plain Claude Code into a step."))
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--step", default=WORK, show_default=True, metavar="NAME", help=_("the step that goes on with it")
)
@global_options
@agent_flags(hidden=True)
@click.pass_context
def command(ctx: click.Context, /, file: Path, step: str, **_said: Any) -> None:
    from flower.books.ignore import hide
    from flower.books.project import bind_project
    from flower.inspect.importing import bring_in

    settings = settings_of(ctx)
    refuse_flags(settings, "import")
    settings.make_workspace()
    bind_project(settings.workspace, settings.run_dir, notice=_tell)
    hide(settings.run_dir)
    done = bring_in(file, settings.workspace, settings.run_dir, step, notice=_tell)
    if settings.json is not None:
        settings.json.write({"type": "import", **asdict(done)})
        settings.json.end("ok", 0)
        return
    text = ngettext(
        "{step} goes on with session {id} ({n} entry)",
        "{step} goes on with session {id} ({n} entries)",
        done.entries,
    )
    print(text.format(step=done.step, id=done.session_id, n=done.entries))


def _tell(line: str) -> None:
    print(f"-- {line}", file=sys.stderr)
