"""Opening sessions.db: journal, durability, patience with other processes, a way to look only."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import apsw

from flower.books.files import Notice
from flower.books.filesystem import is_local
from flower.books.migrations import VERSION, migrate, version_of
from flower.locale import _
from flower.model import BooksDamaged, BooksError, BooksNewer

SAFE_WAL = (3, 51, 3)
"""The first SQLite whose write-ahead log is safe when two connections write and checkpoint at once."""

BUSY_NOTICE_S = 10.0
"""Seconds of waiting for another process before the person is told; told again after six times as long."""

_COLUMNS = {
    "entries": "store_key, seq, uid, payload",
    "meta": "store_key, mtime, next_seq",
    "summaries": "project_key, session_id, mtime, data",
}


class Patience:
    """A busy handler without an end: nothing is lost because somebody else holds the write lock for long.

    It ends when the store is closed, and says once in a while that it is waiting.
    """

    def __init__(self, path: Path, notice: Notice | None) -> None:
        import threading  # Here: those who only look never wait.

        self._path, self._notice = path, notice
        self._began, self._tell_at = 0.0, 0.0
        self.closing = threading.Event()

    def __call__(self, tries: int) -> bool:
        now = time.monotonic()
        if tries == 0:
            self._began, self._tell_at = now, now + BUSY_NOTICE_S
        if now >= self._tell_at and self._notice:
            waited = round(now - self._began)
            self._notice(
                _(
                    "{path} is locked by another process; waiting ({seconds} s so far), nothing is lost"
                ).format(path=self._path, seconds=waited)
            )
            self._tell_at = now + 6 * BUSY_NOTICE_S
        # Short at first: a commit takes a millisecond, and SQLite does not queue those who wait.
        return not self.closing.wait(0.002 if now - self._began < 1 else 0.02)


@contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite raises into one line that says which file, what, and what to do."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise BooksDamaged(
            _("{path} is damaged ({reason}) and was left as it is.").format(path=path, reason=error),
            hint=_("Move it away to start without the old conversations."),
        ) from error
    except apsw.FullError as error:
        raise BooksError(_("{path} cannot grow: the disk is full.").format(path=path)) from error
    except apsw.BusyError as error:
        raise BooksError(
            _("{path} was closed while another process was writing it.").format(path=path)
        ) from error
    except apsw.Error as error:
        raise BooksError(_("{path} cannot be used: {reason}.").format(path=path, reason=error)) from error


def open_database(path: Path, *, patience: Patience, vfs: str | None = None) -> apsw.Connection:
    """Open for reading and writing, made if missing, with the schema as this version knows it.

    Commits survive a power cut (``synchronous=FULL``). The journal is a write-ahead log where that is safe: a
    SQLite that is new enough, on a local file system.

    Raises:
        BooksNewer, BooksDamaged, BooksError: the file is left untouched.
    """
    with plain_errors(path):
        connection = apsw.Connection(str(path), vfs=vfs) if vfs else apsw.Connection(str(path))
        try:
            connection.set_busy_handler(patience)
            _refuse_newer(connection, path)
            _check_schema(connection, path, missing_is_fine=True)
            _choose_journal(connection, path)
            connection.execute("PRAGMA synchronous = FULL")
            migrate(connection)
            _check_schema(connection, path)
        except BaseException:
            connection.close(True)
            raise
    return connection


def _choose_journal(connection: apsw.Connection, path: Path) -> None:
    new_enough = tuple(int(n) for n in apsw.sqlite_lib_version().split(".")[:3]) >= SAFE_WAL
    wanted = "wal" if new_enough and is_local(path.parent) else "delete"
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == wanted:  # type: ignore[index]
        return
    # Changing it needs the file for a moment alone; if others are at it the mode it has stays, which is safe.
    with suppress(apsw.BusyError):
        connection.execute(f"PRAGMA journal_mode = {wanted}").fetchall()


def _refuse_newer(connection: apsw.Connection, path: Path) -> None:
    found = version_of(connection)
    if found > VERSION:
        raise BooksNewer(
            _("{path} was written by a newer flower (version {found}, this one knows {known}).").format(
                path=path, found=found, known=VERSION
            ),
            hint=_("Update flower, or use another run directory."),
        )


def _check_schema(connection: apsw.Connection, path: Path, *, missing_is_fine: bool = False) -> None:
    try:
        for table, columns in _COLUMNS.items():
            if not missing_is_fine or connection.table_exists(None, table):
                connection.execute(f"SELECT {columns} FROM {table} LIMIT 0").fetchall()
    except apsw.SQLError as error:
        raise BooksDamaged(
            _("{path} is not a database of flower's ({reason}); it was left as it is.").format(
                path=path, reason=error
            )
        ) from error


def open_to_look(path: Path) -> tuple[apsw.Connection, Path | None]:
    """Open for reading only; works while a run writes, and in a directory where nothing may be written.

    Returns the connection and a temporary directory to remove after closing, or None.

    Raises:
        BooksError: there is no such file, or it cannot be read; ``BooksNewer``, ``BooksDamaged`` likewise.
    """
    if not path.is_file():
        raise BooksError(_("There is no {path}.").format(path=path))
    scratch: Path | None = None
    with plain_errors(path):
        try:
            connection = _read(path)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            # A write-ahead log without its shared memory, where none can be made.
            connection, scratch = _read_beside(path)
        try:
            _refuse_newer(connection, path)
            _check_schema(connection, path, missing_is_fine=True)
            if not connection.table_exists(
                None, "entries"
            ):  # A file nobody has written to yet: look at an empty one.
                connection.close(True)
                connection = apsw.Connection(":memory:")
                migrate(connection)
        except BaseException:
            connection.close(True)
            discard(scratch)
            raise
    return connection, scratch


def _read(path: Path, options: str = "mode=ro") -> apsw.Connection:
    uri = f"file:{quote(str(path.absolute()))}?{options}"
    connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        connection.set_busy_timeout(30_000)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except BaseException:
        connection.close(True)
        raise
    return connection


def _read_beside(path: Path) -> tuple[apsw.Connection, Path | None]:
    log = path.with_name(path.name + "-wal")
    if not log.exists() or log.stat().st_size == 0:
        # Nothing is waiting in a log and nobody can write here, so the file alone is the whole truth.
        return _read(path, "mode=ro&immutable=1"), None
    import shutil  # Here, because it is the exception and loading them takes long.
    import tempfile

    scratch = Path(tempfile.mkdtemp(prefix="flower-look-"))
    try:
        for source in (path, log):
            shutil.copyfile(source, scratch / source.name)
        return _read(scratch / path.name), scratch
    except OSError as error:
        discard(scratch)
        reason = os.strerror(error.errno or errno.EIO)
        raise BooksError(_("{path} cannot be read: {reason}.").format(path=path, reason=reason)) from error
    except BaseException:
        discard(scratch)
        raise


def discard(scratch: Path | None) -> None:
    """Remove the temporary directory that ``open_to_look`` may have returned."""
    if scratch is not None:
        import shutil

        shutil.rmtree(scratch, ignore_errors=True)
