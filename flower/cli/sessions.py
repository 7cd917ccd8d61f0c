"""``flower sessions``: the conversations in the books."""

from __future__ import annotations

import sys

from flower.cli import paper
from flower.cli.phrases import tokens
from flower.cli.status import problem_lines
from flower.cli.terminal import printable, shorten
from flower.locale import _

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from flower.cli.settings import Settings
    from flower.inspect.sessions import Session

TITLE_COLUMNS = 48


def run(settings: Settings) -> None:
    """Answer ``flower sessions``."""
    from flower.config.dotenv import load_dotenv
    from flower.config.secrets import Masker
    from flower.inspect.books import Books
    from flower.inspect.sessions import sessions_of_books

    load_dotenv()
    books = Books.read(settings.run_dir, settings.workspace)
    found: list[Session] = []
    with books.database() as database:
        if database is not None:
            for session in sessions_of_books(database, books, Masker()):
                found.append(session)
                if settings.json is not None:
                    settings.json.write({"type": "session", **session._asdict()})
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
