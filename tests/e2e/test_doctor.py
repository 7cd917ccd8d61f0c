"""Each finding of `flower doctor` is produced for real; the table of the manual lists the same ones."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

import flower.cli.doctor as doctor_command
from flower.books.adoption import JOURNAL, Adoption
from flower.books.locks import RunLease
from flower.books.project import bind_project
from flower.inspect import doctor
from flower.scripted.demo import demo_script
from flower.supervise import MARKER
from flower.testing import ScriptedEndpoint
from tests.e2e.harness import FLOWER, Place
from tests.recorded import fill, row, snapshot, write_books

PAGE = (Path(__file__).parents[2] / "docs" / "troubleshooting.md").read_text("utf-8")
DOCUMENTED = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
LEFT = "00000000-0000-4000-8000-000000000000"
AT_ONCE = {"credentials", "settings", "endpoint", "claude", "database", "lineage", "project", "leftovers"}
BOOKS = {"credentials", "database", "lineage"}
PLACE = {"filesystem", "disk"}
ONLY_TELL = {"versions", "sqlite", "runs"}
"""Findings that are always well."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place.make(tmp_path)
    [session] = fill(place.runs, place.dir, ["tools"]).values()
    write_books(place.runs, place.dir, {"work": session}, [row("work", session)])
    return place


def examined(place: Place, *before: str) -> dict[str, list[dict[str, Any]]]:
    """What needs attention, by name. A finding says what to do, and the status is 1 if there is any."""
    earlier = snapshot(place.dir)
    done = subprocess.run(
        [*before, *FLOWER, "doctor", "--json"],
        cwd=place.dir,
        env=place.env,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert "Traceback" not in done.stderr and snapshot(place.dir) == earlier
    *found, end = [json.loads(line) for line in done.stdout.splitlines()]
    wrong: dict[str, list[dict[str, Any]]] = {}
    for finding in found:
        if not finding["ok"]:
            assert finding["todo"], finding
            wrong.setdefault(finding["name"], []).append(finding)
    assert done.returncode == end["exit_code"] == bool(wrong), done.stderr
    return wrong


def test_a_healthy_place(place: Place) -> None:
    bind_project(place.dir, place.runs)
    lease = RunLease.acquire(place.runs, "live-run")
    assert isinstance(lease, RunLease)
    with lease, ScriptedEndpoint(demo_script) as endpoint:
        place.env |= endpoint.env()
        assert examined(place) == {} and not endpoint.requests, "nothing is sent"
        shown = place.run("doctor").stdout
        assert "all is well" in shown and "live-run" in shown and "!!" not in shown


def test_everything_at_once(place: Place) -> None:
    (place.dir / ".env").write_text('ANTHROPIC_BASE_URL=http://127.0.0.1:9\nBROKEN="never closed\n')
    place.env["FLOWER_CLAUDE"] = "/nowhere/claude"
    bind_project(place.dir, place.runs)
    (place.dir / ".flower" / "project.json").write_text(json.dumps({"id": LEFT}))
    write_books(place.runs, place.dir.parent / "elsewhere", {"work": "x"})
    for path in place.runs.glob("sessions.db*"):
        path.unlink()
    (place.runs / "sessions.db").write_bytes(b"x" * 5000)
    (place.runs / "live" / LEFT / "config").mkdir(parents=True)
    marked = {**os.environ, MARKER: f"{LEFT}@{place.runs.resolve()}"}
    with subprocess.Popen([sys.executable, "-c", "input()"], env=marked, stdin=subprocess.PIPE) as stray:
        try:
            wrong = examined(place)
        finally:
            stray.terminate()
    assert wrong.keys() == AT_ONCE
    assert "elsewhere" in wrong["lineage"][0]["found"] and "flower adopt" in wrong["lineage"][0]["todo"]
    assert "127.0.0.1:9" in wrong["endpoint"][0]["found"] and ".env:2" in wrong["settings"][0]["found"]
    assert str(stray.pid) in wrong["leftovers"][0]["found"]
    shown = place.run("doctor")
    assert (
        shown.returncode == 1
        and shown.stdout.count("!!  ") == 8
        and "8 things need attention" in shown.stdout
    )


def test_books_that_cannot_be_gone_on_with(place: Place) -> None:
    connection = apsw.Connection(str(place.runs / "sessions.db"))
    connection.execute("PRAGMA user_version = 99")
    connection.close(True)
    (place.runs / "manifest.json").write_text('[{"step": "x"')
    (place.runs / "lineage.json").write_text("")
    adoption = Adoption("/old", "/new", "-new")
    (place.runs / JOURNAL).write_text(json.dumps(adoption._asdict()))
    place.env |= {"CLAUDE_CODE_USE_BEDROCK": "1"}
    wrong = examined(place)
    assert wrong.keys() == BOOKS
    assert (
        "newer flower" in wrong["database"][0]["found"] and "AWS_REGION" in wrong["credentials"][0]["found"]
    )
    files = " ".join(finding["found"] for finding in wrong["lineage"])
    assert "manifest.json" in files and "lineage.json" in files and "cut off" in files


def may_mount() -> bool:
    words = ["unshare", "--mount", "mount", "-t", "tmpfs", "small", "/mnt"]
    return os.getuid() == 0 and subprocess.run(words, capture_output=True).returncode == 0


@pytest.mark.skipif(not may_mount(), reason="nobody here may mount a small disk")
def test_a_small_disk_where_nothing_may_be_written(place: Place) -> None:
    place.env |= {"ANTHROPIC_API_KEY": "sk-test", "CLAUDE_CODE_USE_VERTEX": "1"}
    place.env |= {"ANTHROPIC_VERTEX_PROJECT_ID": "p", "CLOUD_ML_REGION": "r"}
    mount = 'mount -t tmpfs -o size=20m,mode=0555 small runs && exec setpriv --bounding-set=-all --inh-caps=-all "$@"'
    wrong = examined(place, "unshare", "--mount", "sh", "-c", mount, "sh")
    assert wrong.keys() == PLACE


def test_the_table_of_the_manual_lists_what_there_is() -> None:
    source = "".join(Path(module.__file__ or "").read_text("utf-8") for module in (doctor_command, doctor))
    names = set(re.findall(r'Finding\(\s*"(\w+)"', source))
    assert names == AT_ONCE | BOOKS | PLACE | ONLY_TELL == DOCUMENTED
