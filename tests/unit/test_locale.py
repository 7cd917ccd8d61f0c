"""The catalogues: complete, current, and no placeholder lost."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message

import flower
from flower import locale
from flower.locale.maintain import LANGUAGES, extract, read, untranslated

PLACEHOLDER = re.compile(r"\{[^{}]*\}")
PACKAGE = Path(flower.__file__).parent


@pytest.fixture(scope="module")
def template() -> Catalog:
    return extract()


def texts(value: object) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (str(value),)


def names(text: str) -> set[str]:
    return set(PLACEHOLDER.findall(text))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_is_translated(language: str, template: Catalog) -> None:
    catalogue = read(language)
    there = {m.id for m in catalogue}
    missing = [m.id for m in template if m.id and m.id not in there]
    assert missing == [], "run `make messages`"
    assert [m.id for m in untranslated(catalogue)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_message_is_kept_that_the_code_does_not_use(language: str, template: Catalog) -> None:
    used = {m.id for m in template}
    assert [m.id for m in read(language) if m.id not in used] == [], "run `make messages`"


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_keep_every_placeholder(language: str) -> None:
    def differs(message: Message) -> bool:
        wanted = set().union(*map(names, texts(message.id)))
        return any(names(text) != wanted for text in texts(message.string))

    assert [m.id for m in read(language) if m.id and differs(m)] == []


def test_no_catalogue_holds_words_of_the_other_language() -> None:
    """Step names are Chinese in every language; a Korean message has Korean letters all the same."""
    han, hangul = re.compile("[\u4e00-\u9fff]"), re.compile("[\uac00-\ud7a3]")

    def said(message: Message) -> str:
        return " ".join(texts(message.string))

    assert [m.id for m in read("zh") if m.id and hangul.search(said(m))] == []
    assert [m.id for m in read("ko") if han.search(said(m)) and not hangul.search(said(m))] == []


def test_no_message_hides_where_it_cannot_be_extracted() -> None:
    """A call inside an f-string, or with anything but a literal, would never reach a catalogue."""
    hidden = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        inside = [n for f in ast.walk(tree) if isinstance(f, ast.JoinedStr) for n in ast.walk(f)]
        for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call)):
            if not (isinstance(call.func, ast.Name) and call.func.id in ("_", "ngettext")):
                continue
            literal = isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str)
            if not literal or any(call is node for node in inside):
                hidden.append(f"{path.relative_to(PACKAGE)}:{call.lineno}")
    assert hidden == []


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "ko_KR"}, "ko"),
        ({"LC_ALL": "ko_KR", "FLOWER_LANG": "en"}, "en"),
        ({"LANG": "fr_FR"}, "en"),
    ],
)
def test_the_language_is_the_persons(
    variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FLOWER_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert locale.current() == expected


def test_a_chosen_language_wins_and_can_be_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWER_LANG", "ko")
    try:
        locale.use("zh")
        assert locale.current() == "zh"
        assert locale.ngettext("{n} check", "{n} checks", 2).format(n=2) == "目标 2 条"
    finally:
        locale.use(None)
    assert locale.current() == "ko"
