"""Step → session across runs: merged, never lost, and set aside rather than guessed at."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from flower.books import files
from flower.books.archive import JOURNAL
from flower.books.lineage import Lineage, plain_step
from tests.faults import Fault, faulty_files


def never(session: str) -> bool:
    return False


def always(session: str) -> bool:
    return True


def opened(books: Path, workspace: Path) -> tuple[Lineage, list[str]]:
    told: list[str] = []
    return Lineage.open(books, workspace, notice=told.append), told


def on_disk(books: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((books / "lineage.json").read_text())
    return content


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("干活", "干活"),
        ("干活#retry2", "干活"),
        ("干活#round13", "干活"),
        ("干活·判定#1", None),
        ("a#b", "a#b"),
    ],
)
def test_names_lose_how_a_step_went(name: str, plain: str | None) -> None:
    assert plain_step(name) == plain


def test_it_is_on_disk_at_once_and_the_next_run_finds_it(tmp_path: Path) -> None:
    lineage, told = opened(tmp_path / "runs", tmp_path)
    assert lineage.wake() == 1
    assert lineage.remember("干活#round2", "s1", exists=never, held=never)
    assert not lineage.remember("干活·判定#1", "judge", exists=always, held=never)
    assert on_disk(tmp_path / "runs") == {"workspace": str(tmp_path), "woke": 1, "steps": {"干活": "s1"}}
    again, _ = opened(tmp_path / "runs", tmp_path)
    assert again.wake() == 2 and again.steps == {"干活": "s1"} and told == []


def test_a_session_with_entries_is_replaced_only_by_one_with_entries(tmp_path: Path) -> None:
    lineage, _ = opened(tmp_path, tmp_path)
    lineage.remember("a", "old", exists=never, held=never)
    stored = {"old"}
    assert not lineage.remember("a", "new", exists=stored.__contains__, held=never)
    assert on_disk(tmp_path)["steps"] == {"a": "old"} and lineage.pending == {"a": "new"}
    stored.add("new")
    lineage.settle(exists=stored.__contains__, held=never)
    assert on_disk(tmp_path)["steps"] == {"a": "new"} and lineage.pending == {}
    assert lineage.remember("a", "third", exists=lambda s: s == "third", held=always)


def test_an_entry_stays_with_the_run_that_drives_its_session(tmp_path: Path) -> None:
    second, _ = opened(tmp_path, tmp_path)
    owner, _ = opened(tmp_path, tmp_path)
    owner.remember("a", "owned", exists=never, held=never)
    assert not second.remember("a", "fork", exists=always, held=always)
    assert second.remember("b", "other", exists=always, held=always)
    owner.remember("c", "third", exists=always, held=never)
    assert on_disk(tmp_path)["steps"] == {"a": "owned", "b": "other", "c": "third"}


def test_books_that_serve_two_places_in_turn_keep_both(tmp_path: Path) -> None:
    one, two, books = tmp_path / "one", tmp_path / "two", tmp_path / "runs"
    for place in (one, two):
        place.mkdir()
    first, _ = opened(books, one)
    first.remember("a", "s1", exists=never, held=never)
    second, told = opened(books, two)
    assert second.steps == {} and len(told) == 1 and str(one) in told[0] and "foreign" in told[0]
    second.remember("a", "s2", exists=never, held=never)
    first.remember("b", "s3", exists=never, held=never)  # Both are live: each finds its own file again.
    second.remember("b", "s4", exists=never, held=never)
    again, told = opened(books, one)
    assert again.steps == {"a": "s1", "b": "s3"} and told == []
    again, told = opened(books, two)
    assert again.steps == {"a": "s2", "b": "s4"} and told == []


def test_a_link_to_the_workspace_is_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    first, _ = opened(tmp_path / "runs", tmp_path / "link")
    first.remember("a", "s", exists=never, held=never)
    assert opened(tmp_path / "runs", tmp_path / "real")[0].steps == {"a": "s"}


@pytest.mark.parametrize(
    "content",
    [
        "",
        '{"workspace": "/x", "woke": 3, "st',
        "[]",
        '{"woke": 1}',
        '{"workspace":"/x","steps":{"a":1}}',
        "\xff",
    ],
)
def test_a_damaged_file_is_kept_and_said(tmp_path: Path, content: str) -> None:
    (tmp_path / "lineage.json").write_bytes(content.encode("latin-1"))
    lineage, told = opened(tmp_path, tmp_path)
    assert lineage.steps == {} and lineage.woke == 0
    [kept] = tmp_path.glob("lineage.json.damaged-*")
    assert kept.read_bytes() == content.encode("latin-1")
    assert len(told) == 1 and kept.name in told[0] and "\n" not in told[0]


def test_keys_it_does_not_know_stay(tmp_path: Path) -> None:
    (tmp_path / "lineage.json").write_text(
        json.dumps({"workspace": str(tmp_path), "woke": 1, "steps": {}, "x": [1]})
    )
    opened(tmp_path, tmp_path)[0].wake()
    assert on_disk(tmp_path) == {"workspace": str(tmp_path), "woke": 2, "steps": {}, "x": [1]}


def test_a_disk_that_fails_does_not_take_the_run_down_and_is_tried_again(tmp_path: Path) -> None:
    lineage, told = opened(tmp_path, tmp_path)
    lineage.wake()
    with faulty_files(Fault(1, "ENOSPC", persistent=True)):
        assert not lineage.remember("a", "s1", exists=never, held=never)
        assert lineage.wake() == 2
    assert lineage.steps == {"a": "s1"} and told and "could not be written" in told[0]
    assert lineage.remember("b", "s2", exists=never, held=never)
    assert on_disk(tmp_path) == {"workspace": str(tmp_path), "woke": 2, "steps": {"a": "s1", "b": "s2"}}


def history(base: Path) -> tuple[Path, Path, list[Path]]:
    books, notes = base / "runs", base / "notes"
    notes.mkdir(parents=True)
    opened(books, base)[0].remember("a", "s1", exists=never, held=never)
    extra = [notes / "需求.md", notes / "目标.md"]
    for path in extra:
        path.write_text(path.name)
    return books, notes, extra


def test_an_archive_takes_all_of_a_history_and_deletes_nothing(tmp_path: Path) -> None:
    books, notes, extra = history(tmp_path)
    lineage, _ = opened(books, tmp_path)
    lineage.wake()
    where = lineage.archive(notes / "archive", extra=[*extra, notes / "missing.md"])
    assert where.parent == notes / "archive"
    assert {p.name for p in where.iterdir()} == {"lineage.json", "需求.md", "目标.md"}
    assert not any(p.exists() for p in (books / "lineage.json", *extra))
    assert lineage.steps == {} and lineage.wake() == 1
    assert lineage.archive(notes / "archive") != where
    assert not (books / JOURNAL).exists()


def test_an_archive_cut_anywhere_is_completed_by_the_next_start(tmp_path: Path) -> None:
    for n in range(1, 60):
        base = tmp_path / str(n)
        books, notes, extra = history(base)
        lineage, _ = opened(books, base)
        with faulty_files(Fault(n, "EIO", persistent=True)) as fault:
            try:
                lineage.archive(notes / "archive", extra=extra)
                cut = False
            except OSError:
                cut = True
        begun = (books / JOURNAL).exists()
        again, _ = opened(books, base)
        left = {p.name for p in (books / "lineage.json", *extra) if p.exists()}
        moved = {p.name for p in notes.glob("archive/*/*")}
        # All together on one side or the other, with nothing lost.
        everything = {"lineage.json", *(p.name for p in extra)}
        assert (left, moved) in [(everything, set()), (set(), everything)]
        assert again.steps == ({"a": "s1"} if left else {})
        if begun or not cut:
            assert not left
        if not fault.hit:
            return
    pytest.fail("the loop never passed")


def test_an_archive_crosses_file_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    books, notes, extra = history(tmp_path)
    real = files.Ops.replace

    def other_device(self: files.Ops, source: str, target: str) -> None:
        if os.path.dirname(source) != os.path.dirname(target):
            raise OSError(18, "Invalid cross-device link")
        real(self, source, target)

    monkeypatch.setattr(files.Ops, "replace", other_device)
    where = opened(books, tmp_path)[0].archive(notes / "archive", extra=extra)
    assert (where / "需求.md").read_text() == "需求.md" and not extra[0].exists()
