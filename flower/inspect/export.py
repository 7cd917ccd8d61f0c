"""A session as the JSONL that Claude Code itself keeps, its subagents included."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from flower.config.secrets import Masker
from flower.inspect.database import Database

NEVER = ("agent_metadata",)
"""Types of a subagent's entries that only make sense in a file of its own."""


@dataclass(frozen=True)
class Exported:
    """What was written: the files, the main transcript first; entries of all of them; rows nobody could read."""

    files: tuple[str, ...]
    entries: int
    skipped: int


class Export:
    """One session on its way out.

    Args:
        masker: hides tokens; None writes the entries as they are stored.

    Attributes:
        entries, skipped: how many were written, how many rows could not be parsed.
    """

    def __init__(
        self, database: Database, project_key: str, session_id: str, masker: Masker | None = None
    ) -> None:
        self._db = database
        self._key = f"{project_key}/{session_id}"
        self._masker = masker
        self.entries = self.skipped = 0

    def subpaths(self) -> tuple[str, ...]:
        mine = [t for t in self._db.transcripts() if t.key == self._key]
        return mine[0].subpaths if mine else ()

    def one_stream(self) -> Iterator[str]:
        """Lines of one file: subagents first, as entries of a side chain, so that the file ends where the session
        does.
        """
        for subpath in self.subpaths():
            for entry in self._entries(f"{self._key}/{subpath}"):
                if entry.get("isSidechain") and entry.get("type") not in NEVER:
                    yield _line(entry)
        yield from map(_line, self._entries(self._key))

    def into(self, path: Path) -> Exported:
        """Write ``path``, and ``<path without .jsonl>/subagents/agent-*.jsonl`` for the subagents.

        Raises:
            OSError: a file cannot be written; it is not left half there.
        """
        written = [path]
        self._write(path, self._key)
        for subpath in self.subpaths():
            place = path.with_suffix("") / f"{subpath}.jsonl"
            place.parent.mkdir(parents=True, exist_ok=True)
            self._write(place, f"{self._key}/{subpath}")
            written.append(place)
        return Exported(tuple(map(str, written)), self.entries, self.skipped)

    def _write(self, path: Path, key: str) -> None:
        with _whole(path) as file:
            for entry in self._entries(key):
                file.write(_line(entry) + "\n")

    def _entries(self, key: str) -> Iterator[dict[str, Any]]:
        for row in self._db.rows(key):
            if row.entry is None:
                self.skipped += 1
                continue
            self.entries += 1
            yield self._masker.value(row.entry) if self._masker else row.entry


def _line(entry: dict[str, Any]) -> str:
    # ASCII, as in the database: half a surrogate pair in a tool's output cannot be written otherwise.
    return json.dumps(entry, separators=(",", ":"))


@contextmanager
def _whole(path: Path) -> Iterator[IO[str]]:
    """A file that appears when it is whole; only its owner may read it."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(
            os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii"
        ) as file:
            yield file
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):  # The first error is the one to tell.
            beside.unlink()
        raise
