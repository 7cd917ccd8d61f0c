"""Large results leave a pointer and their beginning, in the result's own shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flower.agents.access import Access
from flower.agents.hooks.call import Call
from flower.agents.hooks.spill import spill_guard
from flower.agents.spec import AgentSpec
from flower.agents.workbench import Workbench

LONG = "0123456789" * 600
READER = AgentSpec("reader", allowed_tools=["Read", "Bash"])


def guard(access: Access, tool: str, response: Any, spec: AgentSpec = READER, **given: Any) -> Any:
    return spill_guard(spec, access, Call(tool, given, access.workspace), response)


@pytest.fixture
def access(tmp_path: Path) -> Access:
    return Access(tmp_path, tmp_path / "runs")


def test_the_shape_stays(access: Access) -> None:
    response = {"stdout": LONG, "stderr": "warning", "interrupted": False, "isImage": False}
    short = guard(access, "Bash", response)
    assert set(short) == set(response) and short["stderr"] == "warning"
    line, _, head = short["stdout"].partition("\n")
    assert "6000 characters" in line and head == LONG[:400]
    assert response["stdout"] == LONG, "the original is not touched"
    (file,) = access.spill_dir.glob("*.txt")
    assert (
        file.read_text() == LONG and len(file.stem) == 16 and str(file.relative_to(access.workspace)) in line
    )
    assert (
        (access.spill_dir / ".ignore").read_text() == "*\n" == (access.spill_dir / ".gitignore").read_text()
    )


def test_exactly_the_threshold_stays(access: Access) -> None:
    assert guard(access, "Bash", {"stdout": "x" * 4000}) is None
    assert guard(access, "Bash", {"stdout": "x" * 4001}) is not None


def test_several_middling_texts_count_together(access: Access) -> None:
    short = guard(access, "Bash", {"stdout": "x" * 3000, "stderr": "y" * 2000})
    assert len(short["stdout"]) < 600 and short["stderr"] == "y" * 2000


def test_a_long_list_of_names_is_one_text(access: Access) -> None:
    names = [f"directory/file-{n}.py" for n in range(500)]
    short = guard(access, "Glob", {"filenames": names, "numFiles": 500})
    assert short["numFiles"] == 500 and all(isinstance(n, str) for n in short["filenames"])
    assert sum(map(len, short["filenames"])) < 600
    (file,) = access.spill_dir.glob("*.txt")
    assert file.read_text().splitlines() == names


def test_images_and_edits_stay(access: Access) -> None:
    assert guard(access, "Read", {"type": "image", "file": {"base64": LONG}}) is None
    assert guard(access, "Edit", {"originalFile": LONG, "newString": LONG}) is None
    assert guard(access, "mcp__human__ask", [{"type": "text", "text": LONG}]) is None


def test_a_spill_file_can_be_read_and_an_editor_sees_its_text(access: Access) -> None:
    response = {"type": "text", "file": {"filePath": "x", "content": LONG}}
    assert guard(access, "Read", response, file_path="x") is not None
    assert guard(access, "Read", response, file_path=".flower/spill/0123456789abcdef.txt") is None
    assert (
        guard(access, "Read", response, AgentSpec("e", allowed_tools=["Read", "Edit"]), file_path="x") is None
    )


def test_switched_off_and_unwritable_leave_the_result(access: Access, tmp_path: Path) -> None:
    (tmp_path / ".flower").write_text("in the way")
    assert guard(access, "Bash", {"stdout": LONG}) is None
    access.spill_threshold = 0
    assert guard(access, "Bash", {"stdout": LONG}) is None


def test_a_workbench_has_its_own_place(tmp_path: Path) -> None:
    bench = Workbench(tmp_path / "elsewhere", workspace=tmp_path / "w").create()
    access = Access(tmp_path / "w", tmp_path / "runs", bench)
    short = guard(access, "Bash", {"stdout": LONG})
    assert str(bench.spill) in short["stdout"], "outside of the workspace the path is absolute"


def test_stray_surrogates_do_not_stop_it(access: Access) -> None:
    assert guard(access, "Bash", {"stdout": "\ud800" + LONG}) is not None
