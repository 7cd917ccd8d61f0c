"""The n-th operation of SQLite's disk fails: what was acknowledged is there, nothing is half there."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from flower.books.sqlite import SqliteSessionStore
from flower.model import BooksError
from tests.faults import KINDS, Fault, FaultyVFS, faulty_sqlite

KEY = {"project_key": "-p", "session_id": "s"}


def batch(name: str) -> list[dict[str, Any]]:
    return [{"type": "user", "uuid": f"{name}{n}", "text": "x" * 200} for n in range(2)]


def work(path: Path, vfs: FaultyVFS, journal: str, fault: Fault) -> tuple[list[str], list[BooksError]]:
    """Appends two batches on a failing disk; which were acknowledged, and what was said."""
    acknowledged, errors = [], []
    vfs.fault = fault if journal == "delete" else None
    try:
        store = SqliteSessionStore(path, vfs=vfs.vfs_name)
    except BooksError as error:
        return [], [error]
    if journal == "wal":  # Without shared memory only an exclusive connection can use one.
        for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL"):
            mode = store._now(lambda pragma=pragma: store._rows(f"PRAGMA {pragma}"))
        assert mode == [("wal",)]
        vfs.fault = fault
    for name in "bc":
        try:
            store.append_now(KEY, batch(name))
            acknowledged.append(name)
        except BooksError as error:
            errors.append(error)
    store.close()
    return acknowledged, errors


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_acknowledged_batches_are_whole_and_others_are_not_half(
    tmp_path: Path, kind: str, persistent: bool, journal: str
) -> None:
    name = f"faults-{kind}-{persistent}-{journal}"
    with faulty_sqlite(name) as vfs:
        store = SqliteSessionStore(tmp_path / "base.db")
        store.append_now(KEY, batch("a"))
        store.close()
        # Every n for one kind; the others differ only in the error SQLite sees, so a sample of them does.
        for n in range(1, 400, 1 if kind == "EIO" or "FLOWER_SOAK" in os.environ else 7):
            path = tmp_path / f"{n}.db"
            shutil.copy(tmp_path / "base.db", path)
            acknowledged, errors = work(path, vfs, journal, fault := Fault(n, kind, persistent))
            vfs.fault = None
            assert all("\n" not in str(error) for error in errors)
            check = apsw.Connection(str(path))
            assert check.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            check.close()
            store = SqliteSessionStore(path)
            stored = [e["uuid"] for e in asyncio.run(store.load(KEY)) or []]
            whole = [letter for letter in "abc" if f"{letter}0" in stored]
            assert stored == [e["uuid"] for letter in whole for e in batch(letter)]
            assert set(whole) >= {"a", *acknowledged}
            store.append_now(KEY, batch("e"))
            store.close()
            if not fault.hit:
                assert n > 3 and acknowledged == ["b", "c"]
                return
    pytest.fail("the loop never passed")
