"""The one heading parser: finds a document's named sections however a model or a person wrote the headings.

A heading is ``## X``, ``**X**``, ``X:`` or ``3. X`` (and mixtures: ``## 3. **X**: text``), with half- or
full-width punctuation. X must be one of the names that the caller's table knows, in any of its languages.
Fenced code is taken out first, so that an example inside a fence is never read as the document; a fence
that is never closed swallows everything after it. Lines indented by four columns or more are never
headings.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from flower.patterns import late
from flower.values import NamedTuple

Aliases = Mapping[str, Sequence[str]]
"""Section key → the names its heading may have."""

WEAK = 7
"""Level of a heading that is no ``#`` heading; ``#`` headings have 1 to 6."""

_FENCE = late(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_ATX = late(r" {0,3}(#{1,6})(?P<space>[ \t]*)(?P<text>[^#].*)$")
_CLOSING = late(r"(?<=[ \t])#+$")
_BOLD = late(r"(\*\*|__)(?P<inner>.+?)\1[ \t]*(?P<rest>.*)$")
_NUMBER = late(r"^(?:[(（]?\d{1,2}[.)）、．]|[一二三四五六七八九十]{1,2}[、.．]|[IVX]{1,4}\.)[ \t]*")
_COLON = late(r"[:：]")
_TRAILING = " \t:：.。!！,，;；、*_"


class Section(NamedTuple):
    """One recognised section: key of the table, heading level, the heading's line, the text in it and below
    it.
    """

    key: str
    level: int
    heading: str
    rest: str
    below: str

    @property
    def body(self) -> str:
        """The section's text."""
        return f"{self.rest}\n{self.below}".strip()


class Heading(NamedTuple):
    """A heading line. ``key`` is empty for a ``#`` heading that the table does not know."""

    key: str
    level: int
    rest: str = ""


class Line(NamedTuple):
    """A line, the code fence it belongs to (empty outside of code), the index of the line that opened it."""

    text: str
    fence: str
    opened: int


def lines_of(text: str) -> list[str]:
    """The lines of a document, without BOM and carriage returns; nothing but newlines separates lines."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def fenced(lines: Sequence[str]) -> Iterator[Line]:
    """Each line with its fence; the fence's own two lines count as inside."""
    fence, opened = "", 0
    for index, text in enumerate(lines):
        found = _FENCE.match(text)
        mark = found[1] if found else ""
        if not fence:
            fence, opened = mark, index
            yield Line(text, fence, opened)
        else:
            yield Line(text, fence, opened)
            if mark.startswith(fence) and text.strip() == mark:
                fence = ""


def unclosed_fence(lines: Sequence[str]) -> tuple[str, int]:
    """The fence that is never closed and the index of its line; ``("", len(lines))`` if there is none."""
    after = list(fenced([*lines, ""]))[-1]
    return (after.fence, after.opened) if after.fence else ("", len(lines))


def without_code(text: str) -> str:
    """The text without fenced code; what follows a fence that is never closed goes too."""
    return "\n".join(line.text for line in fenced(lines_of(text)) if not line.fence)


def normalise(name: str) -> str:
    """The form in which heading names are compared: width, case, spacing and trailing punctuation do not
    matter.
    """
    folded = unicodedata.normalize("NFKC", name).casefold().replace("&", " and ")
    return " ".join(folded.replace("\u200b", "").strip(_TRAILING).split())


class HeadingTable:
    """The names that one kind of document knows, ready for matching."""

    def __init__(self, aliases: Aliases) -> None:
        self._key = {normalise(name): key for key, names in aliases.items() for name in names}

    def key(self, name: str) -> str:
        """The section's key, empty for an unknown name. ``Goal (目标)`` and ``Goal / 目标`` name one
        section.
        """
        plain = normalise(name)
        if plain in self._key:
            return self._key[plain]
        parts = [p for p in re.split(r"[()/|]", plain) if p.strip()]
        keys = {self._key.get(normalise(part), "") for part in parts}
        return keys.pop() if len(parts) > 1 and len(keys) == 1 else ""

    def match(self, line: str) -> Heading | None:
        """The heading in this line, or None."""
        if line.startswith(("    ", "\t")):
            return None
        atx = _ATX.match(line)
        if not atx:
            found = self._named(line.strip(), strong=False)
            return Heading(found[0], WEAK, found[1]) if found else None
        level = len(atx[1])
        if found := self._named(_CLOSING.sub("", atx["text"].strip()).strip(), strong=True):
            return Heading(found[0], level, found[1])
        # "#!/bin/sh" and "#tag" are text; only a known name may stand without the space.
        return Heading("", level) if atx["space"] else None

    def _named(self, text: str, *, strong: bool) -> tuple[str, str] | None:
        number = _NUMBER.match(text)
        text = text[number.end() :] if number else text
        alone = strong or bool(number)
        if bold := _BOLD.match(text):
            rest = bold["rest"]
            if rest and not (_COLON.match(rest) or _COLON.search(bold["inner"])):
                return None
            text, alone = _NUMBER.sub("", f"{bold['inner']}{rest}", count=1), True
        if key := self.key(text) if alone or text.endswith((":", "：")) else "":
            return key, ""
        name, *after = _COLON.split(text, maxsplit=1)
        key = self.key(name) if after else ""
        return (key, after[0].lstrip(":： \t").strip()) if key else None


def scan(text: str, table: HeadingTable, *, keep_code: bool = False) -> list[Section]:
    """Every recognised section in order, repeated ones included.

    A ``#`` heading that the table does not know ends a section of the same or a deeper level; one below it
    belongs to the section's text. ``keep_code`` leaves closed code blocks in the bodies; they are never
    looked at for headings.
    """
    return _scan(text, table, keep_code, frozenset())


def _scan(text: str, table: HeadingTable, keep_code: bool, only_strong: frozenset[str]) -> list[Section]:
    found: list[tuple[Heading, str, list[str]]] = []
    inside = False
    lines = lines_of(text)
    for line in fenced(lines[: unclosed_fence(lines)[1]]):
        heading = None if line.fence else table.match(line.text)
        if heading and heading.level == WEAK and heading.key in only_strong:
            heading = None
        if heading and heading.key:
            found.append((heading, line.text, []))
            inside = True
        elif heading and found and heading.level <= found[-1][0].level:
            inside = False
        elif inside and (keep_code or not line.fence):
            found[-1][2].append(line.text)
    return [Section(h.key, h.level, line, h.rest, "\n".join(below)) for h, line, below in found]


def sections(text: str, table: HeadingTable, *, keep_code: bool = False) -> dict[str, str]:
    """Key → text of the first section with that key that is not empty.

    Where a key has a ``#`` heading with text, a plain ``X:`` line of the same name elsewhere is ordinary
    text; so is a plain line that repeats a section already filled. A section that holds nothing but code is
    empty.
    """
    strong = frozenset(s.key for s in _scan(text, table, False, frozenset()) if s.level < WEAK and s.body)
    filled: dict[str, str] = {}
    current = ""
    for section in _scan(text, table, keep_code, strong):
        if section.key not in filled:
            current = section.key
            if without_code(section.body).strip():
                filled[current] = section.body
        elif section.level < WEAK:
            current = ""
        elif current in filled:
            filled[current] = f"{filled[current]}\n{section.heading}\n{section.below}".strip()
    return filled


def shield(body: str, table: HeadingTable) -> str:
    """The body so that it can stand under a heading: what would be read as one is indented, an open fence
    closed.
    """
    out = []
    for line in fenced(lines_of(body.strip())):
        out.append(f"    {line.text.lstrip()}" if not line.fence and table.match(line.text) else line.text)
    if fence := unclosed_fence(out)[0]:
        out.append(fence)
    return "\n".join(out)


def render(title: str, parts: Sequence[tuple[str, str]], table: HeadingTable) -> str:
    """A markdown document: a title, then ``## heading`` and text for each part, ending in a newline."""
    blocks = [f"# {title}"] if title else []
    for heading, body in parts:
        blocks += [f"## {heading}", shield(body, table)] if body.strip() else [f"## {heading}"]
    return "\n\n".join(blocks) + "\n"
