"""``from flower import …``: every name is there, and asking for none of them costs anything."""

from __future__ import annotations

import subprocess
import sys

import pytest

import flower

HEAVY = ("claude_agent_sdk", "mcp", "anyio", "apsw", "psutil", "click", "flower.runtime")


@pytest.mark.parametrize("name", flower.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(flower, name) is not None


def test_the_list_is_sorted_and_dir_shows_it() -> None:
    assert flower.__all__ == sorted(flower.__all__)
    assert set(flower.__all__) <= set(dir(flower))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        flower.nothing  # noqa: B018


def imported_by(code: str) -> set[str]:
    """The heavy modules that a fresh interpreter has loaded after running the code."""
    ask = f"import sys\n{code}\nprint(*[m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_importing_flower_imports_nothing_heavy() -> None:
    assert imported_by("import flower") == set()


def test_the_version_needs_not_even_click() -> None:
    assert imported_by("from flower.cli.main import main; main(['--version'])") == set()


@pytest.mark.parametrize(
    "words", [["--help"], ["go", "--help"], ["once", "-h"], ["run", "-h"], ["demo", "-h"]]
)
def test_help_needs_neither_the_sdk_nor_the_books(words: list[str]) -> None:
    assert imported_by(f"from flower.cli.main import run; run({words!r})") == {"click"}


def test_a_look_at_a_directory_needs_neither_the_sdk_nor_the_database(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    place = str(tmp_path_factory.mktemp("w"))
    assert imported_by(f"from flower import wake_state; wake_state({place!r})") == set()


def test_the_books_can_be_opened_without_the_sdk() -> None:
    assert "claude_agent_sdk" not in imported_by("from flower import Lineage, SqliteSessionStore, Workflow")


def test_values_and_roles_can_be_made_without_the_sdk() -> None:
    code = "from flower import AgentSpec, Brief, Event, coordinator, worker; coordinator({'w': worker()})"
    assert "claude_agent_sdk" not in imported_by(code)
