"""The document on disk and the register of who succeeded whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from flower.runtime.papers import Papers, Register, Succession

ONE, TWO = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
TEXT = "# Handoff\n\n## Doing\n\na\n\n## Next\n\nb\n"


def papers(tmp_path: Path) -> Papers:
    return Papers(tmp_path / "notes", tmp_path / "notes" / "archive" / "交接")


def test_a_frozen_document_is_read_back_and_the_old_one_kept(tmp_path: Path) -> None:
    place = papers(tmp_path)
    path = place.path("干活#round2")
    assert path.name == "交接-干活.md" and place.read(path) is None
    place.freeze(path, TEXT, ONE, 1)
    paper = place.freeze(path, TEXT.replace("b", "c"), TWO, 2)
    assert place.read(path) == paper and (paper.session, paper.generation, paper.complete) == (TWO, 2, True)
    again = place.freeze(path, TEXT, TWO, 3)
    kept = sorted((tmp_path / "notes" / "archive" / "交接").iterdir())
    assert (
        len(kept) == 2
        and again.generation == 3
        and f"of {ONE}, generation 1" in "".join(k.read_text() for k in kept)
    )


@pytest.mark.parametrize("cut", range(1, 120, 7))
def test_what_is_cut_off_is_never_taken_for_whole(tmp_path: Path, cut: int) -> None:
    place = papers(tmp_path)
    path = place.path("work")
    place.freeze(path, TEXT, ONE, 1)
    whole = path.read_text()
    path.write_text(whole[: len(whole) - 1 - cut])
    paper = place.read(path)
    assert paper is not None and not paper.complete


def test_a_persons_edits_count_and_what_they_break_is_seen(tmp_path: Path) -> None:
    place = papers(tmp_path)
    path = place.path("work")
    before = place.freeze(path, TEXT, ONE, 1)
    path.write_text(path.read_text().replace("b\n", "quite another thing\n") + "\n\n")
    edited = place.read(path)
    assert (
        edited is not None
        and edited.complete
        and "another thing" in edited.text
        and edited.digest != before.digest
    )
    path.write_text(path.read_text().replace("## Next", "## Later"))
    broken = place.read(path)
    assert broken is not None and broken.session == ONE and not broken.complete


def test_any_step_name_makes_a_file_name(tmp_path: Path) -> None:
    place = papers(tmp_path)
    names = ["a/b", "..", "x\n", "干活" * 60, "干活·判定#1", "-"]
    for name in names:
        place.freeze(place.path(name), TEXT, ONE, 1)
        assert place.path(name).parent == tmp_path / "notes"
    assert place.path("干活·判定#1").name == "交接-干活·判定#1.md"
    assert place.path("work", beside=TWO).name == "交接-work-22222222.md"


def test_the_register_knows_both_ends(tmp_path: Path) -> None:
    register = Register(tmp_path / "handoff")
    assert register.successor(ONE) is None and register.heard(TWO) is None
    register.note(ONE, Succession(TWO, 1, "/p", "d"))
    assert register.successor(ONE) == register.heard(TWO) == Succession(TWO, 1, "/p", "d")
    register.hear(TWO, "e")
    assert register.heard(TWO) == Succession(TWO, 1, "/p", "e")
    (tmp_path / "handoff" / f"{ONE}.json").write_text("{")
    assert register.successor(ONE) is None
