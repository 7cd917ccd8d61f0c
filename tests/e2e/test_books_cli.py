"""The books as the command meets them: copied, cut, deleted, foreign, shared by two runs, written by an older system."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flower.scripted.demo import demo_script
from flower.testing import Reply, Request, ScriptedEndpoint
from tests.e2e.harness import Place, wait_for


def test_run_twice_is_one_conversation(used: Place, endpoint: ScriptedEndpoint) -> None:
    first, seen = used.lineage, len(endpoint.requests)
    assert used.run().returncode == 0
    assert used.lineage == {**first, "woke": 2}
    continued = endpoint.requests[seen].request
    assert continued.session_id == first["steps"]["干活"]
    assert any(call.name == "Agent" for call in continued.calls), "the first run's history is not there"


def test_a_directory_that_was_copied_starts_afresh_and_says_so(used: Place) -> None:
    before = used.lineage
    copy = Place(used.dir.parent / "copy", used.home, used.env)
    shutil.copytree(used.dir, copy.dir)
    done = copy.run()
    assert done.returncode == 0, done.stderr[-2000:]
    assert "adopt" in done.stderr or str(used.dir) in done.stderr
    assert copy.lineage["workspace"] == str(copy.dir) and copy.lineage["woke"] == 1
    assert not set(copy.lineage["steps"].values()) & set(before["steps"].values())
    assert list(copy.runs.glob("lineage.json.foreign-*")), "the foreign lineage is kept"
    assert used.lineage == before


def test_a_deleted_database_starts_afresh_and_says_so(used: Place) -> None:
    before = used.lineage["steps"]
    for path in used.runs.glob("sessions.db*"):
        path.unlink()
    done = used.run()
    assert done.returncode == 0, done.stderr[-2000:]
    assert "database" in done.stderr
    assert used.lineage["steps"]["干活"] != before["干活"]


def test_a_lineage_cut_in_half_is_set_aside_and_said(used: Place) -> None:
    path = used.runs / "lineage.json"
    half = path.read_bytes()[: path.stat().st_size // 2]
    path.write_bytes(half)
    done = used.run()
    assert done.returncode == 0, done.stderr[-2000:]
    aside = list(used.runs.glob("lineage.json.damaged-*"))
    assert [p.read_bytes() for p in aside] == [half] and "lineage.json" in done.stderr


def test_books_of_another_project_are_refused_before_money_is_spent(
    used: Place, endpoint: ScriptedEndpoint
) -> None:
    spent = len(endpoint.requests)
    mark = used.dir / ".flower" / "project.json"
    mark.write_text(
        json.dumps({**json.loads(mark.read_text()), "id": "0e0e0e0e-0000-4000-8000-000000000000"})
    )
    done = used.run()
    assert done.returncode == 2 and len(endpoint.requests) == spent
    assert len(done.stderr.strip().splitlines()) <= 2 and "Traceback" not in done.stderr


def test_a_fresh_checkout_takes_the_books_id(used: Place) -> None:
    (used.dir / ".flower" / "project.json").unlink()
    before = used.lineage
    assert used.run().returncode == 0
    assert used.lineage["steps"] == before["steps"] and used.lineage["woke"] == 2


def test_two_runs_at_once(used: Place, endpoint: ScriptedEndpoint) -> None:
    """The first keeps its session; the second says who has it and works on a fork."""
    session = used.lineage["steps"]["干活"]
    entries_before = used.entries(session)
    gate = used.dir / "gate"

    def held(request: Request) -> Reply:
        # The first run to come stays in its turn until the second has ended.
        if request.session_id == session and request.agent_id is None:
            wait_for(gate.exists, 120, "the gate")
        return demo_script(request)

    with ScriptedEndpoint(held) as slow:
        place = Place(used.dir, used.home, {**used.env, **slow.env()})
        first = place.start("--json")
        wait_for(
            lambda: (place.runs / "live" / session / "lock").exists() and slow.requests, 120, "the first run"
        )
        second = place.run("go")
        gate.touch()
        out, err = first.communicate(timeout=180)
    assert first.returncode == 0, err[-2000:]
    assert second.returncode == 0, second.stderr[-2000:]
    assert f"pid {first.pid}" in second.stderr and "fork" in second.stderr
    runs = {row["run"] for row in place.rows}
    assert len(runs) == 3 and all(
        any(r["step"] == "干活" for r in place.rows if r["run"] == run) for run in runs
    )
    assert place.lineage["steps"]["干活"] == session
    # What the owner's session holds is its own history and its own run: nothing of the second.
    entries = place.entries(session)
    assert entries[: len(entries_before)] == entries_before
    others = {r["session_id"] for r in place.rows if r["step"] == "干活"} - {session}
    assert len(others) == 1
    prompts = [
        e
        for e in entries[len(entries_before) :]
        if e["type"] == "user" and isinstance(e["message"]["content"], str)
    ]
    assert len(prompts) == 1
    assert "end" in out


def test_several_in_the_same_millisecond(tmp_path: Path, endpoint: ScriptedEndpoint) -> None:
    place = Place.make(tmp_path, endpoint.env())
    starts = [place.start("once", f"hello {n}") for n in range(5)]
    for process in starts:
        _out, err = process.communicate(timeout=180)
        assert process.returncode == 0, err[-2000:]
    assert len(place.rows) == 5 and len({row["session_id"] for row in place.rows}) == 5
    assert place.integrity() == "ok" and not list((place.runs / "live").glob("*-*-*-*-*"))


def test_looking_changes_nothing_and_imports_no_sdk(used: Place) -> None:
    def listing() -> list[tuple[str, int, int]]:
        return sorted((str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in used.dir.rglob("*"))

    before = listing()
    time.sleep(0.02)
    code = (
        "import sys, json; from flower import wake_state; s = wake_state('.');"
        "assert s['waking'] and s['woke'] == 1 and s['checks'] == 3 and len(s['steps']) == 3, s;"
        "assert 'claude_agent_sdk' not in sys.modules and 'apsw' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=used.dir, env=used.env, check=True)
    assert listing() == before


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["go", "--help"], ["once", "--help"]])
def test_simple_questions_are_answered_without_the_sdk(arguments: list[str], tmp_path: Path) -> None:
    place = Place.make(tmp_path)
    code = (
        "import sys\n"
        "from flower.cli.main import main\n"
        f"try: main({arguments!r})\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "heavy = {'claude_agent_sdk', 'mcp', 'apsw', 'anyio'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run(
        [sys.executable, "-c", code], cwd=place.dir, env=place.env, check=True, stdout=subprocess.DEVNULL
    )
    assert not list(place.dir.iterdir())


def test_books_of_the_older_system_go_on(used: Place) -> None:
    """No version mark, no project ids, a goal without a digest: the database, lineage and manifest alone."""
    before, rows = used.lineage, used.rows
    database = sqlite3.connect(used.runs / "sessions.db")
    database.execute("PRAGMA journal_mode=DELETE")
    database.execute("PRAGMA user_version=0")
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for extra in tables - {"entries", "meta", "summaries"}:
        database.execute(f"DROP TABLE {extra}")
    database.commit()
    database.close()
    for path in [
        used.dir / ".flower" / "project.json",
        used.runs / "project.json",
        used.runs / "live",
        used.runs / "told",
    ]:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    goal = used.dir / ".flower" / "notes" / "目标.md"
    text = goal.read_text(encoding="utf-8")
    goal.write_text("\n".join(line for line in text.splitlines() if "sha256" not in line), encoding="utf-8")
    assert "sha256" in text and "sha256" not in goal.read_text(encoding="utf-8")

    done = used.run()
    assert done.returncode == 0, done.stderr[-2000:]
    assert used.lineage == {**before, "woke": 2}
    assert used.rows[: len(rows)] == rows and used.rows[len(rows)]["step"] == "干活"
    assert "设定目标" not in [row["step"] for row in used.rows[len(rows) :]]
