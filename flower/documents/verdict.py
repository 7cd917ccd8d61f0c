"""The verdict: what a judge's answer says, read so that nothing but a clear and complete "achieved" ever passes.

The answer has three sections (conclusion, reason, not passed) and one line per check, ``N. pass | fail | cannot:
evidence``. Code blocks and quoted lines are not the judge's own words and count for nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from flower.documents.goal import Check
from flower.documents.sections import HeadingTable, scan, sections, without_code

Conclusion = Literal["achieved", "not_yet", "unreachable"]
Status = Literal["pass", "fail", "cannot"]

TABLE = HeadingTable(
    {
        "conclusion": (
            "conclusion", "verdict", "final verdict", "outcome",
            "结论", "判定", "判定结论", "判定结果", "最终结论", "結論",
            "결론", "판정", "판정 결과", "최종 결론",
        ),
        "reason": (
            "reason", "reasons", "reasoning", "why", "rationale",
            "理由", "原因", "判定理由", "依据",
            "이유", "근거", "판정 이유", "사유",
        ),
        "missing": (
            "not passed", "missing", "what is missing", "unmet", "not met", "failed checks", "to do",
            "未通过", "未通过项", "未达成项", "缺少", "缺什么", "还缺", "未满足",
            "통과하지 못한 것", "미통과", "미통과 항목", "빠진 것", "부족한 것", "부족한 점", "미충족",
        ),
        "checks": (
            "checks", "check by check", "per check", "checklist", "each check",
            "逐条", "逐条判定", "逐项", "逐项判定", "清单", "判定清单",
            "항목별", "항목별 판정", "확인 항목", "판정 목록",
        ),
    }
)  # fmt: skip

OUTCOMES: dict[Conclusion, tuple[str, ...]] = {
    "not_yet": (
        "not yet achieved", "not achieved", "not yet met", "not yet reached", "not yet", "not_yet", "not met", "not reached",
        "not passed", "not fulfilled", "not satisfied", "unmet", "unachieved", "incomplete", "failed", "rejected",
        "尚未达成", "还未达成", "没有达成", "没达成", "未能达成", "未达成", "不达成", "未达到", "没有达到", "尚未达到",
        "未完成", "未满足", "不满足", "未通过", "不通过", "没通过", "尚未", "還未達成", "尚未達成", "未達成",
        "아직 달성되지 않음", "아직 달성되지 않았", "달성되지 않음", "달성되지 않았", "달성하지 못함", "달성하지 못했", "달성하지 않",
        "달성 못함", "달성 못 함", "달성 안 됨", "달성 안됨", "달성 실패", "미달성", "충족되지 않음", "충족되지 않았",
        "충족하지 못", "미충족", "통과하지 못", "불통과", "미통과", "아직 아님", "아직",
    ),
    "unreachable": (
        "cannot be verified here", "cannot be verified", "cannot be achieved", "can not be achieved", "can't be achieved",
        "cannot be reached", "cannot be met", "not achievable", "not reachable", "unachievable", "unreachable",
        "unverifiable", "impossible",
        "此环境无法验证", "无法验证", "无法达成", "不可达成", "不能达成", "不可能达成", "无法达到", "无法实现", "无法完成", "無法達成",
        "이 환경에서 검증 불가", "검증 불가", "달성 불가능", "달성 불가", "달성할 수 없", "도달 불가", "도달할 수 없", "불가능",
    ),
    "achieved": (
        "the goal has been achieved", "the goal is achieved", "goal is achieved", "goal achieved", "fully achieved",
        "achieved in full", "achieved", "the goal is met", "goal is met", "goal met", "fully met", "met",
        "目标已达成", "目标达成", "已经达成", "已达成", "达成了", "达成", "全部达成", "已达到", "达到", "已满足", "满足", "通过",
        "目標達成", "已達成", "達成",
        "목표가 달성되었습니다", "목표 달성됨", "목표 달성", "달성되었습니다", "달성되었음", "달성되었다", "달성했습니다", "달성했다",
        "달성됨", "달성함", "달성", "충족됨", "충족함", "충족", "통과",
    ),
}  # fmt: skip
"""The words for the three outcomes. Longer ones are tried first: most negations contain what they negate."""

STATUSES: dict[Status, tuple[str, ...]] = {
    "fail": (
        "not passed", "not met", "not yet", "does not pass", "unmet", "failed", "fails", "fail",
        "未通过", "不通过", "没通过", "未达成", "未满足", "不满足", "失败", "未達成",
        "통과하지 못함", "불통과", "미통과", "달성되지 않음", "미달성", "미충족", "실패",
    ),
    "cannot": (
        "cannot be verified here", "cannot be verified", "cannot verify", "can't verify", "cannot", "can not", "unverifiable",
        "此环境无法验证", "无法验证", "不能验证", "无法核实", "无法",
        "이 환경에서 검증 불가", "검증할 수 없음", "검증 불가", "확인 불가", "불가",
    ),
    "pass": (
        "passed", "passes", "pass", "met", "已通过", "通过", "已达成", "达成", "已满足", "满足", "達成",
        "통과함", "통과", "충족됨", "충족", "달성됨", "달성",
    ),
}  # fmt: skip


def _longest_first(table: dict[Conclusion, tuple[str, ...]] | dict[Status, tuple[str, ...]]) -> list[tuple[str, str]]:
    pairs = [(word, meaning) for meaning, words in table.items() for word in words]
    return sorted(pairs, key=lambda pair: -len(pair[0]))


_OUTCOME_WORDS = _longest_first(OUTCOMES)
_STATUS_WORDS = dict(_longest_first(STATUSES))
_NEGATIVE = [word for word, meaning in _OUTCOME_WORDS if meaning != "achieved"]

_DOUBT = re.compile(
    r"\?|%|\b(?:no|not|never|none|nothing|nope|false|n/a|unclear|unknown|un\w+ed|if|unless|except|but|however|though|although|would|"
    r"could|should|might|may|maybe|perhaps|probably|likely|partial(?:ly)?|partly|almost|nearly|mostly|once|when|until|"
    r"pending|provided|assuming|yet|fail\w*|missing|lacks?|without|only|hardly|barely|cannot|can't|isn't|aren't|wasn't|"
    r"didn't|doesn't|hasn't|haven't|won't|or)\b|n't\b|"
    r"[不未没無无否非]|如果|假如|倘若|若|但|除|一旦|部分|几乎|差不多|基本|大致|可能|也许|应该|尚|还|失败|缺|待|才|"
    r"만약|하면|라면|다면|경우|다만|하지만|그러나|제외|부분|거의|아직|않|못|안 |안됨|아니|없|실패|조건|아마|불가|미달|미충족",
)
_FRACTION = re.compile(r"(\d+)\s*(?:/|of|out of|中)\s*(\d+)")
_DRESS = " \t*_`\"'“”‘’「」✅☑✓✔🎉\ufe0f"
_AFTER = re.compile(r"\s*(?:$|[.。!,，;；(（—–-]|:\s*(?:yes|all|every|true|是|全部|所有|모든|모두|전부|예))")
_CHECK = re.compile(
    r" {0,3}(?:[-*+] +)?(?:\*\*|__)?(?:check +|第)?#?(?P<n>\d{1,3})(?:[.)、.:]|条[:.、]?)?(?:\*\*|__)?\s*[:—–-]?\s*"
    r"[*_`]{0,3}(?P<word>" + "|".join(re.escape(w) for w in _STATUS_WORDS) + r")[*_`]{0,3}"
    r"\s*(?:$|[:,.。—–-]+(?:\s|[*_`]{0,3})*(?P<evidence>.*)$|(?P<round>\(.*\))\s*$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the judge's answer amounts to.

    Attributes:
        conclusion: ``achieved``, ``not_yet`` or ``unreachable``.
        reason: the judge's reason in its own words.
        checks: number → (``pass`` | ``fail`` | ``cannot``, evidence); a number stated twice has its worse status.
        missing: English text for the worker, saying what is not there yet; empty when achieved.
        problem: why an answer could not be taken at its word, empty if it could. The judge's fault, not the worker's.
    """

    conclusion: Conclusion = "not_yet"
    reason: str = ""
    checks: dict[int, tuple[Status, str]] = field(default_factory=dict)
    missing: str = ""
    problem: str = ""

    @classmethod
    def parse(cls, text: str, checks: int | Sequence[Check] | None = None) -> Verdict:
        """The verdict in a judge's answer.

        ``checks`` is the goal's list or its length: then "achieved" needs a conclusion that says so and exactly one
        ``pass`` line for each check. ``None`` judges by the conclusion alone. What cannot be parsed is ``not_yet``.
        """
        own = "\n".join(line for line in without_code(text).split("\n") if not line.lstrip().startswith(">"))
        said, problem = _conclusion(own)
        lines, repeated = _check_lines(own)
        found = sections(own, TABLE)
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
        """The verdict once it is known whether the judge used a tool at all: nobody passes what nobody looked at."""
        if looked or not self.achieved:
            return self
        problem = "The judge did not look at anything before it answered."
        return replace(self, conclusion="not_yet", problem=problem, missing=problem)


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.replace("\u200b", "").split())


def _conclusion(own: str) -> tuple[Conclusion, str]:
    stated = [_outcome(section.body) for section in scan(own, TABLE) if section.key == "conclusion" and section.body]
    if not stated:
        return "not_yet", "The answer has no conclusion."
    if None in stated:
        return "not_yet", "The conclusion is none of the three outcomes."
    if len(set(stated)) > 1:
        return "not_yet", "The answer contradicts itself."
    return stated[0] or "not_yet", ""


def _outcome(body: str) -> Conclusion | None:
    lines = [_plain(line).strip(_DRESS) for line in body.split("\n") if line.strip() and not _CHECK.match(_plain(line))]
    if not lines:
        return None
    first = next(((word, meaning) for word, meaning in _OUTCOME_WORDS if lines[0].startswith(word)), None)
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
    return bool(_DOUBT.search(tail)) or any(int(a) != int(b) for a, b in _FRACTION.findall(tail))


def _check_lines(own: str) -> tuple[dict[int, tuple[Status, str]], set[int]]:
    worst = {"fail": 0, "cannot": 1, "pass": 2}
    lines: dict[int, tuple[Status, str]] = {}
    repeated: set[int] = set()
    for raw in own.split("\n"):
        found = None if raw.startswith(("    ", "\t")) else _CHECK.match(unicodedata.normalize("NFKC", raw))
        if not found:
            continue
        number = int(found["n"])
        status = next(s for s, words in STATUSES.items() if found["word"].casefold() in words)
        evidence = (found["evidence"] or found["round"] or "").strip(" *_")
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
