"""The demo's model works and judges with the real CLI's tools, and the verdict follows the files."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions, ClaudeSDKClient, HookMatcher, ResultMessage

from flower.agents import rules
from flower.documents import Goal, Verdict
from flower.scripted import verdict
from flower.scripted.demo import demo_script
from flower.testing import ScriptedEndpoint
from flower.workflow.judging import SENT_BACK
from flower.workflow.told import GO_ON, WORK

GOAL = Goal.parse(verdict.goal(page=True))


async def _allow(data: Any, tool_use_id: Any, context: Any) -> Any:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}


class Chain:
    """The work and the judging of a demo, without flower's own runtime."""

    def __init__(self, root: Path, endpoint: ScriptedEndpoint) -> None:
        self.ws, self.root, self.endpoint = root / "ws", root, endpoint
        self.ws.mkdir()
        self.session: str | None = None

    def _talk(self, prompt: str, role: str, tools: list[str], **more: Any) -> ResultMessage:
        options = ClaudeAgentOptions(
            cwd=self.ws,
            setting_sources=[],
            tools=tools,
            system_prompt={"type": "preset", "preset": "claude_code", "append": rules.text(role)},
            hooks={"PreToolUse": [HookMatcher(hooks=[_allow], on_failure="block")]},
            env={
                "PATH": os.defpath,
                "CLAUDE_CONFIG_DIR": str(self.root / "config"),
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
                **self.endpoint.env(),
            },
            **more,
        )

        async def talk() -> ResultMessage:
            async with ClaudeSDKClient(options) as client:
                await client.query(prompt)
                return [m async for m in client.receive_response() if isinstance(m, ResultMessage)][-1]

        result = asyncio.run(talk())
        assert not result.is_error, result.result
        return result

    def work(self, prompt: str) -> str:
        worker = AgentDefinition("works", rules.text("worker"), tools=["Bash", "Read", "Write", "Edit"])
        tools = ["Agent", "Bash", "Read", "Write", "Edit"]
        done = self._talk(prompt, "coordinator", tools, agents={"worker": worker}, resume=self.session)
        self.session = done.session_id
        return done.result or ""

    def judge(self, *tools: str) -> Verdict:
        prompt = rules.text("judge_goal").replace("{goal}", GOAL.render())
        said = self._talk(prompt, "judge", ["Read", "Glob", "Grep", *tools]).result or ""
        return Verdict.parse(said, GOAL.checks)


@pytest.fixture
def chain(tmp_path: Path) -> Any:
    with ScriptedEndpoint(demo_script) as endpoint:
        yield Chain(tmp_path, endpoint)
        endpoint.check()


@pytest.mark.soak
def test_rejected_for_a_real_reason_then_passed_then_broken_by_hand_and_mended(chain: Chain) -> None:
    chain.work(WORK.format(brief_path="b", brief=GOAL.statement, goal=GOAL.render()))
    first = chain.judge()
    assert first.conclusion == "not_yet"
    assert [n for n, (status, _) in first.checks.items() if status == "fail"] == [2]
    assert "<b>this</b>" in (chain.ws / "sample.html").read_text()

    chain.work(SENT_BACK.format(reason=first.reason, missing=first.missing))
    assert chain.judge().achieved
    assert "&lt;b&gt;this&lt;/b&gt;" in (chain.ws / "sample.html").read_text()

    script = chain.ws / "md2html.sh"
    script.write_text(script.read_text().replace('gsub(/</, "\\\\&lt;", s)', ""))
    broken = chain.judge()
    assert (broken.conclusion, broken.checks[2][0]) == ("not_yet", "fail")
    assert chain.judge("Bash").checks[2][0] == "fail"

    said = chain.work(GO_ON.format(brief_path="b", goal_note=""))
    assert "sample.html" in said
    assert "Continuing where we left off" in str(chain.endpoint.requests[-1].body)
    broken = chain.judge()
    assert "1 < 2" in (chain.ws / "sample.html").read_text()
    chain.work(SENT_BACK.format(reason=broken.reason, missing=broken.missing))
    assert chain.judge("Bash").achieved
