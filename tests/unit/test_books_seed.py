"""Books written by the system flower follows open, and go on."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

from flower.books.lineage import Lineage
from flower.books.manifest import Manifest
from flower.books.sqlite import SqliteSessionStore
from flower.books.wake import wake_state

SESSION = "47395075-bec7-466e-80cd-f4d60b360235"
PROJECT = "-Users-you-proj"
DDL = """
CREATE TABLE entries (store_key TEXT NOT NULL, seq INTEGER NOT NULL, uid TEXT, payload TEXT NOT NULL,
                      PRIMARY KEY (store_key, seq));
CREATE UNIQUE INDEX entries_uid ON entries(store_key, uid) WHERE uid IS NOT NULL;
CREATE TABLE meta (store_key TEXT PRIMARY KEY, mtime INTEGER NOT NULL, next_seq INTEGER NOT NULL);
CREATE TABLE summaries (project_key TEXT NOT NULL, session_id TEXT NOT NULL, mtime INTEGER NOT NULL,
                        data TEXT NOT NULL, PRIMARY KEY (project_key, session_id));
"""


def build_seed_books(run_dir: Path, workspace: Path) -> None:
    """The three files as that system leaves them."""
    run_dir.mkdir()
    db = sqlite3.connect(run_dir / "sessions.db")
    db.executescript("PRAGMA journal_mode=WAL;" + DDL)
    for key, uuids in ((f"{PROJECT}/{SESSION}", "ab"), (f"{PROJECT}/{SESSION}/subagents/agent-1", "x")):
        said = [json.dumps({"type": "user", "uuid": u, "t": "干活"}, ensure_ascii=False) for u in uuids]
        rows = [(key, n, u, text) for n, (u, text) in enumerate(zip(uuids, said, strict=True))]
        db.executemany(
            "INSERT INTO entries VALUES (?, ?, ?, ?)", [*rows, (key, len(rows), None, '{"type":"mode"}')]
        )
        db.execute("INSERT INTO meta VALUES (?, ?, ?)", (key, 1_790_000_000_000, len(rows) + 1))
    db.execute(
        "INSERT INTO summaries VALUES (?, ?, ?, ?)", (PROJECT, SESSION, 1_790_000_000_000, '{"cwd": "/x"}')
    )
    db.commit()
    db.close()
    lineage = {"workspace": str(workspace), "woke": 3, "steps": {"干活": SESSION}}
    (run_dir / "lineage.json").write_text(json.dumps(lineage, ensure_ascii=False, indent=2))
    row = {"step": "干活", "session_id": SESSION, "ok": True, "cost_usd": 1.5, "duration_s": 3.0, "errors": [],
           "run": "20260907-101010-abcdef", "something_else": 1}  # fmt: skip
    (run_dir / "manifest.json").write_text(json.dumps([row], ensure_ascii=False, indent=2))


def test_they_open_and_go_on(tmp_path: Path) -> None:
    runs, told = tmp_path / "runs", []
    build_seed_books(runs, tmp_path)
    assert wake_state(tmp_path, run_dir=runs)["steps"] == {"干活": SESSION}

    key = {"project_key": PROJECT, "session_id": SESSION}
    store = SqliteSessionStore(runs / "sessions.db")
    assert store.has_session(PROJECT, SESSION) and store.projects() == [PROJECT]
    store.append_now(key, [{"type": "user", "uuid": "b"}, {"type": "user", "uuid": "c"}])
    assert [e.get("uuid") for e in asyncio.run(store.load(key)) or []] == ["a", "b", None, "c"]
    assert asyncio.run(store.list_subkeys(key)) == ["subagents/agent-1"]
    [summary] = asyncio.run(store.list_session_summaries(PROJECT))
    assert summary["data"]["cwd"] == "/x" and summary["mtime"] > 1_790_000_000_000
    store.close()
    with closing(sqlite3.connect(runs / "sessions.db")) as db:
        schema = db.execute("SELECT name FROM sqlite_master ORDER BY name").fetchall()
    names = [n for (n,) in schema if not n.startswith("sqlite_")]
    assert names == ["entries", "entries_uid", "meta", "summaries"]

    lineage = Lineage.open(runs, tmp_path, notice=told.append)
    assert lineage.wake() == 4 and lineage.steps == {"干活": SESSION}
    manifest = Manifest(runs, "20261201-000000-000000", notice=told.append)
    manifest.record({"step": "干活", "started_at": 1.0})
    assert manifest.rows()[0]["something_else"] == 1 and len(manifest.rows()) == 2
    assert told == []


def test_a_new_database_has_exactly_that_schema(tmp_path: Path) -> None:
    build_seed_books(tmp_path / "old", tmp_path)
    SqliteSessionStore(tmp_path / "new.db").close()

    def columns(path: Path) -> list[object]:
        queries = [f"PRAGMA table_info({table})" for table in ("entries", "meta", "summaries")]
        queries += ["PRAGMA index_list(entries)", "PRAGMA index_info(entries_uid)"]
        with closing(sqlite3.connect(path)) as db:
            return [db.execute(query).fetchall() for query in queries]

    assert columns(tmp_path / "new.db") == columns(tmp_path / "old" / "sessions.db")
