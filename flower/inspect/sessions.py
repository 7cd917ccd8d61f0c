"""The conversations in the books, one value each."""

from __future__ import annotations

from collections.abc import Iterator

from flower.books.locks import holder_of
from flower.config.secrets import Masker
from flower.inspect.books import Books
from flower.inspect.database import Database, Transcript
from flower.inspect.words import words_of
from flower.values import NamedTuple

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any

TITLE_CHARS = 200
"""Characters of the first prompt that are kept as a title."""


class Session(NamedTuple):
    """A main transcript.

    Attributes:
        steps: names of the steps that worked in it, in the order they did.
        current: the lineage names it: the next run continues it.
        entries, subagents: how many entries, how many subagents' transcripts.
        context: tokens the model read at the last turn, 0 if unknown.
        modified: last change, ms since the epoch.
        title: the beginning of the first prompt.
        driven_by: the live run that works in it, empty if none does.
    """

    session_id: str
    project_key: str
    steps: tuple[str, ...]
    current: bool
    entries: int
    subagents: int
    context: int
    modified: int
    title: str
    driven_by: str


def sessions_of_books(database: Database, books: Books, masker: Masker) -> Iterator[Session]:
    """Every session, the one changed last first."""
    current = set(books.steps.values())
    for transcript in database.transcripts():
        session = transcript.session_id
        holder = holder_of(books.run_dir, session)
        yield Session(
            session,
            transcript.project_key,
            tuple(books.steps_of(session)),
            session in current,
            database.count(transcript.key),
            len(transcript.subpaths),
            database.context(transcript.key),
            transcript.modified,
            masker(_title(database, transcript)),
            (holder.run or "?") if holder else "",
        )


def _title(database: Database, transcript: Transcript) -> str:
    summary = database.summary(transcript)
    for name in ("custom_title", "ai_title", "first_prompt"):
        if isinstance(text := summary.get(name), str) and text.strip():
            return " ".join(text.split())[:TITLE_CHARS]
    for entry in database.head(transcript.key):
        if entry.get("type") == "user" and not entry.get("isMeta"):
            return " ".join(_said(entry).split())[:TITLE_CHARS]
    return ""


def _said(entry: dict[str, Any]) -> str:
    message = entry.get("message")
    return words_of(message.get("content")) if isinstance(message, dict) else ""
