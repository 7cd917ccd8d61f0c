"""Looking into sessions.db: page by page, while runs write, where nothing may be written.

No read transaction outlives a page: a person may read one for an hour, and the log of a live run must not grow
meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from flower.books.database import discard, open_to_look, plain_errors
from flower.books.payload import Entry, context_of, decode
from flower.values import NamedTuple

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any

PAGE_BYTES = 4 << 20
"""About how much of a transcript is in memory at once."""

_PAGE_ROWS = 200
_TAIL = 60


class Row(NamedTuple):
    """One stored entry.

    Attributes:
        seq: its number in the transcript.
        entry: None if the row cannot be parsed.
    """

    seq: int
    entry: Entry | None


class Transcript(NamedTuple):
    """A main transcript in the database; ``modified`` in ms since the epoch."""

    project_key: str
    session_id: str
    modified: int
    subpaths: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.project_key}/{self.session_id}"


class Database:
    """A database opened for looking only. Use it in a ``with``.

    Raises:
        BooksError: there is none, it cannot be read, it is damaged, or a newer flower wrote it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db, self._scratch = open_to_look(path)

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close(True)
        discard(self._scratch)

    def transcripts(self) -> list[Transcript]:
        """Every main transcript with the subpaths below it, the one changed last first."""
        found: dict[tuple[str, str], tuple[int, list[str]]] = {}
        for name, modified in self._rows("SELECT store_key, mtime FROM meta"):
            project, _slash, rest = name.partition("/")
            session, _slash, subpath = rest.partition("/")
            last, subpaths = found.get((project, session), (0, []))
            if subpath:
                subpaths.append(subpath)
            found[project, session] = (max(last, modified), subpaths)
        everything = [
            Transcript(project, session, modified, tuple(sorted(subpaths)))
            for (project, session), (modified, subpaths) in found.items()
        ]
        return sorted(everything, key=lambda transcript: -transcript.modified)

    def count(self, key: str) -> int:
        """How many entries a transcript has; answered from the index alone."""
        return int(self._rows("SELECT count(*) FROM entries WHERE store_key = ?", key)[0][0])

    def size(self, key: str) -> int:
        """Bytes of a transcript's entries; the entries themselves are not read."""
        query = "SELECT coalesce(sum(octet_length(payload)), 0) FROM entries WHERE store_key = ?"
        return int(self._rows(query, key)[0][0])

    def rows(self, key: str) -> Iterator[Row]:
        """A transcript in the order of storing; each page is a transaction of its own."""
        last = -1
        while page := self._page(key, last):
            for seq, payload in page:
                yield Row(seq, decode(payload))
            last = page[-1][0]

    def raw_rows(self, key: str) -> list[bytes]:
        """The whole transcript as text; see ``size`` first."""
        query = "SELECT CAST(payload AS BLOB) FROM entries WHERE store_key = ? ORDER BY seq"
        return [row[0] or b"" for row in self._rows(query, key)]

    def head(self, key: str, limit: int = 40) -> Iterator[Entry]:
        """The first entries that can be parsed."""
        query = "SELECT CAST(payload AS BLOB) FROM entries WHERE store_key = ? ORDER BY seq LIMIT ?"
        yield from (entry for (raw,) in self._rows(query, key, limit) if (entry := decode(raw)) is not None)

    def context(self, key: str) -> int:
        """Tokens the model read at the last turn, cache included; 0 if unknown."""
        query = "SELECT CAST(payload AS BLOB) FROM entries WHERE store_key = ? ORDER BY seq DESC LIMIT ?"
        found = (context_of(decode(raw)) for (raw,) in self._rows(query, key, _TAIL))
        return next((tokens for tokens in found if tokens), 0)

    def summary(self, transcript: Transcript) -> dict[str, Any]:
        """What the SDK noted about a session; empty if it noted nothing."""
        query = "SELECT CAST(data AS BLOB) FROM summaries WHERE project_key = ? AND session_id = ?"
        rows = self._rows(query, transcript.project_key, transcript.session_id)
        return (decode(rows[0][0]) if rows else None) or {}

    def journal(self) -> str:
        """The journal mode: ``wal`` or ``delete``."""
        return str(self._rows("PRAGMA journal_mode")[0][0])

    def check(self) -> list[str]:
        """What SQLite finds wrong with the file; empty if nothing."""
        found = [str(row[0]) for row in self._rows("PRAGMA quick_check(20)")]
        return [] if found == ["ok"] else found

    def _page(self, key: str, after: int) -> list[tuple[int, bytes]]:
        """The next rows, as many as fit into a page; at least one if there is one."""
        sizes = self._rows(
            "SELECT seq, octet_length(payload) FROM entries WHERE store_key = ? AND seq > ?"
            " ORDER BY seq LIMIT ?",
            key,
            after,
            _PAGE_ROWS,
        )
        end, total = after, 0
        for seq, size in sizes:
            if total and total + (size or 0) > PAGE_BYTES:
                break
            end, total = seq, total + (size or 0)
        if not sizes:
            return []
        query = (
            "SELECT seq, CAST(payload AS BLOB) FROM entries"
            " WHERE store_key = ? AND seq > ? AND seq <= ? ORDER BY seq"
        )
        return self._rows(query, key, after, end)

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with plain_errors(self.path):
            return self._db.execute(query, values).fetchall()
