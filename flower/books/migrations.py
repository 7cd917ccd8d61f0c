"""The schema of sessions.db, as a list of steps; ``PRAGMA user_version`` counts those a file has seen.

The first step is the schema that older systems wrote without a version (0), hence the ``IF NOT EXISTS``:
their files open and go on. What is added later is a new table in a new step at the end; a step is never
edited.
"""

from __future__ import annotations

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any


_SESSIONS = """
CREATE TABLE IF NOT EXISTS entries (
    store_key TEXT NOT NULL, seq INTEGER NOT NULL, uid TEXT, payload TEXT NOT NULL, PRIMARY KEY (store_key,
    seq)
);
CREATE UNIQUE INDEX IF NOT EXISTS entries_uid ON entries (store_key, uid) WHERE uid IS NOT NULL;
CREATE TABLE IF NOT EXISTS meta (store_key TEXT PRIMARY KEY, mtime INTEGER NOT NULL, next_seq INTEGER NOT
NULL); CREATE TABLE IF NOT EXISTS summaries (
    project_key TEXT NOT NULL, session_id TEXT NOT NULL, mtime INTEGER NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (project_key, session_id)
);
"""

MIGRATIONS: tuple[str, ...] = (_SESSIONS,)
"""SQL scripts; the n-th brings a file from version n-1 to n."""

VERSION = len(MIGRATIONS)
"""The newest version this program knows."""


def version_of(connection: Any) -> int:
    """The version a database says it has."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: Any) -> None:
    """Bring an open database, whose version is not newer, up to ``VERSION`` in one transaction.

    The version is read again inside: of two processes that start together one does the work.
    """
    if version_of(connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number in range(version_of(connection), VERSION):
            connection.execute(MIGRATIONS[number])
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
