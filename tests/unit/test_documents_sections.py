"""The heading parser: what is a heading, where a section ends, what code does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower.documents.sections import HeadingTable, render, scan, sections, shield, without_code

TABLE = HeadingTable(
    {"goal": ("goal", "目标", "목표"), "scope": ("scope", "boundaries and limits", "边界", "경계")}
)


@pytest.mark.parametrize(
    "heading",
    [
        "## Goal",
        "# goal",
        "###### GOAL",
        "##   Goal   ##",
        "   ## Goal",
        "##目标",
        "## 目标：",
        "## Goal:",
        "## Goal.",
        "## 1. Goal",
        "## 一、目标",
        "## **Goal**",
        "## Goal (目标)",
        "## Goal / 목표",
        "**Goal**",
        "**Goal:**",
        "**Goal**:",
        "**目标**：",
        "__Goal__",
        "**1. Goal**",
        "1. **Goal**",
        "Goal:",
        "Goal :",
        "目标：",
        "목표:",
        "\u1106\u1169\u11a8\u1111\u116d:",  # 목표 with its letters decomposed, as macOS writes it
        "ＧＯＡＬ：",
        "1. Goal",
        "3) 目标",
        "2、目标",
        "（2）目标",
        "12. 목표:",
    ],
)
def test_these_are_headings(heading: str) -> None:
    assert sections(f"{heading}\nship it\n", TABLE) == {"goal": "ship it"}


@pytest.mark.parametrize(
    ("line", "body"),
    [
        ("Goal: ship it", "ship it"),
        ("**Goal**: ship it", "ship it"),
        ("**Goal:** ship it", "ship it"),
        ("目标：发布", "发布"),
        ("## Goal: ship it: now", "ship it: now"),
        ("3. 목표: 배포", "배포"),
    ],
)
def test_text_may_follow_in_the_heading_line(line: str, body: str) -> None:
    assert sections(line, TABLE) == {"goal": body}


@pytest.mark.parametrize(
    "line",
    [
        "Goal",
        "- Goal: ship",
        "> ## Goal",
        "    ## Goal",
        "\t## Goal",
        "the goal: ship",
        "Goals and more: ship",
        "**Goal** is a word",
        "## Goal (only if asked)",
        "#Goals",
        "1.Go: x",
        "| Goal: | x |",
        "####### Goal",
        "`## Goal`",
    ],
)
def test_these_are_not(line: str) -> None:
    assert sections(f"{line}\nship it\n", TABLE) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Goal\n\n## Scope\ns\n## Goal\nlater", {"scope": "s", "goal": "later"}),
        ("## Goal\nfirst\n## Goal\nsecond", {"goal": "first"}),
        ("## Goal\na\n### detail\nb\n## Other\nc", {"goal": "a\n### detail\nb"}),
        ("### Goal\na\n## Other\nb", {"goal": "a"}),
        ("Goal: a\n# Other\nb", {"goal": "a"}),
        # A plain line of the same name is text where the key has a real heading, before it or after it.
        ("## Goal\na\nscope: not this\n## Scope\nthis", {"goal": "a\nscope: not this", "scope": "this"}),
        (
            "## Goal\na\n## Scope\ns\nGoal: 100 users\nmore",
            {"goal": "a", "scope": "s\nGoal: 100 users\nmore"},
        ),
        ("Goal: a\nScope: s\nGoal: again", {"goal": "a", "scope": "s\nGoal: again"}),
        ("\ufeff## Goal\r\na\r\nb\r\n", {"goal": "a\nb"}),
        ("## Goal\rold mac", {"goal": "old mac"}),
    ],
)
def test_where_sections_begin_and_end(text: str, expected: dict[str, str]) -> None:
    assert sections(text, TABLE) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```\n## Goal\nx\n```\n## Goal\ny", {"goal": "y"}),
        ("## Goal\na\n```\n## Scope\nx\n```\nb", {"goal": "a\nb"}),
        ("## Goal\na\n```\n## Scope\nx", {"goal": "a"}),
        ("## Goal\na\n~~~\n```\n## Scope\n~~~\n## Scope\ns", {"goal": "a", "scope": "s"}),
        ("## Goal\na\n````\n```\n## Scope\nx\n````\nb", {"goal": "a\nb"}),
        ("## Goal\na\n``` not closed by ``` text\nb", {"goal": "a\n``` not closed by ``` text\nb"}),
        ("## Goal\na\n```py\nx\n``` trailing\n## Scope\ns", {"goal": "a"}),
        ("## Goal\n```\nonly code\n```\n## Scope\ns", {"scope": "s"}),
    ],
)
def test_code_is_not_the_document(text: str, expected: dict[str, str]) -> None:
    assert sections(text, TABLE) == expected


def test_code_may_be_kept_where_it_is_wanted() -> None:
    text = "## Goal\nrun\n```\n## Scope\n```\nthen\n## Scope\ns\n```\nopen"
    assert sections(text, TABLE, keep_code=True) == {"goal": "run\n```\n## Scope\n```\nthen", "scope": "s"}
    assert without_code("a\n```\nb\n```\nc\n```\nd") == "a\nc"


def test_scan_keeps_repeated_and_empty_sections() -> None:
    found = [(s.key, s.level, s.body) for s in scan("## Goal\n\nScope: s\n# Goal\nx", TABLE)]
    assert found == [("goal", 2, ""), ("scope", 7, "s"), ("goal", 1, "x")]


_lines = st.sampled_from(
    [
        "## Goal",
        "Goal: x",
        "**Scope**",
        "scope:",
        "```",
        "~~~",
        "text",
        "# Other",
        "",
        "1. 目标",
        "    ## Goal",
        "````x",
    ]
)
_bodies = st.lists(_lines | st.text(max_size=8), max_size=8).map("\n".join)


@given(_bodies, _bodies)
def test_a_rendered_section_never_leaks_into_another(goal: str, scope: str) -> None:
    text = render("Title", [("Goal", goal), ("Scope", scope)], TABLE)
    found = [(s.key, s.level) for s in scan(text, TABLE)]
    assert found == [("goal", 2), ("scope", 2)]
    assert sections(text, TABLE, keep_code=True).get("scope", "") in ("", shield(scope, TABLE).strip())


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert set(sections(text, TABLE)) <= {"goal", "scope"}
    assert all(sections(text, TABLE).values())
