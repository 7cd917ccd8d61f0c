"""What the books promise, whatever keeps them: the seams at which another backend can stand in.

The classes in this room are the reference: files and SQLite on one machine. Each promise below is there
because something goes wrong without it, and says what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

Key = Mapping[str, str]
"""``project_key``, ``session_id`` and, for a subagent's transcript, ``subpath``."""

Entry = dict[str, Any]


@runtime_checkable
class Sessions(Protocol):
    """Transcripts. The first six methods are the agent SDK's protocol, the others flower's questions.

    A person is shown only what ``append`` has acknowledged, so an acknowledged entry must survive a power
    cut.
    """

    async def append(self, key: Key, entries: Sequence[Mapping[str, Any]]) -> None:
        """Store entries, whole and in order, or raise having stored none of them.

        Idempotent by ``uuid`` within one key: batches are sent again after errors and by salvage, and a fork
        has the uuids of its origin under another key. A batch without news moves neither mtime nor
        summary, or a session nobody touched would look new. Entries come back deep-equal: half surrogates
        and NUL included.
        """
        ...

    async def load(self, key: Key) -> list[Entry] | None:
        """Everything stored, in the order of storing; None for a key never written to.

        A row that has become unreadable is left out: one bad byte must not cost a session.
        """
        ...

    async def list_sessions(self, project_key: str) -> list[dict[str, Any]]:
        """``{"session_id", "mtime"}`` of main transcripts; mtime in ms, rising with each append."""
        ...

    async def list_session_summaries(self, project_key: str) -> list[dict[str, Any]]:
        """``{"session_id", "mtime", "data"}``; data is the SDK's fold of the transcript, verbatim."""
        ...

    async def delete(self, key: Key) -> None:
        """Forget a transcript, and with a main one its subagents': nobody could find them any more."""
        ...

    async def list_subkeys(self, key: Key) -> list[str]:
        """The subpaths under a session."""
        ...

    def projects(self) -> list[str]:
        """Every project key there is an entry for."""
        ...

    def has_session(self, project_key: str, session_id: str) -> bool:
        """Is there an entry? Asked before each resume, because resuming nothing fails only inside the CLI."""
        ...

    def last_context(self, project_key: str, session_id: str, scan: int = 60) -> int:
        """Tokens the model read at the last turn, 0 if the last ``scan`` entries do not tell."""
        ...

    def known_uuids(self, key: Key) -> set[str]:
        """What salvage need not append."""
        ...

    def close(self) -> None:
        """Finish what was handed over. Idempotent."""
        ...


@runtime_checkable
class LineageBook(Protocol):
    """Step → session, for one workspace. Never raises for storage that fails: it only ever helps."""

    woke: int
    steps: dict[str, str]
    pending: dict[str, str]

    def wake(self) -> int:
        """Count one more run, durably."""
        ...

    def remember(
        self, step: str, session_id: str, *, exists: Callable[[str], bool], held: Callable[[str], bool]
    ) -> bool:
        """Merge one entry into what is stored at this moment: runs side by side keep each other's steps.

        Durable on return: a kill may come in the next instruction. An entry whose session exists is replaced
        only by one that exists too, or a kill between a handoff and its successor's first entry would lose
        both.
        """
        ...

    def archive(self, into: str, extra: Iterable[str] = ()) -> Path:
        """Put lineage, brief and goal away together: alone each is a history that contradicts itself."""
        ...


@runtime_checkable
class ManifestBook(Protocol):
    """Rows of steps. A run touches none but its own."""

    def record(self, row: Mapping[str, Any]) -> bool:
        """Add or replace a row; False, and kept for the next call, if it could not be stored."""
        ...

    def rows(self) -> list[dict[str, Any]]:
        """The rows of all runs."""
        ...


@runtime_checkable
class Lease(Protocol):
    """Something one process has at a time, and that ends with the process, however that ends."""

    def release(self) -> None:
        """Give it back. Idempotent."""
        ...
