"""What a resumed session was not given of its own transcript.

The books hold every word; the model is fed a copy in which errors and refusals are missing and old results are
short. This makes that copy once more, of what was there at the last resume, and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from flower.books.lineage import plain_step
from flower.inspect.books import Books, sessions_of
from flower.inspect.database import Database
from flower.inspect.moments import time_of

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any

    from flower.transcript.record import Record

    Marks = Callable[[str, str], str | None]

LIMIT_BYTES = 128 << 20
"""A transcript above this is shown without marks: they need all of it in memory at once."""

UNTRIMMED = ("ad-hoc",)
"""Steps of `flower once`, which leaves large results where they are unless asked."""


def no_marks(uuid: str, call: str) -> str | None:
    """Nothing is known of any entry."""
    return None


def fed_marks(database: Database, books: Books, project_key: str, session_id: str) -> Marks:
    """For an entry's uuid, and the call of a tool block in it: was it fed back at the last resume?

    ``yes``, ``no``, ``changed``; None for what came after that resume, and for everything in a session that
    never was resumed or is larger than ``LIMIT_BYTES``.
    """
    key = f"{project_key}/{session_id}"
    last = _last_start(books, session_id)
    if last is None or not _began_before(database.head(key), last[0]) or database.size(key) > LIMIT_BYTES:
        return no_marks
    # Imported here: few sessions that are looked at were resumed, and the rewriting takes its time to load.
    from flower.transcript.record import Record
    from flower.transcript.rewrite import Rules, rewrite
    from flower.transcript.trim import TrimPolicy

    started, step = last
    records = [record for raw in database.raw_rows(key) if (record := Record.of_row(raw))]
    earlier = [record for record in records if _before(record, started)]
    if not any(record.content is not None for record in earlier):
        return no_marks
    before = {record.uuid: _blocks(record) for record in earlier if record.uuid}
    rules = Rules(trim=TrimPolicy(enabled=step not in UNTRIMMED))
    kept, _report = rewrite(earlier, rules, session_id, _pretended)
    after = {record.uuid: _blocks(record) for record in kept if record.uuid and not record.inserted}

    def mark(uuid: str, call: str) -> str | None:
        if uuid not in before:
            return None
        was, now = before[uuid].get(call), after.get(uuid, {}).get(call)
        return "no" if now is None else "yes" if now == was else "changed"

    return mark


def _last_start(books: Books, session_id: str) -> tuple[float, str] | None:
    """When the last row of a session began, and which step it was."""
    for row in reversed(books.rows):
        started = row.get("started_at")
        if session_id in sessions_of(row) and isinstance(started, (int, float)):
            step = str(row.get("step", ""))
            return float(started), plain_step(step) or step
    return None


def _began_before(head: Iterable[Mapping[str, Any]], moment: float) -> bool:
    return any(when is not None and when < moment for when in map(time_of, head))


def _before(record: Record, moment: float) -> bool:
    # Only here is a row parsed whole: the look that the rewriting takes leaves the time out.
    when = time_of(record.entry())
    return when is None or when < moment  # The CLI's own notes have no time, and nothing is compared of them.


def _blocks(record: Record) -> dict[str, Any]:
    """A record's content by call id; under "" everything that belongs to no call, if there is any."""
    found: dict[str, Any] = {}
    rest = [] if isinstance(record.content, list) or record.content is None else [record.content]
    for block in record.blocks:
        ident = block.get("id") if block.get("type") == "tool_use" else block.get("tool_use_id")
        if isinstance(ident, str):
            found[ident] = block
        else:
            rest.append(block)
    return {**found, "": rest} if rest else found


def _pretended(data: bytes, suffix: str) -> str:
    """Where a large result would go; nothing is written."""
    return f"spill{suffix}"
