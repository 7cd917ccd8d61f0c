"""A directory moved: what an adoption takes, what it leaves, and that a kill leaves all or nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from claude_agent_sdk import project_key_for_directory

from flower.books import adoption, files
from flower.books.adoption import Adoption, adopt, pending_adoption
from flower.books.lineage import Lineage
from flower.books.project import bind_project, known_paths, project_id
from flower.books.wake import wake_state
from flower.inspect.adopt import plan_adoption
from flower.inspect.books import Books
from flower.model import BooksForeign, UsageError
from tests.recorded import AGENT, fill, snapshot, write_books
from tests.unit.test_books_seed import PROJECT, SESSION, build_seed_books


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A directory with books inside, as a run leaves it."""
    return make(tmp_path / "old" / "proj")


def make(workspace: Path, names: tuple[str, ...] = ("subagent", "tools")) -> Path:
    runs = workspace / "runs"
    runs.mkdir(parents=True)
    sessions = fill(runs, workspace, names)
    bind_project(workspace, runs)
    write_books(runs, workspace, {f"step {name}": session for name, session in sessions.items()})
    return workspace


def move(old: Path, new: Path) -> Path:
    new.parent.mkdir(parents=True, exist_ok=True)
    os.rename(old, new)
    return new


def keys(runs: Path) -> set[str]:
    """Every store key, checked to be the same in both tables."""
    database = apsw.Connection(f"file:{runs / 'sessions.db'}?mode=ro", flags=apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_READONLY)  # fmt: skip
    try:
        found = {r[0] for r in database.execute("SELECT DISTINCT store_key FROM entries")}
        assert found == {r[0] for r in database.execute("SELECT store_key FROM meta")}
        return found
    finally:
        database.close()


def projects(runs: Path) -> set[str]:
    return {key.split("/")[0] for key in keys(runs)}


def carry_out(workspace: Path, old: str | None = None) -> None:
    runs = workspace / "runs"
    adopt(runs, plan_adoption(workspace, runs, old).adoption)


def test_sessions_lineage_and_project_follow(used: Path, tmp_path: Path) -> None:
    before, ident = Books.read(used / "runs", used).steps, project_id(used)
    new = move(used, tmp_path / "new place" / "proj")
    assert Books.read(new / "runs", new).steps == {}
    carry_out(new)
    assert Books.read(new / "runs", new).steps == before
    assert projects(new / "runs") == {project_key_for_directory(str(new))}
    assert any(key.endswith(AGENT) for key in keys(new / "runs"))
    assert known_paths(new / "runs") == {str(new): ident}
    told: list[str] = []
    lineage = Lineage.open(new / "runs", new, notice=told.append)
    assert (lineage.steps, lineage.woke, told) == (before, 2, [])


def test_planning_changes_nothing(used: Path, tmp_path: Path) -> None:
    new = move(used, tmp_path / "new")
    before = snapshot(new)
    plan = plan_adoption(new, new / "runs", None)
    assert len(plan.adoption.sessions) == 2 and set(plan.steps) == {"step subagent", "step tools"}
    assert snapshot(new) == before


def test_a_lineage_begun_meanwhile_is_put_aside(used: Path, tmp_path: Path) -> None:
    before = Books.read(used / "runs", used).steps
    new = move(used, tmp_path / "new")
    lineage = Lineage.open(new / "runs", new, notice=lambda line: None)
    lineage.remember("step tools", "0" * 8, exists=lambda s: False, held=lambda s: False)
    plan = plan_adoption(new, new / "runs", None)
    assert plan.replaced == {"step tools": "0" * 8}
    adopt(new / "runs", plan.adoption)
    assert Books.read(new / "runs", new).steps == before
    assert not list((new / "runs").glob("lineage.json.foreign-*"))
    [kept] = (new / "runs").glob("lineage.json.replaced-*")
    assert json.loads(kept.read_text())["steps"] == {"step tools": "0" * 8}


def test_across_a_symbolic_link(used: Path, tmp_path: Path) -> None:
    before = Books.read(used / "runs", used).steps
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    move(used, tmp_path / "disk" / "proj")
    through = tmp_path / "link" / "proj"
    carry_out(through)
    assert Books.read(through / "runs", tmp_path / "disk" / "proj").steps == before
    assert projects(through / "runs") == {project_key_for_directory(str(tmp_path / "disk" / "proj"))}


def test_into_a_path_with_the_same_key(tmp_path: Path) -> None:
    old = make(tmp_path / "a" / "b-c")
    before, stored = Books.read(old / "runs", old).steps, keys(old / "runs")
    new = move(old, tmp_path / "a" / "b" / "c")
    assert project_key_for_directory(str(old)) == project_key_for_directory(str(new))
    carry_out(new)
    assert Books.read(new / "runs", new).steps == before and keys(new / "runs") == stored


def test_the_conversations_of_a_directory_with_the_same_key_stay(tmp_path: Path) -> None:
    """Two projects, one run directory, one key: only those that are known to be of the moved one go."""
    one, two = tmp_path / "p" / "x-y", tmp_path / "p" / "x" / "y"
    make(one)
    two.mkdir(parents=True)
    runs = one / "runs"
    theirs = fill(runs, two, ["thinking"])["thinking"]
    bind_project(two, runs)
    new = move(one, tmp_path / "elsewhere")
    plan = plan_adoption(new, new / "runs", str(one))
    assert plan.left == 1
    adopt(new / "runs", plan.adoption)
    assert f"{project_key_for_directory(str(two))}/{theirs}" in keys(new / "runs")
    assert known_paths(new / "runs").keys() == {str(two), str(new)}


def test_books_of_an_older_system_follow_though_its_key_was_another_machines(tmp_path: Path) -> None:
    runs, new = tmp_path / "runs", tmp_path / "here"
    new.mkdir()
    build_seed_books(runs, Path("/Users/you/proj"))
    plan = plan_adoption(new, runs, None)
    adopt(runs, plan.adoption)
    assert keys(runs) == {
        f"{project_key_for_directory(str(new))}/{SESSION}{rest}" for rest in ("", "/subagents/agent-1")
    }
    assert PROJECT not in projects(runs) and wake_state(new, run_dir=runs)["steps"] == {"干活": SESSION}


def test_what_cannot_be_meant_is_refused(used: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to adopt"):
        plan_adoption(used, used / "runs", None)
    with pytest.raises(UsageError, match="nothing of"):
        plan_adoption(used, used / "runs", "/never/was")
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(
        UsageError, match="still there"
    ):  # Its books, its directory: not to be taken by accident.
        plan_adoption(other, used / "runs", None)
    assert plan_adoption(other, used / "runs", str(used)).steps


def test_another_projects_books_are_refused(used: Path, tmp_path: Path) -> None:
    new = move(used, tmp_path / "new")
    (new / ".flower" / "project.json").write_text('{"id": "0e0e0e0e-0000-4000-8000-000000000000"}')
    with pytest.raises(BooksForeign):
        plan_adoption(new, new / "runs", None)


class Killing(files.Ops):
    """Ends the process at the n-th change of a file or row, before it happens."""

    def __init__(self, n: int) -> None:
        self.left = n

    def count(self) -> None:
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self.count()
        return super().write(fd, data)

    def fsync(self, fd: int) -> None:
        self.count()
        super().fsync(fd)

    def replace(self, source: str, target: str) -> None:
        self.count()
        super().replace(source, target)

    def unlink(self, path: str) -> None:
        self.count()
        super().unlink(path)


def killed_at(n: int, runs: Path, plan: Adoption) -> bool:
    """Adopt in a child that is killed at its n-th change; False if it came to its end before that."""
    pid = os.fork()
    if pid == 0:
        ops = Killing(n)
        files.ops = ops
        move_one: Callable[..., Any] = adoption._rekey

        def rekey(*arguments: Any) -> None:
            ops.count()
            move_one(*arguments)
            ops.count()

        adoption._rekey = rekey  # type: ignore[assignment]
        try:
            adopt(runs, plan)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def test_killed_anywhere_it_is_all_or_nothing(used: Path, tmp_path: Path) -> None:
    before, old_key = Books.read(used / "runs", used).steps, projects(used / "runs")
    moved = move(used, tmp_path / "moved")
    lineage = Lineage.open(moved / "runs", moved, notice=lambda line: None)
    lineage.remember("step tools", "0" * 8, exists=lambda s: False, held=lambda s: False)
    pristine = move(moved, tmp_path / "pristine")
    nothing = everything = 0
    for n in range(200):
        shutil.copytree(pristine, moved, symlinks=True)
        runs, new_key = moved / "runs", project_key_for_directory(str(moved))
        killed = killed_at(n, runs, plan_adoption(moved, runs, None).adoption)
        pending = pending_adoption(runs) is not None
        seen = wake_state(moved, run_dir=runs)["steps"]
        assert projects(runs) in (old_key, {new_key}), "the sessions move together"
        steps = Lineage.open(runs, moved, notice=lambda line: None).steps
        assert pending_adoption(runs) is None
        if steps == before:
            everything += 1
            assert seen == before and projects(runs) == {new_key}
            assert known_paths(runs).keys() == {str(moved)}
        else:
            nothing += 1
            assert not pending and steps == seen == {"step tools": "0" * 8} and projects(runs) == old_key
            carry_out(moved)  # And it can be tried again.
            assert Books.read(runs, moved).steps == before
        shutil.rmtree(moved)
        if not killed:
            break
    assert not killed and nothing >= 2 and everything >= 6
