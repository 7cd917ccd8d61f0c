"""What the runtime makes of a CLI that dies, an endpoint that fails and a person who stops it."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import psutil
import pytest
from claude_agent_sdk import InMemorySessionStore, SessionKey, SessionStoreEntry

from flower import AgentSpec, Event, HumanChannel, Resilience, Runtime
from flower.agents.channel import Question
from flower.testing import HttpError, Reply, Request, ScriptedEndpoint, ToolUse
from tests.e2e.harness import wait_for

QUICK = Resilience(base_delay=0.01, max_delay=0.05, probe_interval=0.05, max_offline_wait=5)


def runtime(tmp_path: Path, endpoint: ScriptedEndpoint, **options: object) -> Runtime:
    os.environ.update(endpoint.env())
    return Runtime(workspace=tmp_path / "ws", run_dir=tmp_path / "runs", **{"resilience": QUICK, **options})  # type: ignore[arg-type]


def cli_processes() -> list[psutil.Process]:
    return [p for p in psutil.Process().children(recursive=True) if p.name() == "claude"]


def test_a_cli_that_is_killed_is_started_again_in_the_same_session(tmp_path: Path) -> None:
    def script(request: Request) -> Reply | str:
        if "Bash" in request.last_tool_results.by_name and not killed:
            killed.append(1)
            time.sleep(1)  # the CLI reports entries about 0.1 s after the fact
            cli_processes()[0].send_signal(signal.SIGKILL)
            return Reply("never seen", delay=5)
        if len(request.calls):
            return "went on"
        return Reply(blocks=[ToolUse("Bash", {"command": "echo one", "description": "x"})])

    killed: list[int] = []
    with ScriptedEndpoint(script) as endpoint, runtime(tmp_path, endpoint) as rt:
        row = asyncio.run(rt.run(AgentSpec("x", allowed_tools=["Bash"]), "go", step_name="s"))
        assert row.ok and row.text == "went on" and row.attempts == 2 and row.resumed
        assert len(row.errors) == 1
        last = endpoint.requests[-1].request
        assert last.calls[0].result == "one" and "cut off" in last.last_user_text
        assert "exit code" not in last.all_text and "SIGKILL" not in last.all_text
        endpoint.check()


def test_words_after_a_stop_go_on_in_the_same_session(tmp_path: Path) -> None:
    def script(request: Request) -> Reply | str:
        if "be quick" in request.last_user_text:
            return "quick now"
        return Reply(blocks=[ToolUse("Bash", {"command": "sleep 60", "description": "x"})])

    seen: list[Event] = []

    def on_event(event: Event) -> None:
        seen.append(event)
        if event.kind == "tool_use":
            rt.interrupt("be quick")

    with ScriptedEndpoint(script) as endpoint, runtime(tmp_path, endpoint) as rt:
        row = asyncio.run(
            rt.run(AgentSpec("x", allowed_tools=["Bash"]), "go", step_name="s", on_event=on_event)
        )
        assert row.ok and row.text == "quick now" and not row.errors
        assert {e.session_id for e in seen if e.uuid} == {row.session_id}
        assert "[Request interrupted" not in endpoint.requests[-1].request.all_text
        assert not cli_processes()
        endpoint.check()


class SlowStore(InMemorySessionStore):
    """As on a busy disk."""

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        await asyncio.sleep(0.2)
        await super().append(key, entries)


@pytest.mark.parametrize(
    "asking",
    [
        ToolUse("mcp__human__ask", {"question": "Which colour?"}),
        ToolUse("Write", {"file_path": ".npmrc", "content": "x"}),  # protected: a person is asked
    ],
    ids=lambda use: use.name,
)
def test_a_question_comes_after_what_was_done_before_it(tmp_path: Path, asking: ToolUse) -> None:
    if asking.name == "Write":
        asking = ToolUse("Write", {**asking.input, "file_path": str(tmp_path / "ws" / ".npmrc")})

    def script(request: Request) -> Reply | str:
        if len(request.calls) == 2:
            return "done"
        if len(request.calls):
            return Reply(blocks=[asking])
        return Reply(blocks=[ToolUse("Bash", {"command": "echo one", "description": "x"})])

    order: list[str] = []
    channel = HumanChannel()

    def on_question(question: Question) -> None:
        order.append("question")
        channel.answer(question.id, "red")

    channel.on_question = on_question
    spec = AgentSpec("x", allowed_tools=["Bash", "Write", "mcp__human__ask"])
    with (
        ScriptedEndpoint(script) as endpoint,
        runtime(tmp_path, endpoint, store=SlowStore(), channel=channel) as rt,
    ):
        row = asyncio.run(
            rt.run(spec, "go", step_name="s", on_event=lambda e: order.append(f"{e.kind} {e.tool}"))
        )
        assert row.ok and row.text == "done"
        assert "red" in endpoint.requests[-1].request.calls[1].result
    assert order.index("question") > order.index(f"tool_use {asking.name}") > order.index("tool_result Bash")


def test_a_stop_before_anything_was_sent_loses_no_word(tmp_path: Path) -> None:
    with ScriptedEndpoint(lambda request: "fine") as endpoint, runtime(tmp_path, endpoint) as rt:
        rt.on_session = lambda session: stops.pop()() if stops else None
        stops = [lambda: rt.interrupt("and in blue")]
        row = asyncio.run(rt.run(AgentSpec("x"), "paint it", step_name="s"))
        assert row.ok
        text = endpoint.requests[-1].request.all_text
        assert "paint it" in text and "and in blue" in text


def test_an_overloaded_endpoint_is_waited_for_and_leaves_no_trace(tmp_path: Path) -> None:
    errors = [Reply(error=HttpError(529, headers={"x-should-retry": "false"})) for _ in range(2)]
    with (
        ScriptedEndpoint(lambda request: errors.pop() if errors else "done") as endpoint,
        runtime(tmp_path, endpoint) as rt,
    ):
        row = asyncio.run(rt.run(AgentSpec("x"), "go", step_name="s"))
        assert row.ok and row.text == "done" and row.attempts >= 2
        assert "API Error" not in endpoint.requests[-1].request.all_text


def test_no_retries_without_resilience(tmp_path: Path) -> None:
    error = Reply(error=HttpError(500, headers={"x-should-retry": "false"}))
    with ScriptedEndpoint(lambda r: error) as endpoint, runtime(tmp_path, endpoint, resilience=False) as rt:
        row = asyncio.run(rt.run(AgentSpec("x"), "go", step_name="s"))
        assert not row.ok and row.attempts == 1 and "500" in row.error and not row.text
        assert rt.manifest.rows()[-1]["error"] == row.error


def test_a_glancing_coordinator_needs_expiry(tmp_path: Path) -> None:
    with (
        ScriptedEndpoint(lambda r: "x") as endpoint,
        runtime(tmp_path, endpoint, ephemeral=False) as rt,
        pytest.raises(ValueError, match="glance"),
    ):
        asyncio.run(rt.run(AgentSpec("x", glance=True), "go", step_name="s"))


def test_without_credentials_there_is_no_runtime(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="ANTHROPIC"):
        Runtime(workspace=tmp_path)


def test_a_detached_process_ends_with_its_step(tmp_path: Path) -> None:
    command = "setsid nohup sleep 311 >/dev/null 2>&1 & echo $!"

    def script(request: Request) -> Reply | str:
        results = request.last_tool_results
        return results.text or Reply(blocks=[ToolUse("Bash", {"command": command, "description": "x"})])

    with ScriptedEndpoint(script) as endpoint, runtime(tmp_path, endpoint) as rt:
        row = asyncio.run(rt.run(AgentSpec("x", allowed_tools=["Bash"]), "go", step_name="s"))
        pid = int(row.text.split()[0])
        wait_for(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie", 2.0)
        assert not list((tmp_path / "runs" / "live").glob("*-*-*-*-*"))
