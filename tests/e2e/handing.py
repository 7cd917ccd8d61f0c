"""A scripted model that fills its context, and one step run with it by the real CLI."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flower import AgentSpec, Event, HandoffPolicy, Resilience, Runtime, StepResult
from flower.agents import rules
from flower.testing import Reply, Request, ScriptedEndpoint, ToolUse

FULL = {"input_tokens": 90_000}
FRESH = {"input_tokens": 12_000}
POLICY = HandoffPolicy(window=100_000, headroom=20_000)
"""Handed off at 80,000 tokens, announced at 60,000."""

DOCUMENT = {
    "en": "## Doing\npart one is done\n\n## Decided\nregex stays\n\n## Dead ends\nyacc is too slow\n\n## Next\npart two",
    "zh": "## 正在做\n第一部分完成了\n\n## 已决定\n保留正则\n\n## 死路\nyacc 太慢\n\n## 下一步\n做第二部分",
    "ko": "## 하고 있는 일\n첫 부분을 마쳤다\n\n## 결정\n정규식 유지\n\n## 막다른 길\nyacc는 느리다\n\n## 다음 단계\n둘째 부분",
}
SPEC = AgentSpec(name="doer", instructions="You are flower's doer.", allowed_tools=["Bash", "Read", "Write"])


def asked_for_handoff(request: Request) -> bool:
    return any(rules.text("handoff").strip() in text for text in request.user_texts)


def generation(request: Request) -> int:
    """How many handoffs lie before the session that asks."""
    found = re.search(r"This is the handoff \(number (\d+)", request.all_text)
    return int(found[1]) if found else 0


@dataclass
class Filler:
    """Works with one tool call a session until ``generations`` handoffs have been made, then says that it is done.

    Attributes:
        generations: sessions that fill up.
        document: what a session writes when asked, one text or one a request.
        work: the tool calls of a full session.
    """

    generations: int = 1
    document: str | Callable[[Request], Reply | str] = DOCUMENT["en"]
    work: tuple[ToolUse, ...] = (ToolUse("Bash", {"command": "echo worked"}),)
    handoffs: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply | str:
        if request.agent_id:
            return self.subagent(request)
        if asked_for_handoff(request):
            self.handoffs.append(request)
            reply = self.document(request) if callable(self.document) else self.document
            return Reply(reply, usage=FULL) if isinstance(reply, str) else reply
        if generation(request) < self.generations:
            return Reply("working", blocks=list(self.work), usage=FULL)
        return Reply("all is done", usage=FRESH)

    def subagent(self, request: Request) -> Reply | str:
        if request.last_tool_results:
            return Reply("the subagent is done", usage=FULL)
        return Reply(blocks=[ToolUse("Bash", {"command": "sleep 0.3; echo below"})], usage=FULL)


@dataclass
class Ran:
    """What one run left."""

    row: StepResult
    events: list[Event]
    endpoint: ScriptedEndpoint
    runtime: Runtime
    sessions: list[str]

    def handoffs(self, state: str) -> list[dict[str, Any]]:
        return [e.data for e in self.events if e.kind == "handoff" and e.data["state"] == state]

    def notices(self) -> str:
        return "\n".join(e.text for e in self.events if e.kind == "notice")

    def main(self) -> list[Request]:
        """The main thread's requests."""
        return [r.request for r in self.endpoint.requests if not r.request.agent_id]

    def firsts(self) -> list[str]:
        """What each session that was begun in this run was told first, in order of their beginning."""
        first: dict[str, str] = {}
        for request in self.main():
            first.setdefault(str(request.session_id), request.user_texts[0])
        return list(first.values())


@dataclass
class Desk:
    """A workspace and its books, used by one run after another."""

    base: Path

    @property
    def workspace(self) -> Path:
        return self.base / "ws"

    @property
    def run_dir(self) -> Path:
        return self.base / "runs"

    @property
    def document(self) -> Path:
        return self.run_dir / "workbench" / "notes" / "交接-work.md"

    @property
    def archive(self) -> list[Path]:
        return sorted((self.run_dir / "workbench" / "notes" / "archive" / "交接").glob("*.md"))

    def run(
        self,
        model: Any,
        prompt: str = "do the work",
        *,
        spec: AgentSpec = SPEC,
        policy: Any = POLICY,
        window: int | None = None,
        workbench: bool = True,
        strict: bool = True,
        before: Callable[[Runtime], None] | None = None,
        on_event: Callable[[Runtime, Event], None] | None = None,
        **options: Any,
    ) -> Ran:
        """Run one step in this process; ``window`` is where the endpoint itself calls a prompt too long."""
        with ScriptedEndpoint(model, window=window) as endpoint:
            os.environ.update(endpoint.env())
            events: list[Event] = []
            sessions: list[str] = []
            runtime = Runtime(
                workspace=self.workspace,
                run_dir=self.run_dir,
                handoff=policy,
                workbench=workbench,
                resilience=Resilience(max_attempts=2, base_delay=0.01),
            )
            runtime.on_session = sessions.append

            def hear(event: Event) -> None:
                events.append(event)
                if on_event is not None:
                    on_event(runtime, event)

            if before is not None:
                before(runtime)
            options.setdefault("step_name", "work")
            try:
                row = asyncio.run(runtime.run(spec, prompt, on_event=hear, **options))
            finally:
                runtime.close()
            if strict:
                endpoint.check()
            return Ran(row, events, endpoint, runtime, sessions)
