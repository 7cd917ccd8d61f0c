"""Every command line of the manual is one that the command it names understands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from flower.cli.arguments import first_word, with_command
from flower.cli.group import flower
from flower.cli.options import Invocation

ROOT = Path(__file__).parents[2]


def command_lines() -> list[str]:
    """What a reader is told to type, a line each; those with words left out are passed over."""
    found = set()
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for line in page.read_text("utf-8").splitlines():
            typed = re.match(r"(?: {4}|\$ )?flower (?=[a-z\"-])(.*)", line)
            if typed and not re.search(r"  (?=\S)|[…<]|\.\.\.", typed[1].split("#")[0].rstrip()):
                found.add(typed[1])
    return sorted(found)


@pytest.mark.parametrize("line", command_lines())
def test_what_the_manual_says_to_type_is_understood(line: str) -> None:
    words = with_command(shlex.split(re.split(r" [|>&]", line)[0], comments=True))
    at = first_word(words)
    if at == len(words):
        return  # Help and version are no command's.
    command = flower.get_command(click.Context(flower), words[at])
    assert command is not None
    try:
        command.make_context(words[at], [*words[:at], *words[at + 1 :]], obj=Invocation(None))
    except click.BadParameter as problem:
        assert "does not exist" in problem.message, "a file of the reader's own"
