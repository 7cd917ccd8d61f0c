"""What reaches a terminal, and how wide it is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower.cli.terminal import printable, shorten, shown_path, width, wrap

HOSTILE = [
    ("\x1b[31mred\x1b[0m", "red"),
    ("\x1b]0;owned\x07title", "title"),
    ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
    ("\x1bPq#0\x1b\\picture", "picture"),
    ("\x9b2Jcleared", "cleared"),
    ("\x1bcreset", "reset"),
    ("over\rwritten", "overwritten"),
    ("a\x08b\x7fc", "abc"),
    ("line\r\nline", "line\nline"),
    ("user\u202egnp.exe", "usergnp.exe"),
    ("tab\tstays", "tab\tstays"),
    # A string that never ends must not hide what follows it; what aborts it on a real terminal ends it here.
    ("\x1b]0;the rest is here", "0;the rest is here"),
    ("\x1b]0;cut\x18 off", " off"),
    ("\x1b]0;cut\x1b[31m off", "0;cut off"),
    ("\x1bP1;2\x9cdone", "done"),
    # The same in eight bits.
    ("\x9d0;owned\x9ctitle", "title"),
    ("\x9b31mred", "red"),
    ("\x85\x84\x8dmoves", "moves"),
    # Reports that a terminal would type back into the shell; the clipboard; modes; scrolling; character sets.
    ("\x1b[6n\x1b[c\x1b[>q\x1b[21t\x05who", "who"),
    ("\x1b]52;c;cm0gLXJmIH4=\x07paste", "paste"),
    ("\x1b[?1049h\x1b[?2004l\x1b[?1000hmodes", "modes"),
    ("\x1b[1;1r\x1bM\x1b#8scroll", "scroll"),
    ("\x1b(0\x0elines\x0f", "lines"),
    ("\x1b[", ""),
    ("a\x1b", "a"),
    ("\u202eevil\u2066\u2069", "evil"),
    ("שלום 👩‍👩‍👧 e\u0301", "שלום 👩‍👩‍👧 e\u0301"),
]


@pytest.mark.parametrize(("raw", "clean"), HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_that_drives_a_terminal_gets_through(raw: str, clean: str) -> None:
    assert printable(raw) == clean


@given(st.text(alphabet=st.characters(codec="utf-8") | st.sampled_from("\x1b\x9b[]0;m\x07\\")))
def test_no_control_character_survives_any_mixture(raw: str) -> None:
    assert all(c in "\n\t" or not (ord(c) < 32 or 127 <= ord(c) < 160) for c in printable(raw))


def test_wide_characters_take_two_columns_and_marks_none() -> None:
    assert width("干活") == 4
    assert width("한글") == 4
    assert width("e\u0301") == 1


@given(st.text(alphabet=st.sampled_from("ab 干活\n-"), max_size=200), st.integers(10, 40))
def test_wrapping_keeps_every_letter_and_no_line_is_too_long(text: str, limit: int) -> None:
    lines = list(wrap(text, limit))
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(width(line) <= limit for line in lines)


def test_continued_lines_keep_the_indentation() -> None:
    assert list(wrap("  one two three", 10)) == ["  one two", "  three"]


def test_one_line_is_cut_at_columns_not_at_letters() -> None:
    assert shorten("干活干活干活", 9) == "干活干..."
    assert shorten("a\n b   c", 9) == "a b c"


def test_home_is_a_tilde(empty_environment: Path) -> None:
    assert shown_path(empty_environment / "proj") == "~/proj"
    assert shown_path(empty_environment) == "~"
    assert shown_path(f"{empty_environment}-other") == f"{empty_environment}-other"
