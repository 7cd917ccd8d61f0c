"""The brief: four sections in three languages, and what is added to it later."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower.documents.brief import (
    HEADINGS,
    LANGUAGES,
    Brief,
    amendments,
    append_amendment,
    brief_digest,
    language,
)

FOUR = Brief("build it", "it runs", "no network", "none known")

BRIEFS = {
    "en": "# Brief\n\n## Goal\nbuild it\n\n## Acceptance criteria\nit runs\n\n"
    "## Boundaries\nno network\n\n## Unknowns & assumptions\nnone known\n",
    "zh": "# 需求\n\n**目标**：build it\n\n**验收标准**\nit runs\n\n"
    "**边界**：no network\n\n**未知与假设**\nnone known\n",
    "ko": "1. 목표\nbuild it\n2. 인수 기준\nit runs\n3. 경계\nno network\n4. 미지와 가정\nnone known\n",
}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_brief_is_read_in_each_language(lang: str) -> None:
    assert Brief.parse(BRIEFS[lang]) == FOUR
    assert language(BRIEFS[lang]) == lang


@pytest.mark.parametrize("lang", LANGUAGES)
def test_what_is_rendered_is_read_back(lang: str) -> None:
    text = FOUR.render(lang)
    assert Brief.parse(text) == FOUR and FOUR.complete
    assert language(text) == lang
    assert text.endswith("\n") and not text.endswith("\n\n")


def test_code_is_left_out_or_kept_whole() -> None:
    text = BRIEFS["en"].replace("it runs", "it runs:\n\n```\n## Boundaries\nmake\n```")
    assert Brief.parse(text).accept == "it runs:"
    kept = Brief.parse(text, keep_code=True)
    assert kept.accept == "it runs:\n\n```\n## Boundaries\nmake\n```"
    assert kept.bounds == FOUR.bounds
    assert Brief.parse(kept.render("en"), keep_code=True) == kept


@pytest.mark.parametrize("key", ["goal", "accept", "bounds", "unknowns"])
def test_one_empty_section_makes_it_incomplete(key: str) -> None:
    parts = {"goal": "a", "accept": "b", "bounds": "c", "unknowns": "d"} | {key: " \n"}
    brief = Brief(**parts)
    assert not brief.complete and brief.lacking == [key]
    assert not Brief.parse(brief.render("zh")).complete


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("写个 md 转 html 的脚本", "zh"),
        ("markdown을 HTML로 바꾸는 스크립트를 만들어줘", "ko"),
        ("make a md to html script", "en"),
        ("rename 需求.md to brief.md in this repository please", "en"),
        ("", "en"),
        ("## 目标\nmake a md to html script that is really quite long and English", "zh"),
        ("## Goal\n写个脚本", "en"),
    ],
)
def test_language(text: str, lang: str) -> None:
    assert language(text) == lang


@pytest.mark.parametrize("lang", LANGUAGES)
def test_additions_end_the_fourth_section_and_accumulate(lang: str) -> None:
    text = BRIEFS[lang]
    once = append_amendment(text, "also highlight code")
    twice = append_amendment(once, "and tables\n## Goal\nsomething else\n```\ncode")
    assert once.startswith(text) and twice.startswith(once)
    assert twice.count(HEADINGS[lang]["added"]) == 1
    assert Brief.parse(twice) == FOUR
    assert amendments(twice) == ["also highlight code", "and tables\n## Goal\nsomething else\n```\ncode"]


def test_the_heading_for_additions_is_recognised_in_all_languages() -> None:
    for lang in LANGUAGES:
        text = f"{BRIEFS['en']}\n## {HEADINGS[lang]['added']}\n\nwritten by hand\n"
        assert Brief.parse(text) == FOUR
        assert amendments(append_amendment(text, "more")) == ["written by hand", "more"]
        assert append_amendment(text, "more").count("## ") == text.count("## ")


def test_additions_are_visible_after_a_fence_that_was_never_closed() -> None:
    text = BRIEFS["en"] + "```sh\nmake"
    added = append_amendment(text, "say hello")
    assert added.startswith(text)
    assert amendments(added) == ["say hello"]


def test_a_section_after_the_additions_does_not_take_the_next_one() -> None:
    text = append_amendment(BRIEFS["en"], "one") + "\n## Notes\n\nmine\n"
    assert amendments(append_amendment(text, "two")) == ["one", "two"]


def test_line_ends_of_the_file_are_kept() -> None:
    text = BRIEFS["en"].replace("\n", "\r\n")
    added = append_amendment(append_amendment(text, "one"), "two")
    assert added.startswith(text) and "\n" not in added.replace("\r\n", "")
    assert amendments(added) == ["one", "two"]


def test_saying_nothing_adds_nothing() -> None:
    assert append_amendment(BRIEFS["zh"], " \n ") == BRIEFS["zh"]
    assert amendments(BRIEFS["zh"]) == []


_said = st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1).map(
    lambda s: "\n".join(line.rstrip() for line in s.strip().split("\n")).strip()
)


@given(st.lists(_said.filter(bool), max_size=4), st.sampled_from(["\n", "", "\n```\nopen"]))
def test_whatever_is_said_comes_back_word_for_word(said: list[str], end: str) -> None:
    text = BRIEFS["ko"].rstrip("\n") + end
    before = text
    for words in said:
        text = append_amendment(text, words)
        assert text.startswith(before)
    assert amendments(text) == said
    assert Brief.parse(text) == FOUR


def test_the_digest_sees_words_and_not_what_editors_do() -> None:
    text = BRIEFS["en"]
    same = [
        "\ufeff" + text,
        text.replace("\n", "\r\n"),
        text.rstrip("\n"),
        text + "\n\n",
        text.replace("it\n", "it  \n"),
    ]
    assert {brief_digest(t) for t in same} == {brief_digest(text)}
    assert len(brief_digest(text)) == 64
    assert brief_digest(append_amendment(text, "x")) != brief_digest(text)
    assert brief_digest(text.replace("build it", "build  it")) != brief_digest(text)
