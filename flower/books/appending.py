"""Adding entries to a transcript: one transaction, one sync of the disk, and as little reading as is safe."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from flower.books.payload import bindable, decode, encode, uid_of
from flower.books.writing import transaction

_INSERT = (
    "INSERT INTO entries (store_key, seq, uid, payload) VALUES (?, ?, ?, ?)"
    # Only a uuid seen before is let go; a clash of numbers would lose an entry and must be an error.
    " ON CONFLICT (store_key, uid) WHERE uid IS NOT NULL DO NOTHING"
)
_META = "SELECT next_seq, mtime FROM meta WHERE store_key = ?"
_NEXT_SEQ = "SELECT coalesce(max(seq), -1) + 1 FROM entries WHERE store_key = ?"
_STORED = "SELECT seq FROM entries WHERE store_key = ? AND seq >= ?"
# Not a replacement: that is a new row, and its index would be written again at every append.
_SET_META = (
    "INSERT INTO meta (store_key, mtime, next_seq) VALUES (?, ?, ?)"
    " ON CONFLICT (store_key) DO UPDATE SET mtime = excluded.mtime, next_seq = excluded.next_seq"
)
_SUMMARY = "SELECT mtime, CAST(data AS BLOB) FROM summaries WHERE project_key = ? AND session_id = ?"
_SET_SUMMARY = (
    "INSERT INTO summaries (project_key, session_id, mtime, data) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (project_key, session_id) DO UPDATE SET mtime = excluded.mtime, data = excluded.data"
)

Fold = Callable[..., Any]
"""The SDK's ``fold_session_summary``."""


class _Written(NamedTuple):
    """What this process wrote about a transcript last; true as long as ``meta`` says the same."""

    next_seq: int
    mtime: int
    summary: Any


class Appender:
    """Appends in the thread that owns the connection.

    What an append would read back is remembered from the one before. A transcript's ``mtime`` never comes twice, so a
    row of ``meta`` that still is as this process left it proves that nobody else has written there.

    Args:
        load: all entries of a transcript, for a summary that is to be made from nothing.
    """

    def __init__(
        self, db: apsw.Connection, load: Callable[[Mapping[str, str]], Sequence[Mapping[str, Any]] | None]
    ) -> None:
        self._db = db
        self._load = load
        self._written: dict[str, _Written] = {}
        self._last_mtime = 0

    def append(self, name: str, key: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> None:
        """Store the entries under the key, whose store key is ``name``; all of them or none."""
        fold: Fold | None = None
        if not key.get("subpath"):  # Only main transcripts have summaries.
            # Imported here: looking at the books must not load the SDK, and not while the write lock is held.
            from claude_agent_sdk import fold_session_summary

            fold = fold_session_summary
        coded = [(uid_of(entry), encode(entry)) for entry in entries]
        written = transaction(self._db, lambda: self._insert(name, key, entries, coded, fold))
        if written is not None:
            self._written[name] = written

    def _insert(
        self,
        name: str,
        key: Mapping[str, str],
        entries: Sequence[Mapping[str, Any]],
        coded: list[tuple[str | None, str]],
        fold: Fold | None,
    ) -> _Written | None:
        next_seq, mtime = next(iter(self._rows(_META, name)), (0, 0))
        before = self._written.get(name)
        if before is None or (before.next_seq, before.mtime) != (next_seq, mtime):
            before = None
            next_seq = max(next_seq, self._rows(_NEXT_SEQ, name)[0][0])
        changes = self._db.total_changes()
        self._db.executemany(
            _INSERT, [(name, next_seq + n, uid, text) for n, (uid, text) in enumerate(coded)]
        )
        added = self._db.total_changes() - changes
        if not added:
            return before
        if added < len(coded):
            entries = [entries[row[0] - next_seq] for row in self._rows(_STORED, name, next_seq)]
        self._last_mtime = max(int(time.time() * 1000), self._last_mtime + 1, mtime + 1)
        self._db.execute(_SET_META, (name, self._last_mtime, next_seq + len(coded)))
        summary = self._summarise(key, entries, fold, before.summary if before else None) if fold else None
        return _Written(next_seq + len(coded), self._last_mtime, summary)

    def _summarise(
        self, key: Mapping[str, str], added: Sequence[Mapping[str, Any]], fold: Fold, previous: Any
    ) -> Any:
        project, session = bindable(key["project_key"]), bindable(key["session_id"])
        previous = previous or self._stored_summary(key, project, session)
        if previous is None:  # None yet, or a damaged one: the transcript knows it all.
            added = self._load(key) or []
        data = fold(previous, key, added)["data"]
        self._db.execute(_SET_SUMMARY, (project, session, self._last_mtime, encode(data)))
        return {"session_id": key["session_id"], "mtime": self._last_mtime, "data": data}

    def _stored_summary(self, key: Mapping[str, str], project: str, session: str) -> Any:
        for mtime, text in self._rows(_SUMMARY, project, session):
            if (data := decode(text)) is not None:
                return {"session_id": key["session_id"], "mtime": mtime, "data": data}
        return None

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._db.execute(query, values).fetchall()
