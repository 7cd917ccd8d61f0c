"""The words a judge may use for the three outcomes and for one check, in English, Chinese and Korean."""

from __future__ import annotations

from typing import Literal

from flower.documents.sections import HeadingTable
from flower.patterns import late

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
        "not yet achieved", "not achieved", "not yet met", "not yet reached", "not yet", "not_yet",
        "not met", "not reached",
        "not passed", "not fulfilled", "not satisfied", "unmet", "unachieved", "incomplete", "failed",
        "rejected",
        "尚未达成", "还未达成", "没有达成", "没达成", "未能达成", "未达成", "不达成", "未达到", "没有达到",
        "尚未达到",
        "未完成", "未满足", "不满足", "未通过", "不通过", "没通过", "尚未", "還未達成", "尚未達成",
        "未達成",
        "아직 달성되지 않음", "아직 달성되지 않았", "달성되지 않음", "달성되지 않았", "달성하지 못함",
        "달성하지 못했", "달성하지 않",
        "달성 못함", "달성 못 함", "달성 안 됨", "달성 안됨", "달성 실패", "미달성", "충족되지 않음",
        "충족되지 않았",
        "충족하지 못", "미충족", "통과하지 못", "불통과", "미통과", "아직 아님", "아직",
    ),
    "unreachable": (
        "cannot be verified here", "cannot be verified", "cannot be achieved", "can not be achieved",
        "can't be achieved",
        "cannot be reached", "cannot be met", "not achievable", "not reachable", "unachievable",
        "unreachable",
        "unverifiable", "impossible",
        "此环境无法验证", "无法验证", "无法达成", "不可达成", "不能达成", "不可能达成", "无法达到",
        "无法实现", "无法完成", "無法達成",
        "이 환경에서 검증 불가", "검증 불가", "달성 불가능", "달성 불가", "달성할 수 없", "도달 불가",
        "도달할 수 없", "불가능",
    ),
    "achieved": (
        "the goal has been achieved", "the goal is achieved", "goal is achieved", "goal achieved",
        "fully achieved",
        "achieved in full", "achieved", "the goal is met", "goal is met", "goal met", "fully met", "met",
        "目标已达成", "目标达成", "已经达成", "已达成", "达成了", "达成", "全部达成", "已达到", "达到",
        "已满足", "满足", "通过",
        "目標達成", "已達成", "達成",
        "목표가 달성되었습니다", "목표 달성됨", "목표 달성", "달성되었습니다", "달성되었음", "달성되었다",
        "달성했습니다", "달성했다",
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
        "cannot be verified here", "cannot be verified", "cannot verify", "can't verify", "cannot",
        "can not", "unverifiable",
        "此环境无法验证", "无法验证", "不能验证", "无法核实", "无法",
        "이 환경에서 검증 불가", "검증할 수 없음", "검증 불가", "확인 불가", "불가",
    ),
    "pass": (
        "passed", "passes", "pass", "met", "已通过", "通过", "已达成", "达成", "已满足", "满足", "達成",
        "통과함", "통과", "충족됨", "충족", "달성됨", "달성",
    ),
}  # fmt: skip


OUTCOME_WORDS: list[tuple[str, Conclusion]] = sorted(
    ((word, outcome) for outcome, words in OUTCOMES.items() for word in words), key=lambda pair: -len(pair[0])
)
"""Longest first."""

STATUS_OF: dict[str, Status] = dict(
    sorted(((word, status) for status, words in STATUSES.items() for word in words), key=lambda p: -len(p[0]))
)
"""Word → status, longest word first."""

DOUBT = late(
    r"\?|%|n't\b|"
    r"\b(?:no|not|never|none|nothing|nope|false|n/a|unclear|unknown|un\w+ed|if|unless|except|but|however|though|"
    r"although|would|could|should|might|may|maybe|perhaps|probably|likely|partial(?:ly)?|partly|almost|nearly|"
    r"mostly|once|when|until|pending|provided|assuming|yet|fail\w*|missing|lacks?|without|only|hardly|barely|"
    r"cannot|or|0)\b|"
    r"[不未没無无否非]|如果|假如|倘若|若|但|除|一旦|部分|几乎|差不多|基本|大致|可能|也许|应该|尚|还|失败|缺|待|才|"
    r"만약|하면|라면|다면|경우|다만|하지만|그러나|제외|부분|거의|아직|않|못|안 |안됨|아니|없|실패|조건|아마|"
    r"불가|미달|미충족",
)
"""What, behind "achieved", takes the word back or makes it depend on something."""
