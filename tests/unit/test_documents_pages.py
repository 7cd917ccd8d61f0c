"""The manual's examples are read as the manual says."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from flower.config.grammar import parse
from flower.documents import Brief, Goal, Verdict, amendments, language

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, first: str) -> list[str]:
    """The indented examples of a page that begin with this line."""
    text = (DOCS / page).read_text()
    found = re.findall(r"(?:^(?: {4}.*)?\n)+", text, re.MULTILINE)
    plain = [textwrap.dedent(block).strip("\n") + "\n" for block in found]
    return [block for block in plain if block.startswith(first)]


@pytest.mark.parametrize(("title", "lang"), [("# Brief", "en"), ("# 需求", "zh"), ("# 요구사항", "ko")])
def test_the_briefs(title: str, lang: str) -> None:
    [text] = blocks("documents.md", title)
    assert Brief.parse(text).complete and language(text) == lang
    assert len(amendments(text)) == 1


def test_the_goal() -> None:
    [text] = blocks("documents.md", "## Goal")
    goal = Goal.parse(text)
    assert len(goal.checks) == 3 and list(goal.unverifiable) == [3]


def test_the_verdict() -> None:
    [text] = blocks("documents.md", "## Conclusion")
    verdict = Verdict.parse(text, checks=3)
    assert verdict.conclusion == "not_yet" and not verdict.problem
    assert [status for status, _evidence in verdict.checks.values()] == ["pass", "fail", "cannot"]


def test_the_words_of_the_verdict() -> None:
    rows = re.findall(
        r"^\| (?:English|Chinese|Korean) \|(.*)\|$", (DOCS / "documents.md").read_text(), re.MULTILINE
    )
    tables = [[cell.strip() for cell in row.split("|")] for row in rows]
    tables = [cells for cells in tables if len(cells) == 4]
    assert len(tables) == 3
    for achieved, not_yet, unreachable, checks in tables:
        for words, outcome in ((achieved, "achieved"), (not_yet, "not_yet"), (unreachable, "unreachable")):
            for word in words.split(", "):
                assert Verdict.parse(f"Conclusion: {word}").conclusion == outcome
        for word, status in zip(checks.split(" · "), ("pass", "fail", "cannot"), strict=True):
            assert Verdict.parse(f"1. {word}: x").checks == {1: (status, "x")}


def test_the_grammar_of_env_files() -> None:
    table = (DOCS / "configuration.md").read_text().split("## The grammar")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`A.*`) \| `([^`]*)`", table, re.MULTILINE)
    assert len(rows) >= 7
    for lines, value in rows:
        for line in re.findall(r"`([^`]*)`", lines):
            assert parse(line, "x").values == {"A": value}, line
