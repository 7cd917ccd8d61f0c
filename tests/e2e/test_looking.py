"""The commands that look where looking is hard: nothing may be written, pages are damaged, somebody sits at a terminal."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flower.books.sqlite import SqliteSessionStore
from tests.e2e.harness import FLOWER, Place
from tests.e2e.screens import Terminal
from tests.recorded import fill, row, write_books

WRITER = """
import os, signal, sys
from flower.books.sqlite import SqliteSessionStore
store = SqliteSessionStore(sys.argv[1])
said = {"role": "user", "content": "only in the log"}
store.append_now({"project_key": "-p", "session_id": "in-the-log"}, [{"type": "user", "uuid": "u", "message": said}])
os.kill(os.getpid(), signal.SIGKILL)
"""
POWERLESS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
"""As root: a process for which permissions hold as for everybody else."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place.make(tmp_path)
    sessions = fill(place.runs, place.dir, ["tools", "subagent", "large"])
    rows = [row("work", sessions["subagent"]), row("more", sessions["large"])]
    write_books(place.runs, place.dir, {"work": sessions["subagent"], "more": sessions["large"]}, rows)
    return place


def everything(directory: Path) -> dict[str, tuple[int, int]]:
    """Every file with its size and time, the database's own helpers included."""
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in directory.rglob("*")}


@pytest.mark.parametrize("state", ["killed", "closed"])
def test_where_nothing_may_be_written_the_log_of_the_database_is_read_too(place: Place, state: str) -> None:
    """A run was killed: its last words are in the write-ahead log only, and no shared memory can be made."""
    killed = subprocess.run([sys.executable, "-c", WRITER, str(place.runs / "sessions.db")], env=place.env)
    assert killed.returncode == -signal.SIGKILL and (place.runs / "sessions.db-wal").stat().st_size
    (place.runs / "sessions.db-shm").unlink()
    if state == "closed":
        SqliteSessionStore(place.runs / "sessions.db").close()
        assert not (place.runs / "sessions.db-wal").exists()
    for path in (*place.runs.rglob("*"), place.runs, place.dir):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = everything(place.dir)
    powerless = POWERLESS if os.getuid() == 0 else []
    try:
        for words, expected in {
            "status --json": '"sessions": 4',
            "steps": "more",
            "sessions": "only in the log",
            "show in-the-log": "only in the log",
            "export in-the-log": "only in the log",
            "report -o -": "</html>",
            "adopt --dry-run /nowhere": "",
        }.items():
            done = subprocess.run([*powerless, *FLOWER, *words.split()], cwd=place.dir, env=place.env, capture_output=True, text=True)  # fmt: skip
            assert expected in done.stdout and "Traceback" not in done.stderr, words + done.stderr
            assert done.returncode == (0 if expected else 2), done.stderr
        looked = subprocess.run([*powerless, sys.executable, "-c", "import flower; print(flower.wake_state()['woke'])"], cwd=place.dir, env=place.env, capture_output=True, text=True)  # fmt: skip
        assert looked.stdout == "2\n", looked.stderr
        assert everything(place.dir) == before
        assert not list(Path("/tmp").glob("flower-look-*")), "the copy that was read is gone"
    finally:
        for path in (place.dir, place.runs, *place.runs.rglob("*")):
            path.chmod(0o755)


def test_damage_in_the_middle_is_named_by_every_command_that_meets_it(place: Place) -> None:
    database = place.runs / "sessions.db"
    SqliteSessionStore(database).close()
    data = bytearray(database.read_bytes())
    for at in range(len(data) // 2, len(data), 8192):
        data[at : at + 600] = os.urandom(600)
    database.write_bytes(data)
    (place.runs / "lineage.json").write_text("{")
    status = place.run("status", "--json")
    problems = [Path(p["file"]).name for p in json.loads(status.stdout.splitlines()[0])["problems"]]
    assert status.returncode == 0 and "lineage.json" in problems
    ident = place.rows[1]["session_id"]
    met = []
    for words in (
        ["sessions"],
        ["show", ident],
        ["export", ident, "-o", "out.jsonl"],
        ["report", "-o", "-"],
        ["doctor"],
    ):
        done = place.run(*words)
        assert "Traceback" not in done.stderr and done.returncode in (0, 1), done.stderr
        if "sessions.db" in done.stderr or (words == ["doctor"] and "!!  database" in done.stdout):
            met.append(words[0])
            assert "damaged" in done.stderr + done.stdout or "sessions.db: " in done.stdout
    assert {"show", "export", "doctor"} <= set(met)
    assert not (place.dir / "out.jsonl").exists(), "half a session would look like all of it"
    assert database.read_bytes() == bytes(data)


def test_show_opens_in_the_pager_and_adopt_asks_first(place: Place, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text('#!/bin/sh\necho "the pager has it:"\nhead -n 400\n')
    pager.chmod(0o755)
    with Terminal(place.dir, "show", "work", env={"PAGER": str(pager)}) as terminal:
        terminal.wait("the pager has it:")
        terminal.wait("== subagent helper")
        assert terminal.end() == 0
    quits = tmp_path / "quits"
    quits.write_text("#!/bin/sh\nhead -n 1\n")
    quits.chmod(0o755)
    with Terminal(place.dir, "show", "more", env={"PAGER": str(quits)}) as terminal:
        assert terminal.end() == 0 and "Traceback" not in terminal.raw

    moved = place.dir.with_name("moved")
    shutil.move(place.dir, moved)
    lineage = moved / "runs" / "lineage.json"
    with Terminal(moved, "adopt") as terminal:
        terminal.wait("go ahead?")
        terminal.enter("n")
        terminal.wait("nothing was changed")
        assert terminal.end() == 0
    with Terminal(moved, "adopt") as terminal:
        terminal.wait("go ahead?")
        terminal.ctrl("c")
        assert terminal.end() == 130 and "Traceback" not in terminal.raw and "failed" not in terminal.raw
    assert json.loads(lineage.read_text())["workspace"] == str(place.dir)
    with Terminal(moved, "adopt") as terminal:
        terminal.wait("go ahead?")
        terminal.enter()
        assert terminal.end() == 0
    assert json.loads(lineage.read_text())["workspace"] == str(moved)
