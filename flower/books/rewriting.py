"""Session stores whose `load` is a copy made for the model; what is stored is never altered.

They stand before any store that follows the SDK's protocol. `append` passes through. `load` and
`materialise` rewrite: short-lived results expire, old large ones move into files, errors, refusals and
cut-off calls are taken out or mended.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import hashlib
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flower.books.ignore import hide
from flower.books.payload import context_of
from flower.books.sqlite import SqliteSessionStore
from flower.model import BooksError
from flower.transcript.expire import EphemeralPolicy
from flower.transcript.look import Entry
from flower.transcript.prune import PrunePolicy
from flower.transcript.record import Record, records_of
from flower.transcript.report import TrimReport
from flower.transcript.rewrite import Rules, rewrite
from flower.transcript.trim import TrimPolicy

Key = Mapping[str, str]


@dataclass(frozen=True)
class Materialised:
    """A transcript file written for the CLI.

    Attributes:
        report: what the rewriting changed.
        inserted: uuids of entries made by the rewriting; they are not stored and never to be taken for lost
        ones.
    """

    report: TrimReport
    inserted: frozenset[str]


class SpillDirectory:
    """Files named by the hash of what they hold, so that writing one twice is writing it once.

    Args:
        workspace: what the paths told to the model are relative to.
        dirname: the directory below it.
    """

    def __init__(self, workspace: str | os.PathLike[str], dirname: str) -> None:
        self.dirname = Path(dirname)
        self.path = Path(workspace) / dirname
        self._hidden = False

    def __call__(self, data: bytes, suffix: str) -> str | None:
        name = hashlib.sha256(data).hexdigest()[:16] + suffix
        target = f"{self.path}/{name}"
        try:
            if not _holds(target, len(data)):
                self._put(target, data)
            if not self._hidden:
                hide(self.path)
                self._hidden = True
        except (OSError, BooksError):
            return None  # The body then stays in the conversation: large, but nothing is lost.
        return f"{self.dirname.as_posix()}/{name}"

    def _put(self, target: str, data: bytes) -> None:
        # Not synced, as there may be thousands: what is in them is durable in the database, and the next load
        # finds by its size a file that a power cut left short.
        if not self._hidden:
            self.path.mkdir(parents=True, exist_ok=True)
        beside = f"{target}.{secrets.token_hex(4)}.tmp"
        try:
            file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(file, view) :]
            finally:
                os.close(file)
            os.replace(beside, target)
        except BaseException:
            with contextlib.suppress(OSError):  # The first error is the one to tell.
                os.unlink(beside)
            raise


def _holds(path: str, size: int) -> bool:
    try:
        return os.stat(path).st_size == size
    except FileNotFoundError:
        return False


class _RewritingStore:
    """What both stores share.

    Attributes:
        backend: the store behind; its entries are unaltered.
        last_report: what the last load or materialise changed; None before the first.
        inserted: uuids of the entries that the last load or materialise made.
    """

    def __init__(self, store: Any, workspace: str | os.PathLike[str], rules: Rules) -> None:
        self.backend: Any = SqliteSessionStore(store) if isinstance(store, (str, os.PathLike)) else store
        self.rules = rules
        self.workspace = Path(workspace)
        self.last_report: TrimReport | None = None
        self.inserted: frozenset[str] = frozenset()
        self._spill = SpillDirectory(workspace, rules.trim.spill_dirname)

    # -- the SDK's protocol

    async def append(self, key: Key, entries: Sequence[Mapping[str, Any]]) -> None:
        """Store the entries as they are."""
        await self.backend.append(key, entries)

    async def load(self, key: Key) -> list[Entry] | None:
        """The entries as the model is to see them; None if there are none."""
        stored = await self._stored(key)
        return await asyncio.to_thread(self._loaded, key, stored) if stored is not None else None

    async def list_sessions(self, project_key: str) -> Any:
        return await self.backend.list_sessions(project_key)

    async def list_session_summaries(self, project_key: str) -> Any:
        return await self.backend.list_session_summaries(project_key)

    async def delete(self, key: Key) -> None:
        await self.backend.delete(key)

    async def list_subkeys(self, key: Key) -> Any:
        return await self.backend.list_subkeys(key)

    # -- what flower asks besides

    async def load_raw(self, key: Key) -> list[Entry] | None:
        """The entries as they were stored."""
        entries: list[Entry] | None = await self.backend.load(key)
        return entries

    async def materialise(self, key: Key, path: str | os.PathLike[str]) -> Materialised:
        """Write the transcript as the model is to see it into a file that the CLI resumes from.

        Readable by its owner alone; appears whole or not at all. Rows that no rule touches are written as
        they are stored.

        Raises:
            LookupError: the store holds nothing under the key.
        """
        stored = await self._stored(key)
        if not stored:
            raise LookupError(f"no entries under {dict(key)!r}")
        used: list[Record] = []
        written = await asyncio.to_thread(self._write, key, Path(path), stored, used)
        # Freed while the caller goes on and starts the CLI: of 85 MB that takes a tenth as long as all the rest.
        asyncio.get_running_loop().run_in_executor(None, _free, used)
        return written

    def has_session(self, project_key: str, session_id: str) -> bool:
        """Does the session hold an entry? A store that cannot say is asked through its `load`."""
        ask = getattr(self.backend, "has_session", None)
        if ask is not None:
            return bool(ask(project_key, session_id))
        return bool(self._load_now(project_key, session_id))

    has_entries = has_session

    def last_context(self, project_key: str, session_id: str, scan: int = 60) -> int:
        """Tokens in the context at the last turn, cache included, found in the last `scan` entries; 0 if
        unknown.
        """
        ask = getattr(self.backend, "last_context", None)
        if ask is not None:
            return int(ask(project_key, session_id, scan))
        entries = self._load_now(project_key, session_id)[-scan:] if scan > 0 else []
        return next((tokens for entry in reversed(entries) if (tokens := context_of(entry))), 0)

    def known_uuids(self, key: Key) -> set[str]:
        """The uuids of a transcript's stored entries."""
        ask = getattr(self.backend, "known_uuids", None)
        if ask is not None:
            return set(ask(key))
        entries = _run(self.backend.load(key)) or []
        return {entry["uuid"] for entry in entries if isinstance(entry.get("uuid"), str)}

    def __getattr__(self, name: str) -> Any:
        # What else a store can do (projects, append_now, …) is the backend's own.
        if name.startswith("_") or name == "backend":
            raise AttributeError(name)
        return getattr(self.backend, name)

    def close(self) -> None:
        """Close the backend, if it can be closed."""
        close = getattr(self.backend, "close", None)
        if close is not None:
            close()

    # -- work

    def _load_now(self, project_key: str, session_id: str) -> list[Entry]:
        return _run(self.backend.load({"project_key": project_key, "session_id": session_id})) or []

    async def _stored(self, key: Key) -> list[Any] | None:
        """The rows as text where the backend has them, so that most need not be parsed; else its entries."""
        if isinstance(self.backend, SqliteSessionStore):
            return await self.backend.load_rows(key) or None
        entries: list[Entry] | None = await self.backend.load(key)
        return entries

    def _rewritten(self, key: Key, stored: list[Any]) -> list[Record]:
        with without_collector():
            return self._rewritten_now(key, stored)

    def _rewritten_now(self, key: Key, stored: list[Any]) -> list[Record]:
        if stored and isinstance(stored[0], bytes):
            records = [record for raw in stored if (record := Record.of_row(raw)) is not None]
            skipped = len(stored) - len(records)
            stored.clear()  # What is dropped need not stay in memory.
        else:
            records, skipped = records_of(stored), int(getattr(self.backend, "skipped", 0))
        session = key["session_id"] + ("/" + key["subpath"] if key.get("subpath") else "")
        records, report = rewrite(records, self.rules, session, self._spill)
        report.skipped = skipped
        self.inserted = frozenset(record.uuid for record in records if record.inserted and record.uuid)
        self.last_report = report
        return records

    def _loaded(self, key: Key, stored: list[Any]) -> list[Entry]:
        return [record.entry() for record in self._rewritten(key, stored)]

    def _write(self, key: Key, path: Path, stored: list[Any], used: list[Record]) -> Materialised:
        used.extend(self._rewritten(key, stored))
        _write_lines(path, used)
        assert self.last_report is not None
        return Materialised(self.last_report, self.inserted)


class TrimmingSessionStore(_RewritingStore):
    """Expires short-lived results and moves old large ones into files; errors and refusals stay.

    Args:
        path_or_store: a database file, or any store that follows the SDK's protocol.
        workspace: the agent's working directory; spilled results go below it.
        policy: when large results move; None = the defaults.
        ephemeral: when short-lived results expire; None = the defaults.
    """

    def __init__(
        self,
        path_or_store: Any,
        workspace: str | os.PathLike[str],
        policy: TrimPolicy | None = None,
        ephemeral: EphemeralPolicy | None = None,
    ) -> None:
        rules = Rules(policy or TrimPolicy(), ephemeral or EphemeralPolicy(), None)
        super().__init__(path_or_store, workspace, rules)


class PruningSessionStore(_RewritingStore):
    """Does what `TrimmingSessionStore` does, then takes out errors and old refusals, and mends interrupts
    and cut-off calls.

    Args:
        path_or_store: a database file, or any store that follows the SDK's protocol.
        workspace: the agent's working directory; spilled results go below it.
        policy: when large results move; None = the defaults.
        prune: what is taken out and mended; None = the defaults.
        ephemeral: when short-lived results expire; None = the defaults.
    """

    def __init__(
        self,
        path_or_store: Any,
        workspace: str | os.PathLike[str],
        policy: TrimPolicy | None = None,
        prune: PrunePolicy | None = None,
        ephemeral: EphemeralPolicy | None = None,
    ) -> None:
        rules = Rules(policy or TrimPolicy(), ephemeral or EphemeralPolicy(), prune or PrunePolicy())
        super().__init__(path_or_store, workspace, rules)


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """No passes of the garbage collector: a bulk of values without circles makes each of them longer, to no end."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def trim_report(store: Any) -> TrimReport:
    """What the store's last load changed; all zero before the first load and for a store that changes
    nothing.
    """
    return getattr(store, "last_report", None) or TrimReport()


_AT_ONCE = 500
"""So many records are written, or freed, by one call."""


def _free(records: list[Record]) -> None:
    while records:  # in parts, between which other threads come to their turn
        del records[-_AT_ONCE:]


def _write_lines(path: Path, records: list[Record]) -> None:
    # Not synced: it is a copy of what is durable elsewhere, and a reboot makes a new one.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open(
            os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", buffering=1 << 20
        ) as file:
            for start in range(0, len(records), _AT_ONCE):
                lines = [record.line() for record in records[start : start + _AT_ONCE]]
                lines.append(b"")
                file.write(b"\n".join(lines))
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):  # The first error is the one to tell.
            beside.unlink()
        raise


def _run(coroutine: Any) -> Any:
    """The result of a coroutine, also for callers inside an event loop, which cannot wait in it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()
