"""The help in docs/cli.md is the help that the command prints."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
import pytest

from flower.cli.arguments import COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def help_of(name: str) -> str:
    """The help text as printed on a terminal of 100 columns."""
    from flower.cli.group import flower

    group = click.Context(flower, info_name="flower", terminal_width=100, max_content_width=100)
    if not name:
        return flower.get_help(group)
    command = flower.get_command(group, name)
    assert command is not None
    inner = click.Context(command, parent=group, info_name=name, terminal_width=100, max_content_width=100)
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


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
    sys.exit(0)
