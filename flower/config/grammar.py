"""The grammar of ``.env`` files: every line stands for itself, so that a broken one never costs the lines
after it.
"""

from __future__ import annotations

import codecs
import io
import re

from flower.locale import _
from flower.values import NamedTuple

_QUOTES = "'\""
_SINGLE_QUOTED = re.compile(r"[^=]*=\s*'((?:\\.|[^'\\])*)'")
_COMMENT_ONLY = re.compile(r"[^=]*=\s+#")
_PLAIN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=([A-Za-z0-9_./:@%+,-]*)")
"""A line that every grammar reads the same way: most of them, and then the parser need not be loaded."""


class Assignment(NamedTuple):
    """One ``key = value``; ``guess`` says what was wrong with the line when its meaning had to be guessed."""

    key: str
    value: str
    guess: str = ""


class Parsed:
    """The first value of each key, the line (from 1) it stands in, and one warning for each guessed line."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.lines: dict[str, int] = {}
        self.warnings: list[str] = []


def decode(data: bytes) -> str:
    """The text of a file: UTF-8, or UTF-16 when it begins with that BOM; bytes that are neither survive as
    they are.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def parse_line(line: str) -> Assignment | None:
    """What one line assigns; None for a blank line, a comment, and a line without ``=``."""
    line = line.strip()
    if not line or line.startswith("#") or "=" not in line:
        return None
    if plain := _PLAIN.fullmatch(line):
        return Assignment(plain[1], plain[2])
    from dotenv.parser import parse_stream

    binding = next(iter(parse_stream(io.StringIO(line))))
    if binding.error or binding.key is None or binding.value is None:
        return _by_hand(line)
    value = binding.value
    if _COMMENT_ONLY.match(line):
        value = ""
    elif quoted := _SINGLE_QUOTED.match(line):
        value = quoted[1]  # python-dotenv would take backslashes out of it
    return Assignment(binding.key, value)


def _by_hand(line: str) -> Assignment:
    key, _equals, value = line.partition("=")
    key, value = key.strip(), value.strip()
    key = re.sub(r"^export\s+", "", key)
    unclosed = value[:1] in _QUOTES and value[:1] not in value[1:] if value else False
    guess = _("a quote is not closed") if unclosed else _("the line could not be understood")
    return Assignment(key, value.strip(_QUOTES), guess)


def parse(text: str, name: str) -> Parsed:
    """Everything a file assigns; ``name`` is what warnings call it."""
    out = Parsed()
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines, 1):
        found = parse_line(line)
        if not found:
            continue
        where = f"{name}:{number}"
        if not found.key or "\0" in line:
            out.warnings.append(_("{where}: not a setting, skipped").format(where=where))
            continue
        if found.guess:
            text = _("{where}: {guess}; taken as well as possible")
            out.warnings.append(text.format(where=where, guess=found.guess))
        if found.key not in out.values:
            out.values[found.key], out.lines[found.key] = found.value, number
    return out
