"""The goal: a statement, numbered checks, and the digest of the brief they stem from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower.documents.brief import LANGUAGES, append_amendment, brief_digest
from flower.documents.goal import Check, Goal

BRIEF = "## Goal\na\n## Acceptance\nb\n## Boundaries\nc\n## Unknowns\nd\n"


@pytest.mark.parametrize(
    ("checks", "texts"),
    [
        ("1. a\n2. b", ["a", "b"]),
        ("1) a\n2) b", ["a", "b"]),
        ("1、甲\n2、乙", ["甲", "乙"]),
        ("（1）甲\n（2）乙", ["甲", "乙"]),
        ("- a\n- b", ["a", "b"]),
        ("* [ ] a\n* [x] b", ["a", "b"]),
        ("1. a\n   - detail\n   more\n\n2. b\n- detail", ["a\n- detail\nmore", "b\n- detail"]),
        ("Here they are:\n1. a\n1. b", ["a", "b"]),
        ("1. a\n```\n2. not this\n```\n2. b", ["a", "b"]),
        ("1. exits with 0. 2. is not a new check", ["exits with 0. 2. is not a new check"]),
        ("1. version is 3.11\n2. `1.5` is printed", ["version is 3.11", "`1.5` is printed"]),
        ("just prose", []),
    ],
)
def test_checks_are_the_items_of_a_list(checks: str, texts: list[str]) -> None:
    goal = Goal.parse(f"## Goal\nship\n\n## Checks\n{checks}\n")
    assert [check.text for check in goal.checks] == texts
    assert goal.complete == bool(texts)


@pytest.mark.parametrize(
    ("text", "rest", "why"),
    [
        ("[cannot be verified here: no GPU] fast", "fast", "no GPU"),
        ("fast [Cannot be verified here]", "fast", ""),
        ("[can't be verified here：no GPU] fast", "fast", "no GPU"),
        ("(not verifiable here: no GPU) fast", "fast", "no GPU"),
        ("[此环境无法验证:没有显卡] 够快", "够快", "没有显卡"),
        ("［此环境无法验证：没有显卡］够快", "够快", "没有显卡"),
        ("【此环境无法验证：没有显卡】够快", "够快", "没有显卡"),
        ("够快（此环境无法验证）", "够快", ""),
        ("[이 환경에서 검증 불가:GPU 없음] 빠름", "빠름", "GPU 없음"),
        ("빠름 [이 환경에서는 검증 불가：GPU [A100] 없음]", "빠름", "GPU [A100] 없음"),
        ("[cannot be verified here: the whole check]", "the whole check", "the whole check"),
    ],
)
def test_the_mark_for_what_cannot_be_verified_here(text: str, rest: str, why: str) -> None:
    assert Check.parse(text) == Check(rest, True, why)
    assert Goal.parse(f"Goal: x\nChecks:\n1. ok\n2. {text}").unverifiable == {2: Check(rest, True, why)}


def test_a_check_that_talks_about_verifying_is_not_marked() -> None:
    for text in ("what cannot be verified here is listed", "[x] done", "说明此环境无法验证的部分"):
        assert Check.parse(text) == Check(text)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_what_is_rendered_is_read_back(lang: str) -> None:
    checks = [Check("runs"), Check("fast", True, "no GPU"), Check("says\nhello")]
    goal = Goal("ship it", checks, brief_digest(BRIEF))
    assert Goal.parse(goal.render(lang)) == goal
    assert Goal.parse(goal.render(lang).replace("\n", "\r\n")) == goal
    assert goal.render(lang).splitlines()[-1] == f"<!-- Brief: sha256:{brief_digest(BRIEF)} -->"


_text = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), min_size=1).map(str.strip)


@given(st.lists(st.builds(Check, _text.filter(bool), st.booleans(), st.just("")), min_size=1, max_size=5))
def test_rendering_keeps_the_number_of_checks(checks: list[Check]) -> None:
    goal = Goal.parse(Goal("s", checks, "ab" * 32).render("en"))
    assert len(goal.checks) == len(checks)
    assert goal.brief_digest == "ab" * 32
    assert all(
        parsed.unverifiable >= check.unverifiable for parsed, check in zip(goal.checks, checks, strict=True)
    )


@pytest.mark.parametrize(
    "text", ["", "## Goal\nx", "## Checks\n1. a", "## Goal\n\n## Checks\n1. a", "```\n## Goal\nx"]
)
def test_incomplete(text: str) -> None:
    assert not Goal.parse(text).complete


def test_derived_from_this_very_brief() -> None:
    goal = Goal("s", [Check("a")], brief_digest(BRIEF))
    assert goal.derived_from(BRIEF)
    assert Goal.parse(goal.render("zh")).derived_from(BRIEF.replace("\n", "\r\n"))
    assert not goal.derived_from(append_amendment(BRIEF, "more"))
    assert not goal.derived_from(BRIEF.replace("a", "x"))


def test_a_file_without_a_digest_is_trusted_until_something_was_added_to_the_brief() -> None:
    old = Goal.parse("## 目标\n发布\n\n## 判定清单\n1. 能跑\n")
    assert old.complete and old.brief_digest == ""
    assert old.derived_from(BRIEF)
    assert not old.derived_from(append_amendment(BRIEF, "more"))


@pytest.mark.parametrize(
    "line", ["Brief: sha256:{}", "<!-- brief: SHA256: {} -->", "**Brief**: x\nBrief：sha256 {}"]
)
def test_the_digest_line_may_be_visible(line: str) -> None:
    digest = brief_digest(BRIEF)
    goal = Goal.parse(f"## Goal\nx\n## Checks\n1. a\n\n{line.format(digest)}\n")
    assert goal.brief_digest == digest
    assert digest not in goal.checks[-1].text


def test_long_lines_are_read_in_linear_time() -> None:
    for filler in (" ", "[", "(", "[x] ", "1. ", "[cannot be verified here: ", "Brief: sha256 "):
        Goal.parse(f"Goal: x\nChecks:\n1. a {filler * 20_000}z")
