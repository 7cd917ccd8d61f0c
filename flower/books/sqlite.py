"""Session transcripts in one SQLite file, behind the agent SDK's session-store protocol.

Everything is stored unaltered. One connection lives in one thread of its own, so that the event loop never
waits for the disk and appends land in the order of their calls.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import apsw

from flower.books.appending import Appender
from flower.books.database import (
    Patience,
    discard,
    open_database,
    open_to_look,
    plain_errors,
)
from flower.books.files import Notice
from flower.books.payload import Entry, bindable, context_of, decode, decode_rows
from flower.books.worker import Worker
from flower.books.writing import fold_log_later, transaction
from flower.locale import _
from flower.model import BooksError

T = TypeVar("T")

# As bytes, because a damaged row need not be UTF-8.
_PAYLOADS = "SELECT CAST(payload AS BLOB) FROM entries WHERE store_key = ? ORDER BY seq"
CLOSE_S = 60.0
"""Seconds that ``close`` waits for writes another process holds up, before it gives them up with an error."""


def store_key(key: Mapping[str, str]) -> str:
    """``project_key/session_id[/subpath]``.

    Raises:
        ValueError: a part is empty, or holds the slash that would make two keys one.
    """
    project, session, subpath = key["project_key"], key["session_id"], key.get("subpath")
    if not project or not session or "/" in project or "/" in session:
        raise ValueError(f"not a session key: {dict(key)!r}")
    return bindable(f"{project}/{session}/{subpath}" if subpath else f"{project}/{session}")


def below(name: str) -> tuple[str, str]:
    """The range of keys that begin with ``name/``."""
    return name + "/", name + "0"  # "0" follows "/" in ASCII.


class SqliteSessionStore:
    """The SDK's session store in an SQLite file; any number of processes may use one file at once.

    Args:
        path: the database; made, with its directory, if missing.
        notice: told in one line when another process keeps the file locked for long.
        vfs: name of an SQLite VFS to go through, None for the system's own.

    Raises:
        BooksError: the file cannot be used; ``BooksNewer`` or ``BooksDamaged`` say why, and it is left
        untouched.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, notice: Notice | None = None, vfs: str | None = None
    ) -> None:
        self.path = Path(path)
        self._patience = Patience(self.path, notice)
        self._scratch: Path | None = None
        self._begin(lambda: open_database(self.path, patience=self._patience, vfs=vfs), make=True)
        self._now(lambda: fold_log_later(self._db, self._worker.soon))

    @classmethod
    def read_only(cls, path: str | os.PathLike[str]) -> SqliteSessionStore:
        """Open for looking: while a run writes, and where nothing may be written; never blocks a writer."""
        store = cls.__new__(cls)
        store.path = Path(path)
        store._patience = Patience(store.path, None)
        store._scratch = None

        def opened() -> apsw.Connection:
            connection, store._scratch = open_to_look(store.path)
            return connection

        store._begin(opened, make=False)
        return store

    def _begin(self, opened: Callable[[], apsw.Connection], *, make: bool) -> None:
        self.skipped = 0
        """Rows that the last ``load`` could not parse and left out."""
        self._closed = False
        if make:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise BooksError(
                    _("{path} cannot be made: {reason}.").format(path=self.path.parent, reason=error.strerror)
                ) from error
        self._worker = Worker("sessions.db")
        try:
            self._db = self._worker.submit(opened).result()
        except BaseException:
            self._worker.stop()
            raise
        self._appender = Appender(self._db, self._load)

    # -- the SDK's protocol

    async def append(self, key: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> None:
        """Store entries durably, in order; those whose uuid the session has are passed over.

        A batch that holds nothing new changes nothing at all, the modification time included.

        Raises:
            BooksError: nothing of the batch was stored.
        """
        await self._later(self._append, key, entries)

    async def load(self, key: Mapping[str, str]) -> list[Entry] | None:
        """All entries of a transcript in the order of storing; None if there never were any.

        A row that cannot be parsed is left out and counted in ``skipped``.
        """
        return await self._later(self._load, key)

    async def load_rows(self, key: Mapping[str, str]) -> list[bytes]:
        """The rows of a transcript as they are stored, in that order."""
        return await self._later(self._load_rows, key)

    async def list_sessions(self, project_key: str) -> list[dict[str, Any]]:
        """``[{"session_id", "mtime"}]`` of a project's main transcripts; mtime in ms since the epoch."""
        return await self._later(self._list_sessions, project_key)

    async def list_session_summaries(self, project_key: str) -> list[dict[str, Any]]:
        """``[{"session_id", "mtime", "data"}]``, kept by the SDK's own fold."""
        return await self._later(self._list_summaries, project_key)

    async def delete(self, key: Mapping[str, str]) -> None:
        """Remove a transcript; a main one takes its subagents' along."""
        await self._later(self._delete, key)

    async def list_subkeys(self, key: Mapping[str, str]) -> list[str]:
        """The subpaths stored under a session, sorted."""
        return await self._later(self._list_subkeys, key)

    # -- what flower asks besides

    def projects(self) -> list[str]:
        """Every project key that has an entry, sorted."""
        query = "SELECT DISTINCT substr(store_key, 1, instr(store_key, '/') - 1) FROM meta ORDER BY 1"
        return [row[0] for row in self._now(lambda: self._rows(query))]

    def has_session(self, project_key: str, session_id: str) -> bool:
        """Does the session's main transcript hold an entry?"""
        name = store_key({"project_key": project_key, "session_id": session_id})
        return self._now(lambda: bool(self._rows("SELECT 1 FROM entries WHERE store_key = ? LIMIT 1", name)))

    has_entries = has_session

    def last_context(self, project_key: str, session_id: str, scan: int = 60) -> int:
        """Tokens in the context at the session's last turn, cache included; 0 if unknown.

        Args:
            scan: how many of the last entries to look through.
        """
        name = store_key({"project_key": project_key, "session_id": session_id})
        query = "SELECT CAST(payload AS BLOB) FROM entries WHERE store_key = ? ORDER BY seq DESC LIMIT ?"
        rows = self._now(lambda: self._rows(query, name, scan))
        return next((tokens for row in rows if (tokens := context_of(decode(row[0])))), 0)

    def known_uuids(self, key: Mapping[str, str]) -> set[str]:
        """The uuids of a transcript's stored entries."""
        query = "SELECT uid FROM entries WHERE store_key = ? AND uid IS NOT NULL"
        return self._now(lambda: {row[0] for row in self._rows(query, store_key(key))})

    def append_now(self, key: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> None:
        """``append`` for callers without an event loop; blocks until the entries are durable."""
        self._now(lambda: self._append(key, entries))

    def close(self) -> None:
        """Finish what was handed over and close the file. May be called twice."""
        if not self._closed:
            self._closed = True
            closing = self._worker.submit(self._close)
            try:
                closing.result(CLOSE_S)
            except FutureTimeout:
                self._patience.closing.set()
                closing.result()
            self._worker.stop()
        discard(self._scratch)

    # -- threads

    def _now(self, work: Callable[[], T]) -> T:
        self._refuse_closed()
        return self._worker.submit(lambda: self._guarded(work)).result()

    async def _later(self, work: Callable[..., T], *arguments: Any) -> T:
        self._refuse_closed()
        return await self._worker.result(lambda: self._guarded(work, *arguments))

    def _refuse_closed(self) -> None:
        if self._closed:
            raise BooksError(_("{path} is closed.").format(path=self.path))

    def _guarded(self, work: Callable[..., T], *arguments: Any) -> T:
        with plain_errors(self.path):
            return work(*arguments)

    # -- in the store's own thread

    def _close(self) -> None:
        # What was acknowledged is durable; a log that cannot be folded in now will be at the next opening.
        with suppress(apsw.Error):
            self._db.close(True)

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        # Read to the end at once: an open cursor would be a read transaction that keeps the log from
        # shrinking.
        return self._db.execute(query, values).fetchall()

    def _append(self, key: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> None:
        if entries:
            self._appender.append(store_key(key), key, entries)

    def _load_rows(self, key: Mapping[str, str]) -> list[bytes]:
        return [row[0] or b"" for row in self._rows(_PAYLOADS, store_key(key))]

    def _load(self, key: Mapping[str, str]) -> list[Entry] | None:
        count = 0

        def payloads() -> Iterator[bytes]:
            nonlocal count
            for row in self._db.execute(_PAYLOADS, (store_key(key),)):
                count += 1
                yield row[0]

        entries, self.skipped = decode_rows(payloads())
        return entries if count else None

    def _list_sessions(self, project_key: str) -> list[dict[str, Any]]:
        rows = self._rows(
            "SELECT store_key, mtime FROM meta WHERE store_key >= ? AND store_key < ?", *below(project_key)
        )
        split = ((name.split("/"), mtime) for name, mtime in rows)
        return [{"session_id": parts[1], "mtime": mtime} for parts, mtime in split if len(parts) == 2]

    def _list_summaries(self, project_key: str) -> list[dict[str, Any]]:
        query = "SELECT session_id, mtime, CAST(data AS BLOB) FROM summaries WHERE project_key = ?"
        rows = ((session, mtime, decode(data)) for session, mtime, data in self._rows(query, project_key))
        return [
            {"session_id": s, "mtime": mtime, "data": data} for s, mtime, data in rows if data is not None
        ]

    def _delete(self, key: Mapping[str, str]) -> None:
        name = store_key(key)

        def work() -> None:
            for table in ("entries", "meta"):
                self._db.execute(f"DELETE FROM {table} WHERE store_key = ?", (name,))
                if not key.get("subpath"):
                    self._db.execute(
                        f"DELETE FROM {table} WHERE store_key >= ? AND store_key < ?", below(name)
                    )
            if not key.get("subpath"):
                self._db.execute(
                    "DELETE FROM summaries WHERE project_key = ? AND session_id = ?",
                    (bindable(key["project_key"]), bindable(key["session_id"])),
                )

        transaction(self._db, work)

    def _list_subkeys(self, key: Mapping[str, str]) -> list[str]:
        start, end = below(store_key({"project_key": key["project_key"], "session_id": key["session_id"]}))
        rows = self._rows(
            "SELECT store_key FROM meta WHERE store_key >= ? AND store_key < ? ORDER BY 1", start, end
        )
        return [row[0][len(start) :] for row in rows]
