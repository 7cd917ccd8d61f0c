"""The endpoint is good enough for the real CLI: what it sends is accepted, what it is told happens."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    AgentDefinition,
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
)

from flower.testing import HttpError, Reply, Rule, ScriptedEndpoint, Text, Thinking, ToolUse

Run = Callable[..., list[Any]]


async def _allow(data: Any, tool_use_id: Any, context: Any) -> Any:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Sends prompts to one client of the real CLI and returns all its messages."""

    def options(endpoint: ScriptedEndpoint, **more: Any) -> ClaudeAgentOptions:
        workspace = tmp_path / "ws"
        workspace.mkdir(exist_ok=True)
        env = {
            "HOME": str(tmp_path / "home"),
            "PATH": os.defpath,
            "CLAUDE_CONFIG_DIR": str(tmp_path / "config"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
            "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
            "CLAUDE_CODE_MAX_RETRIES": "2",
        }
        settings: dict[str, Any] = {
            "cwd": workspace,
            "setting_sources": [],
            "tools": ["Agent", "Bash", "Read", "Write"],
            "hooks": {"PreToolUse": [HookMatcher(hooks=[_allow], on_failure="block")]},
            "env": env | endpoint.env(),
        }
        return ClaudeAgentOptions(**(settings | more))

    def run(endpoint: ScriptedEndpoint, *prompts: str, **more: Any) -> list[Any]:
        async def talk() -> list[Any]:
            seen: list[Any] = []
            async with ClaudeSDKClient(options(endpoint, **more)) as client:
                for prompt in prompts:
                    await client.query(prompt)
                    seen += [m async for m in client.receive_response()]
            return seen

        return asyncio.run(talk())

    return run


def result(messages: list[Any]) -> ResultMessage:
    return next(m for m in reversed(messages) if isinstance(m, ResultMessage))


def blocks(messages: list[Any], kind: type) -> list[Any]:
    return [b for m in messages if isinstance(m, AssistantMessage) for b in m.content if isinstance(b, kind)]


def test_text_usage_and_session_arrive(run: Run) -> None:
    usage = {"input_tokens": 7, "cache_read_input_tokens": 1000, "output_tokens": 3}
    with ScriptedEndpoint([Rule("hello", Reply("good day", usage=usage))]) as endpoint:
        messages = run(endpoint, "hello")
        endpoint.check()
    done = result(messages)
    assert done.result == "good day"
    assert done.usage is not None and done.usage["cache_read_input_tokens"] == 1000
    assert [r.session_id for r in endpoint.requests] == [done.session_id]
    assert endpoint.requests[0].agent_id is None


def test_tools_run_and_thinking_comes_back_unchanged(run: Run, tmp_path: Path) -> None:
    hello = tmp_path / "ws" / "hello.sh"
    script = [
        Rule(
            "write it",
            Reply(
                "writing",
                blocks=[
                    Thinking("first the file"),
                    ToolUse("Write", {"file_path": str(hello), "content": "echo w0rks"}),
                ],
            ),
            times=1,
        ),
        Rule(
            after="Write",
            reply=Reply(blocks=[Thinking("run it"), ToolUse("Bash", {"command": f"sh {hello}"})]),
        ),
        Rule(after="Bash", reply=lambda r: f"it says {r.last_tool_results.by_name['Bash'][0]}"),
    ]
    with ScriptedEndpoint(script) as endpoint:
        messages = run(endpoint, "write it")
        endpoint.check()
    assert result(messages).result == "it says w0rks"
    assert hello.read_text() == "echo w0rks"
    assert [b.thinking for b in blocks(messages, ThinkingBlock)] == ["first the file", "run it"]
    assert "first the file" in str(endpoint.requests[-1].body)


def test_parallel_tool_calls_get_their_own_results(run: Run) -> None:
    both = [ToolUse("Bash", {"command": "echo one"}), ToolUse("Bash", {"command": "echo two"})]
    script = [Rule("both", Reply(blocks=[Text("two at once"), *both])), Rule(after="Bash", reply="done")]
    with ScriptedEndpoint(script) as endpoint:
        run(endpoint, "both")
        endpoint.check()
    results = endpoint.requests[-1].request.last_tool_results
    assert sorted(results.by_name["Bash"]) == ["one", "two"]
    assert len(results.by_id) == 2


def test_a_subagent_asks_under_its_own_id(run: Run) -> None:
    task = {
        "description": "a task",
        "prompt": "SUBTASK",
        "subagent_type": "worker",
        "run_in_background": False,
    }
    script = [
        Rule("delegate", Reply(blocks=[ToolUse("Agent", task)]), times=1),
        Rule("SUBTASK", Reply(blocks=[ToolUse("Bash", {"command": "echo deep"})]), agent=True),
        Rule(agent=True, after="Bash", reply=lambda r: "the worker saw " + r.last_tool_results.text),
        Rule(agent=False, after="Agent", reply="finished"),
    ]
    worker = AgentDefinition(description="works", prompt="You work.", tools=["Bash"], model="inherit")
    with ScriptedEndpoint(script) as endpoint:
        messages = run(endpoint, "delegate", agents={"worker": worker})
        endpoint.check()
    assert result(messages).result == "finished"
    assert "the worker saw deep" in endpoint.requests[-1].request.last_tool_results.text
    assert [r.agent_id is None for r in endpoint.requests] == [True, False, False, True]
    assert len({r.session_id for r in endpoint.requests}) == 1


def test_an_overloaded_answer_is_retried(run: Run) -> None:
    busy = Reply(error=HttpError(529, headers={"retry-after": "0"}))
    with ScriptedEndpoint([Rule("hello", busy, times=1), Rule("hello", "at last")]) as endpoint:
        messages = run(endpoint, "hello")
    assert result(messages).result == "at last"
    assert [r.status for r in endpoint.requests] == [529, 200]
    retries = [m for m in messages if isinstance(m, SystemMessage) and m.subtype == "api_retry"]
    assert [m.data["error_status"] for m in retries] == [529]


def test_a_stream_cut_in_the_middle_is_asked_for_again(run: Run) -> None:
    script = [
        Rule("hello", Reply("half of a long sentence " * 9, drop_after=5), times=1),
        Rule("hello", "whole"),
    ]
    with ScriptedEndpoint(script) as endpoint:
        messages = run(endpoint, "hello")
    assert result(messages).result == "whole"
    assert endpoint.requests[0].outcome == "dropped"
    assert endpoint.requests[1].outcome == "sent"
    assert "half" not in endpoint.requests[1].request.all_text


def test_a_second_turn_brings_the_first_and_a_resume_brings_both(run: Run) -> None:
    with ScriptedEndpoint(lambda r: f"answer {len(r.user_texts)}") as endpoint:
        first = run(endpoint, "one", "two")
        run(endpoint, "three", resume=result(first).session_id)
        endpoint.check()
    assert [b.text for b in blocks(first, TextBlock)] == ["answer 1", "answer 2"]
    assert "one" in endpoint.requests[-1].request.all_text
    assert "answer 2" in endpoint.requests[-1].request.all_text


def test_a_prompt_longer_than_the_window_is_the_cli_s_prompt_too_long(run: Run) -> None:
    with ScriptedEndpoint(
        [Rule("hello", Reply("x", usage={"input_tokens": 250_000}))], window=200_000
    ) as endpoint:
        messages = run(endpoint, "hello")
    assert result(messages).is_error
    assert result(messages).terminal_reason == "prompt_too_long"
    assert endpoint.problems[0].message == "prompt is too long: 250000 tokens > 200000 maximum"


def test_an_unanswered_request_is_loud(run: Run) -> None:
    with ScriptedEndpoint([Rule("something else", "x")]) as endpoint:
        messages = run(endpoint, "hello")
        with pytest.raises(AssertionError, match="no rule of the script matches"):
            endpoint.check()
    assert result(messages).is_error
    assert {r.status for r in endpoint.requests} == {400}
