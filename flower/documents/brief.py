"""The brief: what the person wants, frozen after the clarification; words said later are added below it."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass

from flower.documents.sections import HeadingTable, lines_of, render, scan, sections, unclosed_fence

LANGUAGES = ("en", "zh", "ko")

HEADINGS = {
    "en": {
        "title": "Brief",
        "goal": "Goal",
        "accept": "Acceptance",
        "bounds": "Boundaries",
        "unknowns": "Unknowns and assumptions",
        "added": "Added on waking",
    },
    "zh": {
        "title": "需求",
        "goal": "目标",
        "accept": "验收",
        "bounds": "边界",
        "unknowns": "未知与假设",
        "added": "唤醒时追加",
    },
    "ko": {
        "title": "요구사항",
        "goal": "목표",
        "accept": "인수 기준",
        "bounds": "경계",
        "unknowns": "미지와 가정",
        "added": "깨울 때 추가됨",
    },
}
"""Language → the headings flower writes. Many more are read, see ``ALIASES``."""

ALIASES: dict[str, dict[str, tuple[str, ...]]] = {
    "en": {
        "goal": ("goal", "goals", "the goal", "objective", "objectives", "purpose", "what to build"),
        "accept": (
            "acceptance", "acceptance criteria", "acceptance criterion", "accept", "accepted when",
            "done when",
            "definition of done", "success criteria", "criteria",
        ),
        "bounds": (
            "boundaries", "boundary", "bounds", "scope", "limits", "constraints",
            "boundaries and constraints", "out of scope", "scope and boundaries",
        ),
        "unknowns": (
            "unknowns and assumptions", "unknowns", "unknown", "assumptions", "assumptions and unknowns",
            "unknowns / assumptions", "open questions",
        ),
        "added": ("added on waking", "added at a wake", "added when woken"),
    },
    "zh": {
        "goal": ("目标", "目的", "需求目标", "要做什么", "目標"),
        "accept": (
            "验收", "验收标准", "验收条件", "验收判据", "完成标准", "完成条件", "判据", "驗收", "驗收標準",
        ),
        "bounds": (
            "边界", "范围", "约束", "限制", "边界与约束", "边界和约束", "范围与边界", "边界条件", "邊界",
            "範圍",
        ),
        "unknowns": (
            "未知与假设", "未知和假设", "未知及假设", "未知、假设", "未知", "未知项", "假设", "假设与未知",
            "待确认",
            "未知與假設",
        ),
        "added": ("唤醒时追加", "喚醒時追加"),
    },
    "ko": {
        "goal": ("목표", "목적", "만들 것"),
        "accept": (
            "인수 기준", "인수 조건", "인수", "수용 기준", "완료 기준", "완료 조건", "검수 기준",
            "합격 기준",
        ),
        "bounds": ("경계", "범위", "제약", "제한", "제약 조건", "경계와 제약", "범위와 경계"),
        "unknowns": (
            "미지와 가정", "미지수와 가정", "미지", "미지수", "가정", "가정과 미지", "미확인 사항",
            "모르는 것과 가정", "불확실성과 가정", "알 수 없는 것과 가정",
        ),
        "added": ("깨울 때 추가됨", "깨울 때 추가", "깨어날 때 추가됨"),
    },
}  # fmt: skip

SECTIONS = ("goal", "accept", "bounds", "unknowns")
_TABLES = {lang: HeadingTable(aliases) for lang, aliases in ALIASES.items()}
TABLE = HeadingTable(
    {key: [n for lang in LANGUAGES for n in ALIASES[lang][key]] for key in (*SECTIONS, "added")}
)


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
