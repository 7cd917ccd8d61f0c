"""A look at what a directory remembers changes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flower.books.archive import JOURNAL
from flower.books.lineage import Lineage
from flower.books.wake import BRIEF, GOAL, wake_state
from flower.documents.brief import Brief
from flower.documents.goal import Check, Goal

ROOT = Path(__file__).parents[2]


def listing(base: Path) -> dict[str, Any]:
    paths = [base, *base.rglob("*")]
    return {str(p): (p.lstat().st_mtime_ns, p.lstat().st_size, p.lstat().st_mode) for p in paths}


def used_directory(base: Path) -> None:
    lineage = Lineage.open(base / "runs", base, notice=print)
    lineage.wake()
    lineage.remember("干活", "sid", exists=lambda s: False, held=lambda s: False)
    notes = base / ".flower" / "notes"
    notes.mkdir(parents=True)
    (notes / BRIEF).write_text(Brief("a", "b", "c", "d").render("zh"))
    (notes / GOAL).write_text(Goal("g", [Check("one"), Check("two")], "").render("zh"))


def test_an_unused_directory(tmp_path: Path) -> None:
    before = listing(tmp_path)
    state = wake_state(tmp_path, run_dir=tmp_path / "runs")
    assert state == {"waking": False, "brief": None, "goal": None, "checks": 0, "woke": 0, "steps": {}}
    assert listing(tmp_path) == before


def test_a_used_one_and_one_with_half_a_brief(tmp_path: Path) -> None:
    used_directory(tmp_path)
    before = listing(tmp_path)
    state = wake_state(tmp_path, run_dir=tmp_path / "runs")
    notes = tmp_path / ".flower" / "notes"
    assert state == {"waking": True, "brief": notes / BRIEF, "goal": notes / GOAL, "checks": 2, "woke": 1,
                     "steps": {"干活": "sid"}}  # fmt: skip
    assert listing(tmp_path) == before
    (notes / BRIEF).write_text("## Goal\nx\n")
    assert wake_state(tmp_path, run_dir=tmp_path / "runs")["waking"] is False


@pytest.mark.parametrize(
    "content", ["", "{", json.dumps({"workspace": "/elsewhere", "woke": 3, "steps": {"a": "b"}})]
)
def test_a_foreign_or_damaged_lineage_counts_as_none_and_stays(tmp_path: Path, content: str) -> None:
    used_directory(tmp_path)
    (tmp_path / "runs" / "lineage.json").write_text(content)
    before = listing(tmp_path)
    state = wake_state(tmp_path, run_dir=tmp_path / "runs")
    assert (state["woke"], state["steps"], state["waking"]) == (0, {}, True)
    assert listing(tmp_path) == before


def test_it_says_what_the_next_run_will_find(tmp_path: Path) -> None:
    used_directory(tmp_path)
    (tmp_path / "other").mkdir()
    Lineage.open(tmp_path / "runs", tmp_path / "other", notice=lambda line: None).wake()
    assert wake_state(tmp_path, run_dir=tmp_path / "runs")["steps"] == {"干活": "sid"}
    brief = tmp_path / ".flower" / "notes" / BRIEF
    moves = [[str(brief), str(tmp_path / "a" / BRIEF)]]
    (tmp_path / "runs" / JOURNAL).write_text(json.dumps({"moves": moves}))
    assert wake_state(tmp_path, run_dir=tmp_path / "runs")["brief"] is None


def test_isolated_documents_are_beside_the_workspace(tmp_path: Path) -> None:
    used_directory(tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / ".flower").rename(tmp_path / ".flower-work")
    assert wake_state(work, run_dir=tmp_path / "runs", isolate=True)["waking"]
    assert not wake_state(work, run_dir=tmp_path / "runs")["waking"]


LOOK = """
import os, sys
from flower.books.wake import wake_state
import flower.documents.goal
if os.getuid() == 0:
    wake_state(sys.argv[2])  # loads all there is to load: the other user may not read this Python
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(sorted(wake_state(sys.argv[1], run_dir=sys.argv[1] + "/runs")["steps"].items()))
print([name for name in ("claude_agent_sdk", "apsw", "sqlite3") if name in sys.modules])
"""


def test_another_user_in_a_read_only_directory_without_the_sdk(tmp_path: Path) -> None:
    base = Path(os.path.realpath(f"/tmp/flower-wake-{os.getpid()}"))
    base.mkdir(mode=0o755)
    try:
        used_directory(base)
        used_directory(tmp_path)
        for path in base.rglob("*"):
            path.chmod(0o555 if path.is_dir() else 0o444)
        base.chmod(0o555)
        before = listing(base)
        argv = [sys.executable, "-c", LOOK, str(base), str(tmp_path)]
        out = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
        assert out.stdout == "[('干活', 'sid')]\n[]\n", out.stderr
        assert listing(base) == before
    finally:
        subprocess.run(["chmod", "-R", "u+w", str(base)], check=True)
        subprocess.run(["rm", "-r", str(base)], check=True)
