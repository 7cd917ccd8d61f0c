"""What a kill left is in the books before it is removed."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from flower.books.locks import SessionLease
from flower.books.salvage import Salvaged, reconcile
from flower.books.sqlite import SqliteSessionStore
from flower.model import BooksError
from tests.faults import Fault, faulty_sqlite

KEY = {"project_key": "-p", "session_id": "sid"}
SUB = {**KEY, "subpath": "subagents/agent-1"}


def write_lines(path: Path, *uuids: str | None, torn: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"type": "user"} | ({"uuid": u} if u else {})) for u in uuids]
    path.write_text("\n".join(lines) + ('\n{"type":"user","uu' if torn else "\n"))


def leftover(books: Path, sid: str = "sid") -> Path:
    root = books / "live" / sid
    projects = root / "config" / "projects" / "-p"
    write_lines(projects / f"{sid}.jsonl", "a", None, "healed", "b", "c", torn=True)
    write_lines(projects / sid / "subagents" / "agent-1.jsonl", "x", "y")
    (root / "config" / ".credentials.json").write_text("secret")
    (root / "inserted").write_text("healed\n")
    (root / "lock").write_text('{"host": "dead"}')
    return root


def run(books: Path, store: Any, **more: Any) -> tuple[Salvaged, list[str]]:
    told: list[str] = []
    return asyncio.run(reconcile(books, store, notice=told.append, **more)), told


def uuids(store: SqliteSessionStore, key: dict[str, str]) -> list[Any]:
    return [e.get("uuid") for e in asyncio.run(store.load(key)) or []]


@pytest.fixture
def store(tmp_path: Path) -> Any:
    opened = SqliteSessionStore(tmp_path / "sessions.db")
    yield opened
    opened.close()


def test_what_the_database_lacks_is_appended_and_the_rest_goes(
    tmp_path: Path, store: SqliteSessionStore
) -> None:
    store.append_now(KEY, [{"type": "user", "uuid": "a"}])
    root = leftover(tmp_path)
    scratch = Path(tempfile.mkdtemp(prefix="flower-"))
    (scratch / "deep").mkdir()
    (root / "scratch").write_text(f"{scratch}\n")
    ended: list[str] = []
    done, told = run(tmp_path, store, end_strays=lambda sid: ended.append(sid) or 2)
    assert (done.sessions, done.entries, done.strays, done.kept) == (1, 4, 2, []) and ended == ["sid"]
    assert uuids(store, KEY) == ["a", "b", "c"] and uuids(store, SUB) == ["x", "y"]
    assert not root.exists() and not scratch.exists() and len(told) == 1 and "4 entries" in told[0]
    assert run(tmp_path, store)[0] == Salvaged()


def test_a_live_session_is_left_alone(tmp_path: Path, store: SqliteSessionStore) -> None:
    root = leftover(tmp_path)
    lease = SessionLease.acquire(tmp_path, "sid")
    assert isinstance(lease, SessionLease)
    assert (
        run(tmp_path, store)[0] == Salvaged(live=1) and root.exists() and not store.has_session("-p", "sid")
    )
    lease.release()
    assert run(tmp_path, store)[0].sessions == 1


def test_a_fork_keeps_what_its_model_saw(tmp_path: Path, store: SqliteSessionStore) -> None:
    root = leftover(tmp_path)
    write_lines(root / "config" / "projects" / "-p" / "origin.jsonl", "a", "healed")
    store.append_now({**KEY, "session_id": "origin"}, [{"type": "user", "uuid": "a"}])
    run(tmp_path, store)
    assert uuids(store, {**KEY, "session_id": "origin"}) == ["a"]
    assert uuids(store, KEY) == ["a", "healed", "b", "c"]


def test_nothing_goes_before_its_entries_are_durable(tmp_path: Path) -> None:
    with faulty_sqlite("salvage-test") as vfs:
        for n in range(1, 200):
            books = tmp_path / str(n)
            root = leftover(books)
            store = SqliteSessionStore(books / "sessions.db", vfs="salvage-test")
            vfs.fault = fault = Fault(n, "EIO", persistent=True)
            done, told = run(books, store)
            vfs.fault = None
            store.close()
            if done.kept:
                assert root.exists() and not (root / "config" / ".credentials.json").exists()
                assert len(told) == 1 and "\n" not in told[0]
            store = SqliteSessionStore(books / "sessions.db")
            run(books, store)
            assert uuids(store, KEY) == ["a", "b", "c"] and uuids(store, SUB) == ["x", "y"]
            assert not root.exists()
            store.close()
            if not fault.hit:
                assert n > 3
                return
    pytest.fail("the loop never passed")


def test_several_flowers_at_once_append_once(tmp_path: Path, store: SqliteSessionStore) -> None:
    for n in range(5):
        leftover(tmp_path, f"s{n}")

    async def together() -> list[Salvaged]:
        return await asyncio.gather(*(reconcile(tmp_path, store, notice=lambda line: None) for _ in range(4)))

    assert sum(done.entries for done in asyncio.run(together())) == 25
    assert os.listdir(tmp_path / "live") == []
    assert uuids(store, {**KEY, "session_id": "s3"}) == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["precious", "flower-link"])
def test_only_scratch_of_ours_is_removed(tmp_path: Path, store: SqliteSessionStore, name: str) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    if name != "precious":
        (tmp_path / name).symlink_to(precious)
    (leftover(tmp_path) / "scratch").write_text(f"{tmp_path / name}\n")
    run(tmp_path, store)
    assert (precious / "file").exists() and not (tmp_path / "live" / "sid").exists()


def test_a_store_that_only_follows_the_sdk_is_enough(tmp_path: Path) -> None:
    from claude_agent_sdk import InMemorySessionStore

    store = InMemorySessionStore()
    asyncio.run(store.append(KEY, [{"type": "user", "uuid": "a"}]))
    leftover(tmp_path)
    assert run(tmp_path, store)[0].entries == 4
    assert [e.get("uuid") for e in asyncio.run(store.load(KEY)) or []] == ["a", "b", "c"]


def test_an_error_of_the_books_is_told_and_kept_for_later(tmp_path: Path) -> None:
    store = SqliteSessionStore(tmp_path / "sessions.db")
    root = leftover(tmp_path)
    store.close()
    with pytest.raises(BooksError):
        store.append_now(KEY, [{"type": "user"}])
    done, told = run(tmp_path, store)
    assert done.kept == ["sid"] and root.exists() and len(told) == 1
