"""Rows of runs: a run touches none but its own, and none is ever lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from flower.books.manifest import Manifest, read_rows
from flower.model import StepResult
from tests.faults import Fault, faulty_files


def test_rows_are_added_replaced_and_kept(tmp_path: Path) -> None:
    told: list[str] = []
    foreign = [{"step": "x", "run": "other", "new_key": [1]}, "not a row"]
    (tmp_path / "manifest.json").write_text(json.dumps(foreign))
    manifest = Manifest(tmp_path, "mine", notice=told.append)
    row = StepResult(step="干活", started_at=1.0)
    manifest.record(row.as_row("mine"))
    Manifest(tmp_path, "third", notice=told.append).record({"step": "干活", "started_at": 1.0})
    row.ok, row.text = True, "half \ud800"
    manifest.record(row.as_row("mine"))
    manifest.record(StepResult(step="干活", started_at=2.0).as_row("mine"))
    rows = json.loads((tmp_path / "manifest.json").read_text())
    assert rows[:2] == foreign
    assert [(r["run"], r.get("started_at")) for r in rows[2:]] == [
        ("mine", 1.0),
        ("third", 1.0),
        ("mine", 2.0),
    ]
    assert rows[2]["ok"] and rows[2]["text"] == "half \ud800" and told == []
    assert manifest.rows() == [r for r in rows if isinstance(r, dict)]


@pytest.mark.parametrize("content", ["", "[{", '{"step": 1}', "\xff["])
def test_a_damaged_file_is_kept_and_said(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_bytes(content.encode("latin-1"))
    told: list[str] = []
    assert read_rows(tmp_path) == []
    assert Manifest(tmp_path, "r", notice=told.append).record({"step": "a", "started_at": 1})
    [kept] = tmp_path.glob("manifest.json.damaged-*")
    assert kept.read_bytes() == content.encode("latin-1")
    assert len(told) == 1 and kept.name in told[0]
    assert len(read_rows(tmp_path)) == 1


def test_a_row_that_cannot_be_written_is_written_with_the_next(tmp_path: Path) -> None:
    told: list[str] = []
    manifest = Manifest(tmp_path, "r", notice=told.append)
    with faulty_files(Fault(1, "ENOSPC", persistent=True)):
        assert not manifest.record({"step": "a", "started_at": 1})
    assert len(told) == 1 and len(manifest.rows()) == 1 and read_rows(tmp_path) == []
    assert manifest.record({"step": "b", "started_at": 2})
    assert [r["step"] for r in read_rows(tmp_path)] == ["a", "b"]


WRITER = """
import sys
from flower.books.manifest import Manifest
manifest = Manifest(sys.argv[1], sys.argv[2], notice=print)
for n in range(25):
    manifest.record({"step": str(n), "started_at": n})
"""


def test_runs_side_by_side_keep_every_row(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), f"r{i}"]) for i in range(4)]
    assert [w.wait(60) for w in writers] == [0] * 4
    rows = read_rows(tmp_path)
    assert sorted((r["run"], r["started_at"]) for r in rows) == [
        (f"r{i}", n) for i in range(4) for n in range(25)
    ]
