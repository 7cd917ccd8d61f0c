"""The session store: the SDK's contract, and what flower promises beyond it."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import apsw
import pytest
from claude_agent_sdk.testing import run_session_store_conformance
from hypothesis import given, settings
from hypothesis import strategies as st

from flower.books import database
from flower.books.migrations import VERSION
from flower.books.sqlite import SqliteSessionStore
from flower.model import BooksDamaged, BooksError, BooksNewer

KEY = {"project_key": "-p", "session_id": "s"}
SUB = {**KEY, "subpath": "subagents/agent-1"}


def entry(uuid: str | None, **more: Any) -> dict[str, Any]:
    return {"type": "user", **({"uuid": uuid} if uuid else {}), **more}


def open_store(path: Path) -> SqliteSessionStore:
    return SqliteSessionStore(path / "sessions.db")


def raw(path: Path) -> apsw.Connection:
    return apsw.Connection(str(path / "sessions.db"))


def test_the_sdk_accepts_it(tmp_path: Path) -> None:
    names, stores = itertools.count(), []

    def make() -> SqliteSessionStore:
        stores.append(SqliteSessionStore(tmp_path / f"{next(names)}.db"))
        return stores[-1]

    asyncio.run(run_session_store_conformance(make))
    for store in stores:
        store.close()


def test_a_replayed_batch_changes_nothing_and_a_partly_new_one_adds_its_news(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    batch = [entry("a", n=1), entry("b", n=2)]
    store.append_now(KEY, batch)
    before = raw(tmp_path).execute("SELECT * FROM meta, summaries").fetchall()
    time.sleep(0.003)
    store.append_now(KEY, batch)
    assert raw(tmp_path).execute("SELECT * FROM meta, summaries").fetchall() == before
    store.append_now(KEY, [*batch, entry("c", n=3), entry("c", n=4), entry(None, n=5)])
    assert [e["n"] for e in asyncio.run(store.load(KEY)) or []] == [1, 2, 3, 5]
    assert store.known_uuids(KEY) == {"a", "b", "c"}
    store.append_now({**KEY, "session_id": "fork"}, batch)
    assert len(asyncio.run(store.load({**KEY, "session_id": "fork"})) or []) == 2
    store.close()


def test_only_news_reach_the_summary(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.append_now(KEY, [entry("a", customTitle="old")])
    store.append_now(KEY, [entry("b", customTitle="new")])
    store.append_now(KEY, [entry("a", customTitle="old"), entry("c")])
    [summary] = asyncio.run(store.list_session_summaries("-p"))
    assert summary["data"]["custom_title"] == "new"
    raw(tmp_path).execute("UPDATE summaries SET data = '{broken'")
    store.append_now(KEY, [entry("d")])
    [summary] = asyncio.run(store.list_session_summaries("-p"))
    assert summary["data"]["custom_title"] == "new"
    store.close()


def test_times_rise_with_every_append_even_if_the_clock_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path)
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0)
    seen = []
    for n in range(5):
        store.append_now(KEY, [entry(str(n))])
        seen.append(asyncio.run(store.list_sessions("-p"))[0]["mtime"])
    assert seen == sorted(set(seen))
    store.close()


json_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | json_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(json_text, inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    store = SqliteSessionStore(tmp_path_factory.mktemp("any") / "sessions.db")
    yield store
    store.close()


@settings(max_examples=60, deadline=None)
@given(values=st.lists(json_values, min_size=1, max_size=4), number=st.integers(0, 2**60))
def test_whatever_an_entry_holds_comes_back_equal(shared_store: Any, values: list[Any], number: int) -> None:
    key = {"project_key": "-p", "session_id": f"s{number}-{time.monotonic_ns()}"}
    entries = [entry(f"u{n}", value=value) for n, value in enumerate(values)]
    shared_store.append_now(key, entries)
    assert asyncio.run(shared_store.load(key)) == entries
    assert shared_store.skipped == 0


def test_half_surrogates_and_nul_survive_even_in_a_uuid(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    entries = [entry("\ud800-1", text="\udfff\0"), entry("x", text="干活")]
    store.append_now(KEY, entries)
    store.append_now(KEY, entries)
    assert asyncio.run(store.load(KEY)) == entries
    assert raw(tmp_path).execute("SELECT payload FROM entries").fetchall()[0][0].isascii()
    store.close()


@pytest.mark.parametrize(
    "damage", ["{half", "", "[1]", "1},{2", b"\xff\xfe{}", "null", '{"a":1},{"b":2}', "[" * 5000]
)
def test_a_broken_row_costs_only_itself(tmp_path: Path, damage: Any) -> None:
    store = open_store(tmp_path)
    store.append_now(KEY, [entry(str(n), n=n) for n in range(5)])
    value = f"CAST(x'{damage.hex()}' AS TEXT)" if isinstance(damage, bytes) else "?"
    raw(tmp_path).execute(
        f"UPDATE entries SET payload = {value} WHERE seq = 2", () if isinstance(damage, bytes) else (damage,)
    )
    assert [e["n"] for e in asyncio.run(store.load(KEY)) or []] == [0, 1, 3, 4]
    assert store.skipped == 1
    assert store.last_context("-p", "s") == 0
    store.close()


def test_a_counter_that_lags_behind_loses_no_entry(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.append_now(KEY, [entry("a"), entry("b")])
    raw(tmp_path).execute("UPDATE meta SET next_seq = 0")
    store.append_now(KEY, [entry("c")])
    assert [e["uuid"] for e in asyncio.run(store.load(KEY)) or []] == ["a", "b", "c"]
    store.close()


def test_the_last_context_is_that_of_the_last_real_answer(tmp_path: Path) -> None:
    def answer(uuid: str, model: str = "m", **usage: int) -> dict[str, Any]:
        return entry(uuid, message={"role": "assistant", "model": model, "usage": usage})

    store = open_store(tmp_path)
    assert store.last_context("-p", "s") == 0
    store.append_now(KEY, [answer("a", input_tokens=9)])
    store.append_now(
        KEY,
        [
            answer(
                "b",
                input_tokens=1,
                cache_read_input_tokens=20,
                cache_creation_input_tokens=300,
                output_tokens=7,
            )
        ],
    )
    store.append_now(KEY, [answer("c", "<synthetic>", input_tokens=5), entry("d", message={"role": "user"})])
    assert store.last_context("-p", "s") == 321
    assert store.last_context("-p", "s", scan=2) == 0
    store.close()


def test_projects_sessions_and_what_a_key_may_not_be(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.append_now(SUB, [entry("a")])
    assert not store.has_session("-p", "s") and store.projects() == ["-p"]
    store.append_now(KEY, [entry("a")])
    store.append_now({"project_key": "-p-q", "session_id": "s"}, [entry("a")])
    assert store.has_session("-p", "s") and store.projects() == ["-p", "-p-q"]
    for bad in ({"project_key": "a/b", "session_id": "s"}, {"project_key": "a", "session_id": ""}):
        with pytest.raises(ValueError):
            store.append_now(bad, [entry("a")])
    store.close()
    store.close()
    with pytest.raises(BooksError, match="closed"):
        store.has_session("-p", "s")


def test_commits_are_durable_and_the_log_is_write_ahead_here(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert store._now(lambda: store._rows("PRAGMA synchronous")) == [(2,)]
    assert store._now(lambda: store._rows("PRAGMA journal_mode")) == [("wal",)]
    store.close()
    assert sorted(os.listdir(tmp_path)) == ["sessions.db"]


@pytest.mark.parametrize("reason", ["network", "old sqlite"])
def test_no_write_ahead_log_where_it_is_not_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    open_store(tmp_path).close()
    if reason == "network":
        monkeypatch.setattr(database, "is_local", lambda path: False)
    else:
        monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    store = open_store(tmp_path)
    assert store._now(lambda: store._rows("PRAGMA journal_mode")) == [("delete",)]
    store.append_now(KEY, [entry("a")])
    assert store.has_session("-p", "s")
    store.close()


def test_a_newer_file_and_a_damaged_one_are_refused_and_left_alone(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    path = tmp_path / "sessions.db"
    raw(tmp_path).execute(f"PRAGMA user_version = {VERSION + 1}")
    before = path.read_bytes()
    for opening in (SqliteSessionStore, SqliteSessionStore.read_only):
        with pytest.raises(BooksNewer, match="newer flower"):
            opening(path)
    assert path.read_bytes() == before
    for content in (b"this is no database, only text that goes on for some time" * 50, before[:5000]):
        path.write_bytes(content)
        with pytest.raises(BooksError):
            SqliteSessionStore(path)
        assert path.read_bytes() == content
    path.unlink()
    raw(tmp_path).execute("CREATE TABLE entries (something, different)")
    with pytest.raises(BooksDamaged, match="not a database of flower's"):
        SqliteSessionStore(path)


def test_another_process_that_holds_the_lock_delays_but_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_NOTICE_S", 0.2)
    told: list[str] = []
    store = SqliteSessionStore(tmp_path / "sessions.db", notice=told.append)
    store.append_now(KEY, [entry("a")])
    other = raw(tmp_path)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.7, lambda: other.execute("COMMIT")).start()

    async def both() -> int:
        ticks = 0
        append = asyncio.ensure_future(store.append(KEY, [entry("b")]))
        while not append.done():
            await asyncio.sleep(0.01)
            ticks += 1
        await append
        return ticks

    assert asyncio.run(both()) > 10, "the event loop stood still"
    assert store.known_uuids(KEY) == {"a", "b"}
    assert len(told) >= 1 and "another process" in told[0] and "database is locked" not in told[0]
    store.close()


def test_a_caller_that_gives_up_does_not_take_its_entries_back(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.append_now(KEY, [entry("a")])
    other = raw(tmp_path)
    other.execute("BEGIN IMMEDIATE")

    async def give_up() -> None:
        first, second = (asyncio.ensure_future(store.append(KEY, [entry(u)])) for u in ("b", "c"))
        await asyncio.sleep(0.05)
        first.cancel()
        second.cancel()

    asyncio.run(give_up())
    other.execute("COMMIT")
    store.close()
    store = open_store(tmp_path)
    assert store.known_uuids(KEY) == {"a", "b", "c"}
    store.close()


WRITER = """
import sys
from flower.books.sqlite import SqliteSessionStore
store = SqliteSessionStore(sys.argv[1])
for n in range(40):
    shared, own = {"type": "x", "uuid": f"both-{n}"}, {"type": "x", "uuid": f"{sys.argv[2]}-{n}"}
    store.append_now({"project_key": "-p", "session_id": "s"}, [shared, own])
    store.append_now({"project_key": "-p", "session_id": sys.argv[2]}, [own])
store.close()
"""


def test_processes_side_by_side_lose_and_double_nothing(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    store = SqliteSessionStore(path)
    uuids = [e["uuid"] for e in asyncio.run(store.load(KEY)) or []]
    assert len(uuids) == len(set(uuids)) == 120
    for name in "ab":
        own = [u for u in uuids if u.startswith(f"{name}-")]
        assert own == [f"{name}-{n}" for n in range(40)]
    assert raw(tmp_path).execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    store.close()


def test_looking_works_while_a_run_writes_and_holds_no_transaction(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.append_now(KEY, [entry("a")])
    look = SqliteSessionStore.read_only(tmp_path / "sessions.db")
    assert look.has_session("-p", "s") and len(asyncio.run(look.load(KEY)) or []) == 1
    store.append_now(KEY, [entry("b")])
    # Folding the whole log in and cutting it is possible only if nobody is in a read transaction.
    assert store._now(lambda: store._rows("PRAGMA wal_checkpoint(TRUNCATE)"))[0][0] == 0
    assert look.known_uuids(KEY) == {"a", "b"}
    with pytest.raises(BooksError):
        look.append_now(KEY, [entry("c")])
    look.close()
    store.close()


LOOKER = """
import json, os, shutil, sys, tempfile
from flower.books.sqlite import SqliteSessionStore
SqliteSessionStore(":memory:").close()  # loads all there is to load: the other user may not read this Python
os.setgroups([]); os.setgid(65534); os.setuid(65534)
store = SqliteSessionStore.read_only(sys.argv[1])
print(json.dumps(sorted(store.known_uuids({"project_key": "-p", "session_id": "s"}))))
store.close()
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("state", ["closed", "live", "killed"])
def test_another_user_can_look_where_nothing_may_be_written(tmp_path: Path, state: str) -> None:
    books = Path(os.path.realpath(f"/tmp/flower-test-{os.getpid()}-{state}"))
    books.mkdir(mode=0o755)
    try:
        store = open_store(books)
        store.append_now(KEY, [entry("a")])
        if state == "closed":
            store.close()
        elif state == "killed":
            copy = {name: (books / name).read_bytes() for name in ("sessions.db", "sessions.db-wal")}
            store.close()
            for name, content in copy.items():
                (books / name).write_bytes(content)
        books.chmod(0o555)
        listing = {p.name: p.stat().st_mtime_ns for p in books.iterdir()}
        root = Path(__file__).parents[2]
        out = subprocess.run(
            [sys.executable, "-c", LOOKER, str(books / "sessions.db")],
            cwd=root,
            capture_output=True,
            text=True,
        )
        assert json.loads(out.stdout or "null") == ["a"], out.stderr
        assert {p.name: p.stat().st_mtime_ns for p in books.iterdir()} == listing
        if state == "live":
            store.close()
    finally:
        for left in books.iterdir():
            left.unlink()
        books.rmdir()


def test_looking_at_nothing_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(BooksError, match="There is no"):
        SqliteSessionStore.read_only(tmp_path / "sessions.db")
    (tmp_path / "sessions.db").touch()
    look = SqliteSessionStore.read_only(tmp_path / "sessions.db")
    assert look.projects() == [] and not look.has_session("-p", "s")
    look.close()
    assert os.listdir(tmp_path) == ["sessions.db"]
