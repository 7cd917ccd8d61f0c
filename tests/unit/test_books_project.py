"""Books that belong to another project are refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from flower.books.ignore import hide
from flower.books.project import bind_project, project_id
from flower.model import BooksError, BooksForeign
from tests.faults import Fault, faulty_files


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "work").mkdir()
    return tmp_path / "work", tmp_path / "runs"


def test_both_sides_learn_one_id(places: tuple[Path, Path]) -> None:
    work, runs = places
    bound = bind_project(work, runs)
    assert bind_project(work, runs) == bound == project_id(work)


def test_another_project_at_the_same_path_is_refused_and_nothing_changes(places: tuple[Path, Path]) -> None:
    work, runs = places
    bind_project(work, runs)
    shutil.rmtree(work)
    work.mkdir()
    other = bind_project(work, runs.parent / "other-runs")
    before = (runs / "project.json").read_bytes()
    with pytest.raises(BooksForeign) as refused:
        bind_project(work, runs)
    assert refused.value.exit_code == 2 and "\n" not in str(refused.value)
    assert (runs / "project.json").read_bytes() == before and project_id(work) == other


def test_a_fresh_checkout_takes_the_books_id_and_a_moved_one_brings_its_own(
    places: tuple[Path, Path],
) -> None:
    work, runs = places
    bound = bind_project(work, runs)
    shutil.rmtree(work / ".flower")
    assert bind_project(work, runs) == bound == project_id(work)
    moved = work.rename(work.parent / "moved")
    assert bind_project(moved, runs) == bound


def test_damaged_ids_are_kept_aside(places: tuple[Path, Path]) -> None:
    work, runs = places
    bound, told = bind_project(work, runs), []
    (runs / "project.json").write_text("{")
    assert bind_project(work, runs, notice=told.append) == bound and "damaged" in told[0]
    assert len(list(runs.glob("project.json.damaged-*"))) == 1
    (work / ".flower" / "project.json").write_text("")
    assert bind_project(work, runs) == bound == project_id(work)


def test_a_failing_disk_is_one_clear_error_and_harms_nothing(places: tuple[Path, Path]) -> None:
    work, runs = places
    for n in range(1, 60):
        with faulty_files(Fault(n, "ENOSPC")) as fault:
            try:
                bind_project(work, runs)
                hide(runs)
            except BooksError as error:
                assert "\n" not in str(error)
        if not fault.hit:
            break
    assert bind_project(work, runs) == project_id(work)
    assert not list(runs.glob("*damaged*")) and not list(work.glob(".flower/*damaged*"))
    assert (runs / ".gitignore").read_text() == (runs / ".ignore").read_text() == "*\n"


def test_what_a_person_wrote_into_an_ignore_file_stays(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("mine\n")
    hide(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "mine\n"
