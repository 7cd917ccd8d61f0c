"""What a terminal is, how wide text is on it, and what may never reach it."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterator

# Escape sequences: CSI, OSC and other strings, two-byte ones. A string without an end loses its beginning only:
# nobody may hide the rest of a text behind one.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x9c]*(?:[\x07\x18\x1a\x9c]|\x1b\\)"
    r"|\x1b[ -/]*[0-~]?"
)
# C0, C1, and the bidirectional overrides that make text read differently from what it is.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def is_interactive() -> bool:
    """Somebody can be asked: stdin and stderr are both terminals."""
    try:
        return sys.stdin.isatty() and sys.stderr.isatty()
    except (AttributeError, ValueError):  # closed, or never there
        return False


def printable(text: str) -> str:
    """The text without anything that could drive the terminal; ``\\r\\n`` counts as a newline."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n")))


def is_dumb() -> bool:
    """The terminal has said that it cannot move its cursor."""
    return os.environ.get("TERM", "dumb") in ("dumb", "unknown", "")


def wants_colour() -> bool:
    """Not with NO_COLOR, not on a terminal that says it is dumb."""
    return not os.environ.get("NO_COLOR") and not is_dumb()


def terminal_size() -> tuple[int, int]:
    """Columns and rows of the terminal behind stderr; 100 and 24 without one. COLUMNS and LINES win."""
    try:
        columns, rows = os.get_terminal_size(sys.stderr.fileno())
    except (OSError, ValueError, AttributeError):
        columns, rows = 0, 0
    said = [int(v) if (v := os.environ.get(name, "")).isdecimal() else 0 for name in ("COLUMNS", "LINES")]
    return said[0] or columns or 100, said[1] or rows or 24


def columns() -> int:
    """Width to wrap to: the terminal's, at most 120; 100 when there is none."""
    if not sys.stderr.isatty():
        return 100
    return max(20, min(terminal_size()[0], 120))


def width(text: str) -> int:
    """Columns the text takes: East Asian wide characters count two, combining marks none."""
    return len(text) if text.isascii() else sum(_cell(c) for c in text)


def _cell(c: str) -> int:
    if unicodedata.combining(c) or unicodedata.category(c) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(c) in ("W", "F") else 1


def shorten(text: str, limit: int) -> str:
    """One line of at most ``limit`` columns; what is left out shows as ``...``."""
    line = " ".join(text.split())
    if width(line) <= limit:
        return line
    kept, used = [], 3
    for c in line:
        used += _cell(c)
        if used > limit:
            break
        kept.append(c)
    return "".join(kept) + "..."


def wrap(text: str, limit: int) -> Iterator[str]:
    """The lines of the text, broken at spaces where they are longer than ``limit`` columns.

    Indentation of a line is kept for its continuation; a word longer than a line is broken, wide characters
    break anywhere.
    """
    for line in text.expandtabs(4).split("\n"):
        indent = " " * min(len(line) - len(line.lstrip()), limit // 2)
        yield from _wrap_line(line.rstrip(), indent, limit)


def _wrap_line(line: str, indent: str, limit: int) -> Iterator[str]:
    while width(line) > limit:
        cut, space, used = 0, 0, 0
        for at, c in enumerate(line):
            used += _cell(c)
            if used > limit:
                break
            cut = at + 1
            if c == " " and at >= len(indent):
                space = at
        cut = space or max(cut, len(indent) + 1)
        yield line[:cut].rstrip()
        line = indent + line[cut:].lstrip()
    yield line


def shown_path(path: str | os.PathLike[str]) -> str:
    """A path as a person reads it: home is ``~``."""
    text, home = os.fspath(path), os.path.expanduser("~")
    if home not in ("", "/", "~") and (text == home or text.startswith(home + os.sep)):
        return "~" + text[len(home) :]
    return text
