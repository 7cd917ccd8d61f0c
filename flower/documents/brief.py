"""The brief: what the person wants, frozen after the clarification; words said later are added below it."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass

from flower.documents.brief_sections import ALIASES, HEADINGS, LANGUAGES, SECTIONS, TABLE
from flower.documents.sections import HeadingTable, lines_of, render, scan, sections, unclosed_fence

__all__ = [
    "ALIASES",
    "HEADINGS",
    "LANGUAGES",
    "Brief",
    "amendments",
    "append_amendment",
    "brief_digest",
    "language",
]


_TABLES = {lang: HeadingTable(aliases) for lang, aliases in ALIASES.items()}


@dataclass(frozen=True, slots=True)
class Brief:
    """The four sections of a brief; a missing one is the empty string.

    Attributes:
        goal: what is wanted, and why.
        accept: how the person will see that it is right.
        bounds: what is in and out, and what must not be touched.
        unknowns: what is not known, and what is assumed about it.
    """

    goal: str = ""
    accept: str = ""
    bounds: str = ""
    unknowns: str = ""

    @classmethod
    def parse(cls, text: str, *, keep_code: bool = False) -> Brief:
        """The brief in a text. What was added on waking is not part of the four sections, see
        ``amendments``. ``keep_code`` leaves code blocks in them, for a brief that will be written to a file.
        """
        found = sections(text, TABLE, keep_code=keep_code)
        return cls(*(found.get(key, "") for key in SECTIONS))

    @property
    def complete(self) -> bool:
        """Whether all four sections say something."""
        return all(getattr(self, key).strip() for key in SECTIONS)

    @property
    def lacking(self) -> list[str]:
        """The names of the sections that are empty: ``goal``, ``accept``, ``bounds``, ``unknowns``."""
        return [key for key in SECTIONS if not getattr(self, key).strip()]

    def render(self, lang: str = "en") -> str:
        """The brief as a markdown file with the headings of ``lang`` (``en``, ``zh``, ``ko``)."""
        names = HEADINGS[lang]
        return render(names["title"], [(names[key], getattr(self, key)) for key in SECTIONS], TABLE)


def language(text: str) -> str:
    """The language a text is written in, ``en``, ``zh`` or ``ko``: that of its headings, else that of its
    letters.

    Text with at least one Han or Hangul character for three Latin letters is Chinese or Korean: a request
    in either is full of Latin names of tools.
    """
    counts = {lang: len(scan(text, _TABLES[lang])) for lang in LANGUAGES}
    best = max(LANGUAGES, key=lambda lang: counts[lang])
    if counts[best]:
        return best
    latin = sum(c.isascii() and c.isalpha() for c in text)
    han = sum("\u4e00" <= c <= "\u9fff" for c in text)
    hangul = sum("\uac00" <= c <= "\ud7a3" or "\u1100" <= c <= "\u11ff" for c in text)
    if han + hangul == 0 or (han + hangul) * 3 < latin:
        return "en"
    return "ko" if hangul >= han else "zh"


def append_amendment(text: str, words: str, lang: str | None = None) -> str:
    """The brief with something the person said later added at its end; the text so far stays byte for byte.

    Each addition is one list item under the heading for additions, which is written once. ``lang`` is the
    language of a heading that has to be written; by default the text's own.
    """
    said = [line.rstrip() for line in lines_of(words.strip())]
    if not any(said):
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = lines_of(text)
    added = [] if not text or text.endswith("\n") else [""]
    if fence := unclosed_fence(lines)[0]:
        # Inside the fence nobody would ever see the addition.
        added += [fence]
    found = scan("\n".join([*lines, *added]), TABLE)
    if not (found and found[-1].key == "added" and _is_last(text, found[-1].heading)):
        added += ["", f"## {HEADINGS[lang or language(text)]['added']}", ""]
    # Four columns keep the words from being read as headings or fences.
    added += [f"- {said[0]}", *(f"    {line}" if line else "" for line in said[1:]), ""]
    return text + newline.join(added)


def _is_last(text: str, heading: str) -> bool:
    """Whether no other heading follows the last line equal to ``heading``."""
    lines = lines_of(text)
    after = lines[len(lines) - lines[::-1].index(heading) :]
    return not any(TABLE.match(line) for line in after)


def amendments(text: str) -> list[str]:
    """What was added to a brief, oldest first: list items and paragraphs under the headings for additions."""
    out: list[list[str]] = []
    for section in scan(text, TABLE, keep_code=True):
        if section.key != "added":
            continue
        blank = True
        for line in [section.rest, *section.below.split("\n")]:
            own = line.startswith(("    ", "\t"))
            if line.startswith(("- ", "* ")):
                out.append([line[2:]])
            elif line.strip() and blank and not own:
                out.append([line])
            elif out and (line.strip() or own or out[-1]):
                out[-1].append(line[4:] if line.startswith("    ") else line.lstrip("\t"))
            blank = not line.strip()
    return [said for item in out if (said := "\n".join(item).strip())]


def brief_digest(text: str) -> str:
    """SHA-256 (hex) of a brief's text, blind to what editors change unasked: BOM, line ends, trailing
    space.
    """
    lines = [line.rstrip() for line in lines_of(text)]
    plain = unicodedata.normalize("NFC", "\n".join(lines).strip("\n"))
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()
