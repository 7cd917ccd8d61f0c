"""The goal: a statement and the numbered checks that a judge goes through, derived from one state of the
brief.

The file is readable markdown. Its last line is a comment naming the digest of the brief it was derived
from, so that words added to the brief later can never be judged by an old list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from flower.documents.brief import amendments
from flower.documents.brief import brief_digest as digest_of
from flower.documents.goal_parts import TABLE, parts_of
from flower.documents.sections import lines_of, render
from flower.patterns import late

HEADINGS = {
    "en": {"statement": "Goal", "checks": "Checks", "mark": "cannot be verified here"},
    "zh": {"statement": "目标", "checks": "判定清单", "mark": "此环境无法验证"},
    "ko": {"statement": "목표", "checks": "판정 목록", "mark": "이 환경에서 검증 불가"},
}

_MARKS = "|".join(
    (
        r"(?:cannot|can\s*not|can['’]t) be (?:verified|checked|tested) (?:here|in this environment)",
        r"(?:un|not )verifiable (?:here|in this environment)",
        r"(?:此|本|当前|在此|这个)环境(?:中|下|里)?(?:无法|不能|不可)(?:验证|核实|检验)",
        r"此處無法驗證|此環境無法驗證",
        r"(?:이|현재) 환경에서(?:는)? ?(?:검증|확인)(?:이)? ?(?:불가능|불가|할 수 없음)",
        r"여기서(?:는)? ?(?:검증|확인)(?:이)? ?(?:불가능|불가|할 수 없음)",
    )
)
_SQUARE = rf"[\[［【]\s*(?:{_MARKS})\s*(?:[:：]\s*(?P<why>(?:[^\[\]［］【】]|\[[^\[\]]*\])*?))?\s*[\]］】]"
_ROUND = rf"[(（]\s*(?:{_MARKS})\s*(?:[:：]\s*(?P<why2>[^()（）]*?))?\s*[)）]"
_MARK = late(rf"(?:{_SQUARE}|{_ROUND})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing a judge looks at.

    Attributes:
        text: what must be true, without the mark.
        unverifiable: nobody can verify it in this environment; the person hears so before money is spent.
        why: the reason given for that.
    """

    text: str
    unverifiable: bool = False
    why: str = ""

    @classmethod
    def parse(cls, text: str) -> Check:
        """A check from its text, the mark (``[cannot be verified here: …]``, ``[此环境无法验证:…]``,
        ``[이 환경에서 검증 불가:…]``) taken out wherever it stands."""
        found = _MARK.search(text)
        if not found:
            return cls(text.strip())
        rest = f"{text[: found.start()].rstrip()} {text[found.end() :].lstrip()}".strip()
        why = (found["why"] or found["why2"] or "").strip()
        return cls(rest or why, True, why)

    def render(self, lang: str = "en") -> str:
        """The check with its mark in front."""
        if not self.unverifiable:
            return self.text
        # Brackets inside the reason would end the mark too early.
        why = re.sub(r"\s+", " ", self.why.translate(str.maketrans("[]［］【】", "()（）()")))
        mark = f"{HEADINGS[lang]['mark']}: {why}" if why else HEADINGS[lang]["mark"]
        return f"[{mark}] {self.text}"


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal: what is to be achieved, the checks that decide it, the digest of the brief it stems from."""

    statement: str = ""
    checks: list[Check] = field(default_factory=list)
    brief_digest: str = ""

    @classmethod
    def parse(cls, text: str) -> Goal:
        """The goal in a text; parts that are missing stay empty. The last digest line counts."""
        parts = parts_of(text)
        return cls(parts.statement, [Check.parse(item) for item in parts.checks], parts.brief_digest)

    @property
    def complete(self) -> bool:
        """Whether there is a statement and at least one check."""
        return bool(self.statement.strip() and self.checks)

    @property
    def unverifiable(self) -> dict[int, Check]:
        """The checks that cannot be verified here, by number from 1."""
        return {n: check for n, check in enumerate(self.checks, 1) if check.unverifiable}

    def derived_from(self, brief_text: str) -> bool:
        """Whether the goal was derived from the brief as it stands now.

        A file without a digest was written before flower recorded one. It counts as derived from a brief to
        which nothing was added; with additions nobody can tell whether the list knows them, so it is
        derived again.
        """
        if not self.brief_digest:
            return not amendments(brief_text)
        return self.brief_digest == digest_of(brief_text)

    def render(self, lang: str = "en") -> str:
        """The goal as a markdown file with the headings of ``lang``, ending with the digest line."""
        names = HEADINGS[lang]
        checks = "\n".join(f"{n}. {_indented(c.render(lang))}" for n, c in enumerate(self.checks, 1))
        text = render("", [(names["statement"], self.statement), (names["checks"], checks)], TABLE)
        return f"{text}\n<!-- Brief: sha256:{self.brief_digest} -->\n" if self.brief_digest else text


def _indented(text: str) -> str:
    return "\n    ".join(line.strip() for line in lines_of(text) if line.strip())
