"""The workbench: what it lists, what it survives."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flower.agents.workbench import LIST_LIMIT, Workbench, first_message, isolated_root


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path / ".flower", workspace=tmp_path).create()


def test_the_index_shows_descriptions_titles_and_sizes(bench: Workbench) -> None:
    (bench.scripts / "run.sh").write_text("#!/bin/sh\n# desc: starts the server\necho\n")
    (bench.scripts / "other.py").write_text("print('about desc: nothing')\n")
    (bench.notes / "why.md").write_text("\n# Why SQLite\n\ntext\n")
    (bench.artifacts / "log.txt").write_bytes(b"x" * 12345)
    bench.refresh()
    text = bench.index.read_text()
    assert "- `.flower/scripts/run.sh` (41 bytes): starts the server" in text
    assert "- `.flower/scripts/other.py` (29 bytes)\n" in text, "only a comment describes"
    assert "(20 bytes): Why SQLite" in text and "12,345 bytes" in text
    assert text.startswith("# .flower\n")


def test_spill_is_hidden_and_not_listed(bench: Workbench) -> None:
    (bench.spill / "0123.txt").write_text("x")
    assert (bench.spill / ".gitignore").read_text() == "*\n" == (bench.spill / ".ignore").read_text()
    assert bench.listing() == ""


def test_odd_names_stay_on_one_line(bench: Workbench) -> None:
    (bench.notes / "two\nlines\x1b[2J.md").write_text("# \x1b]0;title\n")
    os.close(os.open(os.fsencode(bench.notes) + b"/\xff.md", os.O_CREAT | os.O_WRONLY))
    (bench.notes / "loop").symlink_to(bench.notes)
    os.mkfifo(bench.notes / "pipe.md")
    bench.refresh()
    text = bench.index.read_text(encoding="utf-8")
    assert "two\\nlines\\x1b[2J.md" in text and "\x1b" not in text
    assert bench.problem == "" and len(text.splitlines()) == 6


def test_many_files_are_counted_not_listed(bench: Workbench) -> None:
    for n in range(LIST_LIMIT + 5):
        (bench.notes / f"{n:04}.md").write_text("")
    assert "… and 5 more" in bench.listing()


def test_a_file_that_cannot_be_read_is_listed_as_such(bench: Workbench) -> None:
    path = bench.notes / "locked.md"
    path.write_text("# secret\n")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user reads everything")
    assert "locked.md` (unreadable" in bench.listing()


def test_a_place_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    bench = Workbench(tmp_path / "file" / ".flower", workspace=tmp_path).create()
    assert "\n" not in bench.problem and str(bench.root) in bench.problem
    bench.refresh()
    assert bench.listing() == "" and bench.snapshot() == {}
    assert first_message("p", bench) == "p"


def test_changes_since_a_snapshot(bench: Workbench) -> None:
    (bench.notes / "a.md").write_text("# A\n")
    (bench.notes / "b.md").write_text("# B\n")
    before = bench.snapshot()
    assert bench.changes(before) == ("", before)
    (bench.notes / "a.md").write_text("# A changed\n")
    (bench.notes / "b.md").unlink()
    (bench.scripts / "c.sh").write_text("# desc: new one\n")
    text, _ = bench.changes(before)
    assert text.splitlines() == [
        "- changed: `.flower/notes/a.md` (12 bytes): A changed",
        "- new: `.flower/scripts/c.sh` (16 bytes): new one",
        "- gone: notes/b.md",
    ]


def test_an_unchanged_index_is_not_written_again(bench: Workbench) -> None:
    before = bench.index.stat().st_mtime_ns
    inode = bench.index.stat().st_ino
    bench.refresh()
    assert (bench.index.stat().st_mtime_ns, bench.index.stat().st_ino) == (before, inode)


def test_a_lost_index_comes_back(bench: Workbench) -> None:
    (bench.notes / "a.md").write_text("# A\n")
    bench.refresh()
    bench.index.unlink()
    bench.refresh()
    assert "a.md" in bench.index.read_text()


def test_the_first_message_brings_what_is_there(bench: Workbench) -> None:
    assert first_message("do it", bench) == "do it"
    (bench.notes / "a.md").write_text("# A\n")
    assert first_message("do it", bench).endswith("do it") and "notes/a.md" in first_message("do it", bench)
    assert first_message("do it", None) == "do it"


def test_outside_of_the_workspace_paths_are_absolute(tmp_path: Path) -> None:
    workspace = tmp_path / "proj"
    bench = Workbench(isolated_root(workspace), workspace=workspace).create()
    assert bench.root == tmp_path / ".flower-proj"
    assert f"`{bench.root}/scripts/`" in bench.rules()
