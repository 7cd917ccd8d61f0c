"""``flower sessions``: the conversations in the books."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from flower.cli import paper
from flower.cli.options import agent_flags, global_options, refuse_flags, settings_of
from flower.cli.phrases import tokens
from flower.cli.status import problem_lines
from flower.cli.terminal import printable, shorten
from flower.locale import _

if TYPE_CHECKING:
    from flower.inspect.sessions import Session

TITLE_COLUMNS = 48


@click.command("sessions", help=_("Every conversation in the books, the one changed last first."))
@global_options
@agent_flags(hidden=True)
@click.pass_context
def command(ctx: click.Context, /, **_said: Any) -> None:
    from flower.config.dotenv import load_dotenv
    from flower.config.secrets import Masker
    from flower.inspect.books import Books
    from flower.inspect.sessions import sessions_of_books

    settings = settings_of(ctx)
    refuse_flags(settings, "sessions")
    load_dotenv()
    books = Books.read(settings.run_dir, settings.workspace)
    found: list[Session] = []
    with books.database() as database:
        if database is not None:
            for session in sessions_of_books(database, books, Masker()):
                found.append(session)
                if settings.json is not None:
                    settings.json.write({"type": "session", **asdict(session)})
    for line in problem_lines(books.problems):
        print(printable(line), file=sys.stderr)
    if settings.json is not None:
        settings.json.end("ok", 0)
    elif found:
        titles = (_("session"), _("steps"), ">" + _("entries"), ">" + _("subagents"), ">" + _("context"))
        paper.write(paper.table((*titles, _("changed"), "", _("began with")), [_cells(s) for s in found]))
    else:
        paper.write([_("no conversation is in these books")])


def _cells(session: Session) -> tuple[str, ...]:
    note = _("at work") if session.driven_by else _("current") if session.current else ""
    return (
        session.session_id,
        ", ".join(session.steps) or "-",
        str(session.entries),
        str(session.subagents),
        tokens(session.context) if session.context else "-",
        paper.moment(session.modified / 1000),
        note,
        shorten(session.title, TITLE_COLUMNS),
    )
