"""The sections of a brief: which there are, and the names that their headings may have in each language.

Apart from the brief itself, so that a look at a directory can tell whether it is complete without loading more.
"""

from __future__ import annotations

from flower.documents.sections import HeadingTable, sections

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
TABLE = HeadingTable(
    {key: [n for lang in LANGUAGES for n in ALIASES[lang][key]] for key in (*SECTIONS, "added")}
)


def sections_of(text: str) -> dict[str, str]:
    """Key (one of ``SECTIONS``) → text of that section in a brief; those that are empty or missing are left out."""
    found = sections(text, TABLE)
    return {key: found[key] for key in SECTIONS if found.get(key, "").strip()}
