"""The same conversation goes on: in the next box, on another host, beside the native flower."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.box.box import Box
from tests.box.conftest import Person

ROOT = Path(__file__).parents[2]


def carry_on(box: Box, wake: int, steps: dict[str, str]) -> None:
    done = box.run(box.dir)
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"wake {wake}" in done.stderr
    assert box.lineage == {"workspace": "/work", "woke": wake, "steps": steps}


def test_again_elsewhere_and_in_a_fresh_clone(person: Person) -> None:
    box = person()
    first = box.run(box.dir, "say it")
    assert first.returncode == 0 and "The word is said" in first.stdout, first.stderr[-3000:]
    steps = box.lineage["steps"]
    assert box.lineage == {"workspace": "/work", "woke": 1, "steps": steps} and len(steps) == 3
    carry_on(box, 2, steps)

    # Another host: the project lies elsewhere, the books too.
    other = person()
    shutil.copytree(box.dir / ".flower", other.dir / ".flower", symlinks=True)
    books = other.base / "mounted books"
    shutil.copytree(box.books, books, symlinks=True)
    other.env["FLOWER_RUNS"] = str(books)
    done = other.run(other.dir)
    assert done.returncode == 0 and "wake 3" in done.stderr
    assert json.loads((books / "lineage.json").read_text("utf-8")) == {**box.lineage, "woke": 3}

    # A clone without .flower/: the books say which project this is.
    clone = person(FLOWER_RUNS=str(books))
    done = clone.run(clone.dir, "--no-goal", "say it again")
    assert done.returncode == 0, done.stderr[-3000:]
    lineage = json.loads((books / "lineage.json").read_text("utf-8"))
    assert lineage["woke"] == 4 and lineage["steps"]["干活"] == steps["干活"]
    ids = [json.loads((b.dir / ".flower/project.json").read_text()) for b in (box, other, clone)]
    assert ids[0] == ids[1] == ids[2]


def test_a_named_volume_of_the_engines(person: Person) -> None:
    box = person(uid=1234, FLOWER_RUNS="volume:flower-box-test-books")
    try:
        assert box.run(box.dir, "--no-goal", "say it").returncode == 0
        again = box.run(box.dir, "--no-goal")
        assert again.returncode == 0 and "wake 2" in again.stderr, again.stderr
        assert not (box.dir / "runs").exists()
    finally:
        box.docker("volume", "rm", "--force", "flower-box-test-books")


def test_native_and_box_in_turn(person: Person) -> None:
    box = person()
    native = [str(Path(sys.executable).with_name("flower"))]

    def outside(*words: str) -> None:
        done = subprocess.run(
            [*native, *words], cwd=box.dir, env=box.env, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=150,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]

    def books_outside() -> dict[str, object]:
        found: dict[str, object] = json.loads((box.dir / "runs/lineage.json").read_text("utf-8"))
        return found

    outside("say it")
    mine = books_outside()
    brief = (box.dir / ".flower/notes/需求.md").read_bytes()
    inside = box.run(box.dir)
    assert inside.returncode == 0, inside.stderr[-3000:]
    # Brief and goal are frozen already: only the work is done, in a session of the box's own.
    assert [row["step"] for row in box.rows] == ["干活", "干活·判定#1"]
    theirs = box.lineage
    assert books_outside() == mine and set(theirs["steps"].values()).isdisjoint(mine["steps"].values())  # type: ignore[attr-defined]
    outside()
    assert books_outside() == {**mine, "woke": 2} and box.lineage == theirs
    carry_on(box, theirs["woke"] + 1, theirs["steps"])
    assert (box.dir / ".flower/notes/需求.md").read_bytes() == brief


def test_the_workbench_of_isolated_workers_lasts(person: Person) -> None:
    """It lies beside the workspace then, which inside is the root of the container."""
    box = person(uid=1234)
    words = ["git", "-c", f"safe.directory={box.dir}", "-C", str(box.dir)]
    subprocess.run([*words, "init", "-q"], env=box.env, check=True, user=1234, group=1234)
    assert box.run(box.dir, "--isolate", "--no-goal", "say it").returncode == 0
    assert "A word." in (box.books / "isolated/notes/需求.md").read_text("utf-8")
    again = box.run(box.dir, "--isolate", "--no-goal")
    assert again.returncode == 0 and "wake 2" in again.stderr, again.stderr[-3000:]
    assert [row["step"] for row in box.rows] == ["确认需求", "干活", "干活"]
