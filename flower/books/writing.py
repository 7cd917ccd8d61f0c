"""How sessions.db is written: whole transactions, and a log that is folded when nobody waits."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import apsw

LOG_PAGES = 1000
"""Pages in the write-ahead log (4 MB) from which it is folded into the file; SQLite's own default."""

T = TypeVar("T")


def transaction(connection: apsw.Connection, work: Callable[[], T]) -> T:
    """Do the work under the write lock; all of it is durable afterwards, or nothing has happened."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = work()
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # Some errors (a full disk) have ended it already.
            connection.execute("ROLLBACK")
        raise
    return result


def fold_log_later(connection: apsw.Connection, soon: Callable[[Callable[[], None]], Any]) -> None:
    """Fold the write-ahead log after a commit has been answered, where SQLite would do it within the commit.

    Args:
        soon: has the connection's own thread make a call after what it is doing; RuntimeError: it is being closed.
    """
    pages = 0

    def on_commit(_db: apsw.Connection, _name: str, now: int) -> int:
        nonlocal pages
        if pages < LOG_PAGES <= now:
            with suppress(RuntimeError):  # Closing folds the log too.
                soon(fold)
        pages = now
        return apsw.SQLITE_OK

    def fold() -> None:
        nonlocal pages
        pages = 0
        # Passive: it waits for nobody. What somebody who reads an older state makes it leave, or a disk that is
        # full just now, is tried again after the next commit.
        with suppress(apsw.Error):
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    connection.set_wal_hook(on_commit)
