"""A scripted model that plays the chain's roles, and the Python API driven with it."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flower.agents.channel import HumanChannel
from flower.agents.spec import AgentSpec
from flower.model import Event
from flower.runtime.runtime import Runtime
from flower.testing import Reply, Request, ScriptedEndpoint, ToolUse
from flower.workflow.starter import ChainPaths, starter_flow
from flower.workflow.workflow import Workflow

BRIEF = """## Goal
A file that says hello.

## Acceptance
- It is there and greets.

## Boundaries
No network.

## Unknowns and assumptions
none
"""
GOAL = "## Goal\nIt greets.\n\n## Checks\n1. the file is there\n2. it greets\n"
ACHIEVED = "Conclusion: achieved\nReason: seen\n1. pass: it is there\n2. pass: it greets"
NOT_YET = "Conclusion: not yet\nReason: no greeting\n1. pass: it is there\n2. fail: it does not greet"
CANNOT = "Conclusion: unreachable\nReason: no ears\n1. pass: it is there\n2. cannot: nobody can hear here"

DOER = AgentSpec(
    name="doer", instructions="You are flower's doer.", allowed_tools=["Read", "Glob", "Grep", "Write"]
)
_ROLE = re.compile(r"You are flower's (\w+)")


@dataclass
class Model:
    """What each role says.

    Attributes:
        verdicts: the judge's answers in order; the last one stays.
        looks: whether the judge calls a tool before it answers.
        writes: whether a round of work writes a new file.
        question: what the clarifier asks before it replies, empty for nothing.
        briefs, goals: the replies in order; the last one stays.
        slow: role → seconds before each of its replies.
    """

    verdicts: Sequence[str] = (ACHIEVED,)
    looks: bool = True
    writes: bool = True
    question: str = ""
    briefs: Sequence[str] = (BRIEF,)
    goals: Sequence[str] = (GOAL,)
    slow: dict[str, float] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=dict)
    _files: Any = field(default_factory=lambda: itertools.count(1))

    def __call__(self, request: Request) -> Reply:
        found = _ROLE.search(request.system_text)
        role = found[1] if found else "?"
        if not request.last_tool_results:
            self.said.setdefault(role, []).append(request.prompt)
        reply = getattr(self, f"_{role}", self._unknown)(request)
        return Reply(reply.text, reply.blocks, delay=self.slow.get(role, 0.0))

    def _next(self, answers: Sequence[str], key: str) -> Reply:
        done = self.said.setdefault(f"{key} answers", [])
        done.append("")
        return Reply(answers[min(len(done), len(answers)) - 1])

    def _clarifier(self, request: Request) -> Reply:
        if self.question and not request.last_tool_results:
            return Reply(blocks=[ToolUse("mcp__human__ask", {"question": self.question})])
        return self._next(self.briefs, "brief")

    def _judge(self, request: Request) -> Reply:
        if not any("Judge the goal." in text for text in request.user_texts):
            return self._next(self.goals, "goal")
        if self.looks and not request.last_tool_results:
            return Reply(blocks=[ToolUse("Glob", {"pattern": "*"})])
        return self._next(self.verdicts, "verdict")

    def _doer(self, request: Request) -> Reply:
        if self.writes and not request.last_tool_results:
            path = Path(os.environ["WORKSPACE"]) / f"hello{next(self._files)}.txt"
            return Reply(blocks=[ToolUse("Write", {"file_path": str(path), "content": "hello\n"})])
        return Reply("The greeting is written.")

    def _unknown(self, request: Request) -> Reply:
        return Reply("I have no part in this.")


@dataclass
class Chain:
    """A directory in which the chain is run again and again."""

    base: Path

    @property
    def workspace(self) -> Path:
        return self.base / "ws"

    @property
    def run_dir(self) -> Path:
        return self.base / "runs"

    @property
    def paths(self) -> ChainPaths:
        return ChainPaths.of(self.workspace)

    def run(
        self, model: Model, ask: str | None = None, *, channel: HumanChannel | None = None, **options: Any
    ) -> Ran:
        """Run the starter chain once, in this process."""
        channel = channel or self.channel()
        options.setdefault("coordinator", DOER)
        flow = starter_flow(ask, channel=channel, workspace=self.workspace, **options)
        return self.run_flow(flow, model, channel=channel)

    def run_flow(self, flow: Workflow, model: Any, *, channel: HumanChannel | None = None) -> Ran:
        """Run a workflow once, in this process."""
        with ScriptedEndpoint(model) as endpoint:
            os.environ.update(endpoint.env() | {"WORKSPACE": str(self.workspace)})
            events: list[Event] = []
            runtime = Runtime(
                workspace=self.workspace, run_dir=self.run_dir, channel=channel, resilience=False
            )
            try:
                ctx = asyncio.run(flow.run(runtime, on_event=events.append))
            finally:
                runtime.close()
            endpoint.check()
            return Ran(ctx, events, endpoint, runtime)

    def channel(self, **options: Any) -> HumanChannel:
        options.setdefault("timeout_s", 0)
        return HumanChannel(log_path=self.paths.asks, amend_path=self.paths.brief, **options)


@dataclass
class Ran:
    """What one run left."""

    ctx: dict[str, Any]
    events: list[Event]
    endpoint: ScriptedEndpoint
    runtime: Runtime

    @property
    def rows(self) -> list[str]:
        """The manifest rows of this run, in order."""
        return [row["step"] for row in self.runtime.manifest.rows() if row["run"] == self.runtime.run_id]

    @property
    def aborted(self) -> Any:
        return self.ctx.get("_aborted")

    def session(self, row: str) -> str:
        found = [
            r for r in self.runtime.manifest.rows() if r["step"] == row and r["run"] == self.runtime.run_id
        ]
        return str(found[-1]["session_id"])

    def requests(self, session_id: str) -> list[Request]:
        return [r.request for r in self.endpoint.requests if r.session_id == session_id]
