"""Disks that fail and databases that are locked or refuse, while the real CLI goes on."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flower import AgentSpec, Event, Runtime
from flower.books.sqlite import SqliteSessionStore
from flower.model import BooksError, StepFailed
from flower.testing import Reply, Request, ScriptedEndpoint, ToolUse
from tests.e2e.harness import Place, wait_for

ROOT = Path(__file__).parents[2]
SAMPLES = 15
KINDS = ("EIO", "ENOSPC", "EROFS")


def talker(request: Request) -> Reply | str:
    if request.calls:
        return f"done {len(request.calls)}"
    return Reply("on it", blocks=[ToolUse("Bash", {"command": "pwd; git --version", "description": "x"})])


def faulty(
    place: Place, report: Path, n: int, kind: str, how: str, *words: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.faulty_flower", str(n), kind, how, str(report), *words],
        cwd=place.dir, env=place.env | {"PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_a_disk_that_fails_anywhere_costs_at_most_one_clear_line(tmp_path: Path) -> None:
    """Fifteen operations over a whole run of the command: whatever was there stays, or the run stops and says so."""
    script = """\
from flower import AgentSpec, Step, Workflow
def main():
    return Workflow([Step('only', AgentSpec(name='a', allowed_tools=['Bash']), 'go')])
"""
    with ScriptedEndpoint(talker) as endpoint:
        place, report, kept = Place.make(tmp_path, endpoint.env()), tmp_path / "report", tmp_path / "kept"
        (place.dir / "flows.py").write_text(script)
        line = ("run", "flows.py:main")
        assert place.run(*line).returncode == 0
        old_rows, old_lineage = place.rows, place.lineage
        old = {e["uuid"] for e in place.entries(old_rows[0]["session_id"]) if e.get("uuid")}
        shutil.copytree(place.runs, kept)
        sound = faulty(place, report, 10**9, "EIO", "once", *line)
        assert sound.returncode == 0, sound.stderr
        total = json.loads(report.read_text())["count"]
        assert total > 3 * SAMPLES
        struck = 0
        for sample in range(SAMPLES):
            shutil.rmtree(place.runs)
            shutil.copytree(kept, place.runs)
            n = 1 + sample * total // SAMPLES
            kind, how = KINDS[sample % 3], ("once", "always")[sample % 2]
            done = faulty(place, report, n, kind, how, *line)
            what = f"operation {n} of {total}, {kind}, {how}: {report.read_text()}\n{done.stderr}"
            struck += json.loads(report.read_text())["hit"]
            assert "Traceback" not in done.stderr and "internal" not in done.stderr, what
            if done.returncode:
                assert done.returncode == 1 and done.stderr.strip().splitlines()[-1].startswith("flower: "), (
                    what
                )
            check_kept(place, old_rows, old_lineage, old, what)
        # How the entries of one run fall into batches varies: the last samples may lie beyond its end.
        assert struck >= SAMPLES - 3
        # The last one leaves the books in a state from which a sound disk goes on in the same session.
        after = place.run(*line)
        assert after.returncode == 0, after.stderr
        assert place.rows[-1]["session_id"] == old_rows[0]["session_id"]
        endpoint.check()


def check_kept(place: Place, rows: list[Any], lineage: dict[str, Any], uuids: set[str], what: str) -> None:
    assert place.rows[: len(rows)] == rows, what
    assert place.lineage["steps"] == lineage["steps"] and place.lineage["woke"] >= lineage["woke"], what
    assert place.integrity() == "ok", what
    assert uuids <= {e.get("uuid") for e in place.entries(rows[0]["session_id"])}, what
    assert not list(place.runs.glob("*.damaged-*")), what
    assert not place.tree(), what


# ---- a database that does not take what it is given


def runtime(base: Path, endpoint: ScriptedEndpoint, **options: Any) -> Runtime:
    os.environ.update(endpoint.env())
    return Runtime(workspace=base / "ws", run_dir=base / "runs", handoff=False, **options)


WORKER = AgentSpec("x", allowed_tools=["Bash"])


def test_a_database_that_another_process_locks_for_long_is_waited_for(tmp_path: Path) -> None:
    seen: list[Event] = []
    with ScriptedEndpoint(talker) as endpoint, runtime(tmp_path, endpoint) as rt:

        def hold() -> None:
            other = sqlite3.connect(rt.run_dir / "sessions.db", timeout=30, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            locked.set()
            time.sleep(20)
            other.execute("ROLLBACK")
            other.close()

        def on_event(event: Event) -> None:
            seen.append(event)
            if event.kind == "tool_use":
                holder.start()
                locked.wait(30)

        locked, holder = threading.Event(), threading.Thread(target=hold)
        row = asyncio.run(rt.run(WORKER, "go", step_name="s", on_event=on_event))
        holder.join()
        assert row.ok and row.text == "done 1" and row.attempts == 1
        stored = entries(rt, row.session_id)
        assert {event.uuid for event in seen if event.uuid} <= stored


def entries(rt: Runtime, session: str) -> set[str]:
    return rt.store.backend.known_uuids({"project_key": rt.project_key, "session_id": session})  # type: ignore[no-any-return]


class FullForAWhile(SqliteSessionStore):
    """A database on a disk that is full between two moments."""

    full = False
    refused = 0

    async def append(self, key: Any, items: Any) -> None:
        if self.full:
            self.refused += 1
            raise BooksError("database or disk is full")
        await super().append(key, items)


def test_what_a_full_database_refused_is_read_back_before_the_step_ends(tmp_path: Path) -> None:
    store, seen = FullForAWhile(tmp_path / "full.db"), []

    def script(request: Request) -> Reply | str:
        if request.calls:
            wait_for(lambda: store.refused >= 3, 30.0, "three refusals")
            time.sleep(0.5)
            store.full = False
        return talker(request)

    def on_event(event: Event) -> None:
        seen.append(event)
        if event.kind == "text" and event.text == "on it":
            store.full = True

    with ScriptedEndpoint(script) as endpoint, runtime(tmp_path, endpoint, store=store) as rt:
        row = asyncio.run(rt.run(WORKER, "go", step_name="s", on_event=on_event))
        assert row.ok and store.refused >= 3
        assert any(error.startswith("mirror_error") for error in row.errors), "recorded"
        assert [e for e in seen if e.kind == "error" and "disk is full" in e.text], "shown as it happens"
        assert [e for e in seen if e.kind == "notice" and "read back" in e.text]
        assert {e.uuid for e in seen if e.uuid} <= entries(rt, row.session_id)
        again = asyncio.run(rt.run(WORKER, "more", step_name="s", resume=row.session_id))
        assert again.ok and [c.result for c in endpoint.requests[-1].request.calls if c.result]
        endpoint.check()


def test_a_step_whose_entries_cannot_be_saved_fails_and_the_next_start_saves_them(tmp_path: Path) -> None:
    store = FullForAWhile(tmp_path / "full.db")

    def on_event(event: Event) -> None:
        seen.append(event)
        if event.kind == "text" and event.text == "on it":
            store.full = True

    seen: list[Event] = []
    with ScriptedEndpoint(talker) as endpoint, runtime(tmp_path, endpoint, store=store) as rt:
        with pytest.raises(StepFailed, match="could not be saved"):
            asyncio.run(rt.run(WORKER, "go", step_name="s", on_event=on_event))
        row = rt.manifest.rows()[-1]
        assert not row["ok"] and "could not be saved" in row["error"]
        store.full = False
        shown = {e.uuid for e in seen if e.uuid}
        assert not shown <= entries(rt, row["session_id"]), "the disk was really full"
        with runtime(tmp_path, endpoint, store=store) as later:
            told: list[str] = []
            later._say = told.append
            after = asyncio.run(later.run(replace(WORKER), "more", step_name="s", resume=row["session_id"]))
            assert after.ok and shown <= entries(later, row["session_id"])
            assert any("now in the books" in line for line in told)
        endpoint.check()
