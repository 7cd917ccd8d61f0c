"""The verdict: what a judge's answer says, read so that nothing but a clear and complete "achieved" ever
passes.

The answer has three sections (conclusion, reason, not passed) and one line per check, ``N. pass | fail |
cannot: evidence``. Code blocks and quoted lines are not the judge's own words and count for nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from flower.documents.goal import Check
from flower.documents.outcomes import DOUBT, OUTCOME_WORDS, STATUS_OF, TABLE, Conclusion, Status
from flower.documents.sections import scan, sections, without_code
from flower.patterns import late

_NEGATIVE = [word for word, outcome in OUTCOME_WORDS if outcome != "achieved"]
_FRACTION = late(r"(\d+)\s*(?:/|of|out of|中)\s*(\d+)")
_DRESS = " \t*_`\"'“”‘’「」✅☑✓✔🎉\ufe0f"
_AFTER = late(r"\s*(?:$|[.。!,，;；(（—–-]|:\s*(?:yes|all|every|true|是|全部|所有|모든|모두|전부|예))")
_GOOD, _BAD = "✅☑✓✔", "❌✗✘✖⚠❓⛔"
_WORD = "|".join(re.escape(word) for word in STATUS_OF)
_CHECK = late(
    r" {0,3}(?:[-*+] +)?(?:\*\*|__)?(?:check +|第)?#?(?P<n>\d{1,3})(?:[.)、:]|条[:.、]?)(?:\*\*|__)?\s*"
    rf"(?P<icon>[{_GOOD}{_BAD}\ufe0f ]*)[*_`]{{0,3}}(?P<word>{_WORD})[*_`]{{0,3}}"
    r"(?:\s*:\s*(?P<evidence>.*)|\s+[—–-]+\s+(?P<dashed>.*)|\s*[—–]+(?P<long>.*)|\s*(?P<round>\(.*\))|\s*[.。]?)\s*$",
    re.IGNORECASE,
)
"""One check line, width normalised. "3 passed, 1 failed" and "1. pass-through works" are none."""

_UNSEEN = late(
    r"(?:(?:was |were )?not (?:actually )?(?:verified|checked|tested|run)|unverified|untested|unchecked|"
    r"can(?:not|'t) (?:be verified|verify)|未(?:能)?(?:验证|核实|检查)|无法(?:验证|核实)|没有验证|"
    r"미검증|(?:검증|확인)(?:하지 않|하지 못|되지 않| 불가))",
    re.IGNORECASE,
)
"""Evidence that begins like this is none: the line says "pass" about something nobody looked at."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the judge's answer amounts to.

    Attributes:
        conclusion: ``achieved``, ``not_yet`` or ``unreachable``.
        reason: the judge's reason in its own words.
        checks: number → (``pass`` | ``fail`` | ``cannot``, evidence); a number stated twice has its worse
            status.
        missing: English text for the worker, saying what is not there yet; empty when achieved.
        problem: why an answer could not be taken at its word, empty if it could. The judge's fault, not the
            worker's.
    """

    conclusion: Conclusion = "not_yet"
    reason: str = ""
    checks: dict[int, tuple[Status, str]] = field(default_factory=dict)
    missing: str = ""
    problem: str = ""

    @classmethod
    def parse(cls, text: str, checks: int | Sequence[Check] | None = None) -> Verdict:
        """The verdict in a judge's answer.

        ``checks`` is the goal's list or its length: then "achieved" needs a conclusion that says so and
        exactly one ``pass`` line for each check. ``None`` judges by the conclusion alone. What cannot be
        parsed is ``not_yet``.
        """
        own = "\n".join(line for line in without_code(text).split("\n") if not line.lstrip().startswith(">"))
        said, problem = _conclusion(own)
        lines, repeated = _check_lines(own)
        found = sections("\n".join(line for line in own.split("\n") if not _check_line(line)), TABLE)
        if checks is None:
            conclusion = said
        else:
            wanted = checks if isinstance(checks, int) else len(checks)
            flaw = problem or _flaw(lines, repeated, wanted)
            conclusion, problem = _weigh(said, lines, flaw)
        verdict = cls(conclusion, found.get("reason", ""), lines, "", problem)
        listed = checks if isinstance(checks, Sequence) else ()
        return replace(verdict, missing=_missing(verdict, found.get("missing", ""), listed))

    @property
    def achieved(self) -> bool:
        """Whether the goal is verified, as far as the text goes; see ``decide``."""
        return self.conclusion == "achieved"

    def decide(self, looked: bool) -> Verdict:
        """The verdict once it is known whether the judge used a tool at all: nobody passes what nobody
        looked at.
        """
        if looked or not self.achieved:
            return self
        problem = "The judge did not look at anything before it answered."
        return replace(self, conclusion="not_yet", problem=problem, missing=problem)


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.replace("\u200b", "").split())


def _conclusion(own: str) -> tuple[Conclusion, str]:
    stated = [
        _outcome(section.body) for section in scan(own, TABLE) if section.key == "conclusion" and section.body
    ]
    if not stated:
        return "not_yet", "The answer has no conclusion."
    if None in stated:
        return "not_yet", "The conclusion is none of the three outcomes."
    if len(set(stated)) > 1:
        return "not_yet", "The answer contradicts itself."
    return stated[0] or "not_yet", ""


def _outcome(body: str) -> Conclusion | None:
    lines = [
        _plain(line).strip(_DRESS)
        for line in body.split("\n")
        if line.strip() and not _CHECK.match(_plain(line))
    ]
    if not lines:
        return None
    first = next(((word, meaning) for word, meaning in OUTCOME_WORDS if lines[0].startswith(word)), None)
    if not first:
        return None
    word, meaning = first
    if meaning == "not_yet":
        return "not_yet"
    tail = lines[0][len(word) :].lstrip(_DRESS)
    if meaning == "unreachable":
        return "unreachable" if "?" not in tail else None
    clear = _AFTER.match(tail) and not _doubtful(tail)
    return "achieved" if clear and not any(w in line for line in lines[1:] for w in _NEGATIVE) else None


def _doubtful(tail: str) -> bool:
    return bool(DOUBT.search(tail)) or any(int(a) != int(b) for a, b in _FRACTION.findall(tail))


def _check_line(raw: str) -> re.Match[str] | None:
    if raw.startswith(("    ", "\t")):
        return None
    return _CHECK.match(unicodedata.normalize("NFKC", " ".join(raw.split())))


def _check_lines(own: str) -> tuple[dict[int, tuple[Status, str]], set[int]]:
    worst = {"fail": 0, "cannot": 1, "pass": 2}
    lines: dict[int, tuple[Status, str]] = {}
    repeated: set[int] = set()
    for raw in own.split("\n"):
        found = _check_line(raw)
        if not found:
            continue
        number = int(found["n"])
        evidence = next((e for e in found.group("evidence", "dashed", "long", "round") if e), "").strip(" *_")
        status = STATUS_OF[found["word"].casefold()]
        if status == "pass" and set(found["icon"]) & set(_BAD):
            status = "fail"
        elif status == "pass":
            status = (
                "cannot"
                if _UNSEEN.match(evidence)
                else STATUS_OF.get(evidence.casefold().strip(" .。"), status)
            )
        if number in lines:
            repeated.add(number)
        if number not in lines or worst[status] < worst[lines[number][0]]:
            lines[number] = (status, evidence)
    return lines, repeated


def _flaw(lines: dict[int, tuple[Status, str]], repeated: set[int], wanted: int) -> str:
    """What is wrong with the set of check lines, empty if each of ``wanted`` checks has exactly one."""
    if wanted < 1:
        return "The goal has no checks, so nothing can be verified."
    expected = set(range(1, wanted + 1))
    for numbers, what in (
        (expected - lines.keys(), "has no line for check"),
        (repeated, "has more than one line for check"),
        (lines.keys() - expected, "has a line for a check that does not exist:"),
    ):
        if numbers:
            return f"The answer {what} {', '.join(map(str, sorted(numbers)))}."
    return ""


def _weigh(said: Conclusion, lines: dict[int, tuple[Status, str]], flaw: str) -> tuple[Conclusion, str]:
    statuses = {status for status, _ in lines.values()}
    if flaw or "fail" in statuses:
        return "not_yet", flaw
    if "cannot" in statuses:
        return "unreachable", ""
    if said == "achieved":
        return "achieved", ""
    return "not_yet", "Every check passes, but the conclusion does not say so."


def _missing(verdict: Verdict, listed: str, checks: Sequence[Check]) -> str:
    if verdict.achieved:
        return ""
    out = []
    for number, (status, evidence) in sorted(verdict.checks.items()):
        if status != "pass":
            name = f" ({checks[number - 1].text})" if 0 < number <= len(checks) else ""
            out.append(f"{number}. {status}{name}: {evidence or 'no evidence given'}")
    if listed:
        out.append(listed)
    return "\n".join(out) or verdict.reason or verdict.problem
