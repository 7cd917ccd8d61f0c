"""``flower export ID``: a session as JSONL that ``claude --resume`` continues."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from flower.cli import paper
from flower.cli.options import agent_flags, global_options, refuse_flags, settings_of
from flower.cli.terminal import shown_path
from flower.locale import _, ngettext


@click.command("export", help=_("A session as JSONL that `claude --resume` continues."))
@click.argument("session", metavar="ID")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, allow_dash=True),
    help=_("this file, or ID.jsonl in this directory; subagents go beside it"),
)
@click.option("--raw", is_flag=True, help=_("do not mask tokens"))
@global_options
@agent_flags(hidden=True)
@click.pass_context
def command(ctx: click.Context, /, session: str, output: Path | None, raw: bool, **_said: Any) -> None:
    from flower.config.dotenv import load_dotenv
    from flower.config.secrets import Masker
    from flower.inspect.books import Books, find_session
    from flower.inspect.export import Export

    settings = settings_of(ctx)
    refuse_flags(settings, "export")
    load_dotenv()
    books = Books.read(settings.run_dir, settings.workspace)
    with books.open_database() as database:
        key, found = find_session(database, books, session)
        export = Export(database, key, found, None if raw else Masker())
        if output is not None and str(output) != "-":
            done = export.into(output / f"{found}.jsonl" if output.is_dir() else output)
            if settings.json is not None:
                settings.json.write({"type": "export", "session_id": found, **asdict(done)})
            else:
                _tell(
                    ngettext("{n} entry in {path}", "{n} entries in {path}", done.entries).format(
                        n=done.entries, path=shown_path(done.files[0])
                    )
                )
        elif settings.json is not None:
            for line in export.one_stream():
                settings.json.write({"type": "entry", "entry": json.loads(line)})
        else:
            paper.write(export.one_stream())
    if export.skipped:
        text = ngettext("{n} row could not be read", "{n} rows could not be read", export.skipped)
        _tell(text.format(n=export.skipped))
    if settings.json is not None:
        settings.json.end("ok", 0)


def _tell(line: str) -> None:
    print(f"-- {line}", file=sys.stderr)
