"""The handoff: what a session with a full context leaves for the one that goes on with its work."""

from __future__ import annotations

from dataclasses import dataclass

from flower.documents.sections import HeadingTable, render, sections

HEADINGS = {
    "en": {
        "title": "Handoff",
        "doing": "Doing",
        "decided": "Decided",
        "dead_ends": "Dead ends",
        "next": "Next",
        "scene": "Scene",
        "degraded": "Degraded: flower wrote this mechanically because the session could not write it itself.",
    },
    "zh": {
        "title": "交接",
        "doing": "正在做",
        "decided": "已决定",
        "dead_ends": "死路",
        "next": "下一步",
        "scene": "现场",
        "degraded": "降级:会话自己写不出交接,这份是 flower 机械生成的。",
    },
    "ko": {
        "title": "인수인계",
        "doing": "하고 있는 일",
        "decided": "결정한 것",
        "dead_ends": "막다른 길",
        "next": "다음 단계",
        "scene": "현장",
        "degraded": "저하됨: 세션이 스스로 쓰지 못해 flower가 기계적으로 만들었다.",
    },
}

SECTIONS = ("doing", "decided", "dead_ends", "next", "scene")
DEGRADED = "<!-- flower: degraded handoff -->"

TABLE = HeadingTable(
    {
        "doing": (
            "doing", "what i am doing", "what is being done", "in progress", "current task", "current work",
            "正在做", "正在做的事", "正在做什么", "当前任务", "在做", "在做什么", "进行中",
            "하고 있는 일", "하는 중", "진행 중", "진행 중인 일", "현재 작업", "하던 일",
        ),
        "decided": (
            "decided", "decisions", "what was decided", "decisions made",
            "已决定", "决定", "已定", "已做决定", "决策", "已定的事",
            "결정", "결정한 것", "결정 사항", "결정된 것", "이미 결정한 것",
        ),
        "dead_ends": (
            "dead ends", "dead end", "dead-ends", "what did not work", "tried and failed",
            "死路", "死胡同", "走不通的路", "试过不行的", "已试过的死路", "失败的尝试",
            "막다른 길", "막힌 길", "실패한 시도", "안 된 것",
        ),
        "next": (
            "next", "next step", "next steps", "what is next", "to do next",
            "下一步", "接下来", "下一步做什么", "后续",
            "다음", "다음 단계", "다음 할 일", "다음에 할 일",
        ),
        "scene": (
            "scene", "state", "state of the scene", "current state", "where things are", "environment",
            "现场", "现场状态", "当前状态", "环境",
            "현장", "현장 상태", "현재 상태", "환경",
        ),
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Handoff:
    """Five sections; ``doing`` and ``next`` are required, the others may be empty.

    Attributes:
        doing: what the session is in the middle of.
        decided: decisions and their reasons.
        dead_ends: what was tried and does not work.
        next: the very next step.
        scene: files, processes and places the successor must know.
        degraded: flower wrote it mechanically because the session could not.
    """

    doing: str = ""
    decided: str = ""
    dead_ends: str = ""
    next: str = ""
    scene: str = ""
    degraded: bool = False

    @classmethod
    def parse(cls, text: str) -> Handoff:
        """The handoff in a text. Code blocks stay in the sections: commands are what a successor needs
        most.
        """
        found = sections(text, TABLE, keep_code=True)
        marked = any(line.strip() == DEGRADED for line in text.splitlines())
        parts = {key: found.get(key, "") for key in SECTIONS}
        return cls(**parts, degraded=marked)

    @property
    def complete(self) -> bool:
        """Whether ``doing`` and ``next`` say something."""
        return bool(self.doing.strip() and self.next.strip())

    def render(self, lang: str = "en") -> str:
        """The handoff as a markdown file with the headings of ``lang``; a degraded one says so at its top."""
        names = HEADINGS[lang]
        parts = [(names[key], getattr(self, key)) for key in SECTIONS if getattr(self, key).strip()]
        text = render(names["title"], parts, TABLE)
        if not self.degraded:
            return text
        title, rest = text.split("\n", 1)
        return f"{title}\n\n{DEGRADED}\n\n> {names['degraded']}\n{rest}"
