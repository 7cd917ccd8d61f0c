"""The help in docs/cli.md is the help that the command prints; it fits a screen, and its examples are possible."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from flower.cli.arguments import COMMANDS, with_command
from flower.cli.group import flower
from flower.cli.helping import EXAMPLES, command_groups
from flower.cli.terminal import width

WIDTH, ROWS = 80, 40
PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def help_of(name: str) -> str:
    """The help text as printed on a terminal of 80 columns."""
    group = click.Context(flower, info_name="flower", terminal_width=WIDTH, max_content_width=WIDTH)
    if not name:
        return flower.get_help(group)
    command = flower.get_command(group, name)
    assert command is not None
    inner = click.Context(
        command, parent=group, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH
    )
    return command.get_help(inner)


def block(name: str) -> str:
    title = f"flower {name}".strip()
    return f"<!-- help: {title} -->\n```text\n{help_of(name)}\n```\n<!-- end -->"


def updated(page: str) -> str:
    """The page with every help block as it is now."""
    for name in ("", *COMMANDS):
        title = re.escape(f"<!-- help: {f'flower {name}'.strip()} -->")
        page = re.sub(rf"{title}.*?<!-- end -->", lambda _match, n=name: block(n), page, flags=re.DOTALL)
    return page


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_the_page_shows_the_help_of_every_command(name: str) -> None:
    assert block(name) in PAGE.read_text("utf-8"), "run: python -m tests.unit.test_cli_docs"


def too_large() -> list[str]:
    """Commands whose help does not fit, in the language of this process. Examples may be long: they are copied."""
    found = []
    for name in ("", *COMMANDS):
        lines = help_of(name).splitlines()
        wide = [line for line in lines if width(line) > WIDTH and not line.startswith("  flower ")]
        if len(lines) > ROWS or wide or any(line.endswith("...") for line in lines[1:]):
            found.append(f"{name}: {len(lines)} lines {wide}")
    return found


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
def test_help_fits_a_screen(language: str) -> None:
    """The words are chosen when a command is loaded: each language needs a process of its own."""
    code = "from tests.unit.test_cli_docs import too_large; print(*too_large(), sep='\\n', end='')"
    env = {**os.environ, "FLOWER_LANG": language}
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_command_stands_in_one_group_and_has_an_example() -> None:
    grouped = [name for _title, names in command_groups() for name in names]
    assert sorted(grouped) == sorted(COMMANDS)
    assert set(EXAMPLES) == {"", *COMMANDS}


@pytest.mark.parametrize("line", [line for lines in EXAMPLES.values() for line in lines])
def test_an_example_can_be_typed(line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words = shlex.split(line.partition(" >")[0])[1:]
    parent = click.Context(flower, info_name="flower")
    rest = with_command(words)
    at = next(n for n, word in enumerate(rest) if word in COMMANDS)
    command = flower.get_command(parent, rest[at])
    assert command is not None
    existing = tmp_path / "file"
    existing.touch()
    arguments = [
        str(existing) if word.endswith(".jsonl") and "/" in word else word for word in rest[at + 1 :]
    ]
    command.make_context(rest[at], arguments, parent=parent)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
    sys.exit(0)
