"""Which word is the command, and where options may stand."""

from __future__ import annotations

import pytest

from flower.cli.arguments import COMMANDS, asks_for_version, value_of, with_command

CASES = [
    (["make a page"], ["go", "make a page"]),
    ([], ["go"]),
    (["-v"], ["-v", "go"]),
    (["--new", "else"], ["go", "--new", "else"]),
    (["-w", "once", "make it"], ["-w", "once", "go", "make it"]),
    (["--workspace", "run", "once", "hi"], ["--workspace", "run", "once", "hi"]),
    (["--workspace=x", "hi"], ["--workspace=x", "go", "hi"]),
    (["-wDIR", "hi"], ["-wDIR", "go", "hi"]),
    (["-vw", "DIR", "hi"], ["-vw", "DIR", "go", "hi"]),
    (["-vwDIR", "run", "f:x"], ["-vwDIR", "run", "f:x"]),
    (["--lang", "zh", "setup"], ["--lang", "zh", "setup"]),
    (["--json", "demo"], ["--json", "demo"]),
    (["-WT", "once", "hi"], ["-WT", "once", "hi"]),
    (["go", "run"], ["go", "run"]),
    (["--asks", "3", "run"], ["go", "--asks", "3", "run"]),
    (["-h"], ["-h"]),
    (["--help"], ["--help"]),
    (["--version"], ["--version"]),
    (["--", "-x"], ["go", "--", "-x"]),
    (["-"], ["go", "-"]),
    (["-w"], ["-w", "go"]),
]


@pytest.mark.parametrize(("words", "expected"), CASES, ids=lambda words: " ".join(words) or "nothing")
def test_go_is_put_before_the_first_word_that_is_no_command(words: list[str], expected: list[str]) -> None:
    assert with_command(words) == expected


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_reachable(name: str) -> None:
    assert with_command([name, "x"]) == [name, "x"]
    assert with_command(["-v", "-r", "books", name]) == ["-v", "-r", "books", name]


def test_the_language_is_known_before_options_are_parsed() -> None:
    assert value_of("--lang", ["go", "--lang", "ko", "x"]) == "ko"
    assert value_of("--lang", ["--lang=zh", "x"]) == "zh"
    assert value_of("--lang", ["go", "--", "--lang", "zh"]) is None
    assert value_of("--lang", ["--lang"]) is None


def test_a_version_is_asked_for_only_among_the_options_before_the_command() -> None:
    assert asks_for_version(["-v", "--version"])
    assert not asks_for_version(["what does --version do?"])
    assert not asks_for_version(["go", "--version"])
