"""A goal's text taken apart: its statement, the items of its list, the digest of the brief it stems from.

Apart from the goal itself, so that a look at a directory can count the checks without loading more.
"""

from __future__ import annotations

import re

from flower.documents.sections import HeadingTable, lines_of, sections
from flower.patterns import late
from flower.values import NamedTuple

TABLE = HeadingTable(
    {
        "statement": (
            "goal", "the goal", "goals", "objective", "goal statement", "statement",
            "目标", "总目标", "目标陈述", "一句话目标", "目標",
            "목표", "목표 진술", "목표 문장",
        ),
        "checks": (
            "checks", "check", "checklist", "check list", "list of checks", "acceptance checks", "criteria",
            "acceptance criteria", "acceptance", "verification",
            "判定清单", "判定标准", "判定项", "清单", "检查清单", "检查项", "核对清单", "验收清单",
            "验收标准", "验收", "判据", "判定清單",
            "판정 목록", "판정 기준", "판정 항목", "점검 목록", "확인 목록", "체크리스트", "검사 항목",
            "확인 항목", "인수 기준",
        ),
    }
)  # fmt: skip

_NUMBERED = late(r" {0,3}(?:\*\*)?[(（]?\d{1,3}[.)）、．:：](?:\*\*)?(?:[ \t]+|(?=[^\s\d]))(?P<text>.*)$")
_BULLET = late(r" {0,1}[-*+•][ \t]+(?P<text>.*)$")
_BOX = late(r"\[[ xX]\][ \t]+")
_DIGEST = late(r"^(?:<!--)?[ \t>*]*brief[ \t]*[:：][ \t]*sha256[:：\- \t]*([0-9a-f]{64})\b.*$", re.I | re.M)


class Parts(NamedTuple):
    """What stands where; parts that are missing are empty."""

    statement: str
    checks: list[str]
    brief_digest: str


def parts_of(text: str) -> Parts:
    """The parts of a goal's text. The last digest line counts."""
    plain = "\n".join(lines_of(text))
    digests = _DIGEST.findall(plain)
    found = sections(_DIGEST.sub("", plain), TABLE)
    digest = digests[-1].lower() if digests else ""
    return Parts(found.get("statement", ""), _items(found.get("checks", "")), digest)


def _items(body: str) -> list[str]:
    """The items of a list. In a numbered list bullets are details of their item, in a bullet list items
    themselves.
    """
    lines = [line for line in lines_of(body) if line.strip()]
    pattern = _NUMBERED if any(_NUMBERED.match(line) for line in lines) else _BULLET
    items: list[list[str]] = []
    for line in lines:
        if found := pattern.match(line):
            items.append([_BOX.sub("", found["text"], count=1).strip()])
        elif items and not line.lstrip().startswith("<!--"):
            items[-1].append(line.strip())
    return [item for lines in items if (item := "\n".join(lines).strip())]
