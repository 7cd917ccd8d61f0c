"""What an append remembers of the one before, and when the log is folded."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import apsw
import pytest
from claude_agent_sdk import fold_session_summary

from flower.books.sqlite import SqliteSessionStore
from flower.books.writing import LOG_PAGES

KEY = {"project_key": "-p", "session_id": "s"}
PAGE = 4096


def entry(number: int, text: str = "x") -> dict[str, Any]:
    message = {"role": "user", "content": f"{number} {text}"}
    return {
        "type": "user", "uuid": f"00000000-0000-4000-8000-{number:012}", "sessionId": "s",
        "timestamp": f"2026-01-01T00:00:{number % 60:02}.000Z", "message": message,
    }  # fmt: skip


def test_two_writers_in_turns_number_and_sum_up_what_both_wrote(tmp_path: Path) -> None:
    stores = [SqliteSessionStore(tmp_path / "sessions.db") for _ in range(2)]
    order = [0, 0, 1, 1, 0, 1, 0, 0]
    for number, who in enumerate(order):
        stores[who].append_now(KEY, [entry(number)])
        if number == 4:
            asyncio.run(stores[1].delete(KEY))
    kept = [entry(n) for n in range(5, len(order))]
    assert asyncio.run(stores[0].load(KEY)) == kept
    (summary,) = asyncio.run(stores[0].list_session_summaries("-p"))
    assert summary["data"] == fold_session_summary(None, KEY, kept)["data"]  # type: ignore[arg-type]
    db = apsw.Connection(str(tmp_path / "sessions.db"))
    assert db.execute("SELECT seq FROM entries ORDER BY seq").fetchall() == [(0,), (1,), (2,)]
    for store in stores:
        store.close()


def test_nothing_is_remembered_of_an_append_that_failed(tmp_path: Path) -> None:
    store = SqliteSessionStore(tmp_path / "sessions.db")
    store.append_now(KEY, [entry(0)])
    with pytest.raises(RecursionError):
        nested: Any = []
        for _ in range(200_000):
            nested = [nested]
        store.append_now(KEY, [entry(1), {**entry(2), "deep": nested}])
    db = apsw.Connection(str(tmp_path / "sessions.db"))
    db.execute("CREATE TRIGGER full BEFORE UPDATE ON summaries BEGIN SELECT RAISE(ABORT, 'no room'); END")
    with pytest.raises(Exception, match="no room"):
        store.append_now(KEY, [entry(3)])
    db.execute("DROP TRIGGER full")
    store.append_now(KEY, [entry(4)])
    assert asyncio.run(store.load(KEY)) == [entry(0), entry(4)]
    store.close()


def test_the_log_is_folded_without_a_writer_that_waits_and_stays_small(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    store = SqliteSessionStore(path)
    text = "y" * (40 * PAGE)
    for number in range(200):
        store.append_now(KEY, [entry(number, text)])
    log, size = path.with_name("sessions.db-wal").stat().st_size, path.stat().st_size
    assert log < 3 * LOG_PAGES * PAGE and size > 100 * len(text), (log, size)
    assert len(asyncio.run(store.load(KEY)) or []) == 200
    store.close()


def test_a_reader_of_an_older_state_only_delays_the_folding(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    store = SqliteSessionStore(path)
    store.append_now(KEY, [entry(0)])
    reader = apsw.Connection(str(path))
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM entries").fetchall() == [(1,)]
    text = "y" * (40 * PAGE)
    for number in range(1, 60):
        store.append_now(KEY, [entry(number, text)])
    assert path.stat().st_size < 20 * len(text)
    reader.execute("COMMIT")
    for number in range(60, 64):
        store.append_now(KEY, [entry(number, text)])
    end = time.monotonic() + 20
    while path.stat().st_size < 40 * len(text) and time.monotonic() < end:
        threading.Event().wait(0.02)
    assert path.stat().st_size > 40 * len(text)
    store.close()
