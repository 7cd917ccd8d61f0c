"""Records small transcripts from real CLI runs against the scripted endpoint. `python -m tests.data.record
[NAME…]`

Each scenario is what can happen to a session. Run it again when the pinned CLI is raised; the files are
committed.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import struct
import sys
import tempfile
import zlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from claude_agent_sdk import (
    AgentDefinition,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    InMemorySessionStore,
    PermissionResultAllow,
    PermissionResultDeny,
)

from flower.testing import HttpError, Reply, Rule, ScriptedEndpoint, Thinking, ToolUse

DIRECTORY = Path(__file__).parent / "transcripts"
NEUTRAL = "/home/somebody/project"
LARGE = "line of a long build log, number"
SETTLE_S = 0.4
"""Entries reach the store about a tenth of a second after their message."""


def bash(*commands: str, think: str = "") -> Reply:
    uses = [ToolUse("Bash", {"command": command, "description": "run it"}) for command in commands]
    return Reply(blocks=[*([Thinking(think)] if think else []), *uses])


@dataclass
class Stage:
    """One recording: a workspace, a configuration, an endpoint and the store that is written.

    Attributes:
        sessions: the ids of its sessions in the order of their beginning.
    """

    workspace: Path
    config: Path
    store: Any = field(default_factory=InMemorySessionStore)
    denied: tuple[str, ...] = ()
    ask: bool = False

    def options(self, endpoint: ScriptedEndpoint, **more: Any) -> ClaudeAgentOptions:
        env = {
            **endpoint.env(),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
            "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
        }
        if self.ask:
            more["can_use_tool"] = self._person
        else:
            more["hooks"] = {"PreToolUse": [HookMatcher(hooks=[self._hook], on_failure="block")]}
        prompt = {"type": "preset", "preset": "claude_code", "append": "Recorded.", "snapshot": False}
        return ClaudeAgentOptions(
            cwd=self.workspace,
            setting_sources=[],
            system_prompt=prompt,  # type: ignore[arg-type]
            tools=["Agent", "Bash", "Read"],
            agents={"helper": AgentDefinition("helps", "You help.", tools=["Bash"], model="inherit")},
            session_store=self.store,
            session_store_flush="eager",
            env=env,
            **more,
        )

    async def _hook(self, data: Any, ident: str | None, context: Any) -> Any:
        bad = any(word in json.dumps(data.get("tool_input")) for word in self.denied)
        answer = {"hookEventName": "PreToolUse", "permissionDecision": "deny" if bad else "allow"}
        if bad:
            answer["permissionDecisionReason"] = "that is not yours to run"
        return {"hookSpecificOutput": answer}

    async def _person(self, name: str, given: dict[str, Any], context: Any) -> Any:
        if any(word in json.dumps(given) for word in self.denied):
            return PermissionResultDeny(message="please leave that file alone")
        return PermissionResultAllow()


async def tell(client: ClaudeSDKClient, *prompts: str) -> None:
    for prompt in prompts:
        await client.query(prompt)
        async for _ in client.receive_response():
            pass
    await asyncio.sleep(SETTLE_S)


@contextlib.contextmanager
def serving(*rules: Rule, strict: bool = True) -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(list(rules), default="That went well.", strict=strict) as endpoint:
        yield endpoint


async def tools(stage: Stage) -> None:
    (stage.workspace / "a.txt").write_text("content of a\n")
    read = Reply(blocks=[ToolUse("Read", {"file_path": str(stage.workspace / "a.txt")})])
    with serving(Rule("first", bash("echo one"), times=1), Rule("second", read, times=1)) as ep:
        async with ClaudeSDKClient(stage.options(ep)) as client:
            await tell(client, "first", "second")


async def parallel(stage: Stage) -> None:
    calls = bash("echo left", "exit 3", "echo right", think="three at once")
    with serving(Rule("work", calls, times=1)) as ep:
        async with ClaudeSDKClient(stage.options(ep)) as client:
            await tell(client, "work")


async def subagent(stage: Stage) -> None:
    given = {
        "description": "help",
        "prompt": "list things",
        "subagent_type": "helper",
        "run_in_background": False,
    }
    rules = [
        Rule(lambda r: bool(r.agent_id), bash("echo from the helper"), times=1),
        Rule(lambda r: bool(r.agent_id), "the helper reports"),
        Rule("delegate", Reply(blocks=[ToolUse("Agent", given)]), times=1),
    ]
    with serving(*rules) as ep:
        async with ClaudeSDKClient(stage.options(ep)) as client:
            await tell(client, "delegate")


async def hook_denials(stage: Stage) -> None:
    stage.denied = ("rm ",)
    rules = [Rule(n, bash(f"rm {n}-file"), times=1) for n in ("first", "second", "third")]
    with serving(*rules) as ep:
        async with ClaudeSDKClient(stage.options(ep)) as client:
            await tell(client, "first", "second", "third")


async def human_denials(stage: Stage) -> None:
    stage.denied, stage.ask = ("touch ",), True
    rules = [Rule(n, bash(f"touch {n}-file"), times=1) for n in ("first", "second")]
    with serving(*rules) as ep:
        async with ClaudeSDKClient(stage.options(ep)) as client:
            await tell(client, "first", "second")


async def interrupted_tool(stage: Stage) -> None:
    with serving(Rule("deploy", bash("tail -f /dev/null # deploying"), times=1)) as ep:
        async with ClaudeSDKClient(stage.options(ep)) as client:
            await _interrupt(client, "deploy")
            await tell(client, "what now")


async def interrupted_stream(stage: Stage) -> None:
    slow = Reply("a long answer " * 50, chunk_delay=0.3)
    with serving(Rule("tell me", slow, times=1)) as ep:
        async with ClaudeSDKClient(stage.options(ep)) as client:
            await _interrupt(client, "tell me")
            await tell(client, "what now")


async def _interrupt(client: ClaudeSDKClient, prompt: str) -> None:
    await client.query(prompt)

    async def soon() -> None:
        await asyncio.sleep(2)
        await client.interrupt()

    task = asyncio.create_task(soon())
    async for _ in client.receive_response():
        pass
    await task


async def api_errors(stage: Stage) -> None:
    fault = Reply(
        error=HttpError(529, message="the servers are overloaded", headers={"x-should-retry": "false"})
    )
    rules = [Rule("begin", bash("echo begun"), times=1), Rule("more", fault, times=1)]
    with serving(*rules) as ep:
        async with ClaudeSDKClient(stage.options(ep)) as client:
            await tell(client, "begin", "more", "go on")


async def killed_in_tools(stage: Stage) -> None:
    with serving(Rule("long", bash("echo quick", "tail -f /dev/null # first", think="two"), times=1)) as ep:
        client = ClaudeSDKClient(stage.options(ep))
        await client.connect()
        await client.query("long")
        await asyncio.sleep(2.5)
        tree = psutil.Process().children(recursive=True)
        for process in tree:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        with contextlib.suppress(Exception):  # whatever the SDK makes of a dead CLI
            await client.disconnect()


async def fork(stage: Stage) -> None:
    with serving(Rule("original", bash("echo original"), times=1)) as ep:
        async with ClaudeSDKClient(stage.options(ep)) as client:
            await tell(client, "original")
        first = next(iter(stage.store._store)).split("/")[1]
        async with ClaudeSDKClient(stage.options(ep, resume=first, fork_session=True)) as client:
            await tell(client, "branch off")


async def compaction(stage: Stage) -> None:
    summary = "<summary>The story so far: one was echoed.</summary>"
    rules = [Rule("work", bash("echo one"), times=1), Rule("summary", summary)]
    # Not strict: after a compaction the CLI sends a system item with nothing in it.
    with serving(*rules, strict=False) as ep:
        async with ClaudeSDKClient(stage.options(ep)) as client:
            await tell(client, "work", "/compact", "after it")


async def thinking(stage: Stage) -> None:
    rules = [Rule("ponder", bash("echo thought", think="  let me\n think  "), times=1)]
    rules.append(Rule("again", Reply("so be it", blocks=[Thinking("deeper")]), times=1))
    with serving(*rules) as ep:
        async with ClaudeSDKClient(stage.options(ep)) as client:
            await tell(client, "ponder", "again")


async def images(stage: Stage) -> None:
    picture = stage.workspace / "picture.png"
    picture.write_bytes(png())
    read = Reply(blocks=[ToolUse("Read", {"file_path": str(picture)})])
    with serving(Rule("look", read, times=1)) as ep:
        async with ClaudeSDKClient(stage.options(ep)) as client:
            await tell(client, "look")


async def looks(stage: Stage) -> None:
    rules = [Rule(f"look {n:02}", bash(f"echo state-{n:02}"), times=1) for n in range(14)]
    with serving(*rules) as ep:
        async with ClaudeSDKClient(stage.options(ep)) as client:
            await tell(client, *(f"look {n:02}" for n in range(14)))


async def large(stage: Stage) -> None:
    rules = [
        Rule(f"build {n:02}", bash(f'for i in $(seq 70); do echo "{n:02} {LARGE} $i"; done'), times=1)
        for n in range(42)
    ]
    with serving(*rules) as ep:
        async with ClaudeSDKClient(stage.options(ep)) as client:
            await tell(client, *(f"build {n:02}" for n in range(42)))


def png() -> bytes:
    """One red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    body = zlib.compress(b"\x00\xff\x00\x00")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


SCENARIOS: dict[str, Callable[[Stage], Awaitable[None]]] = {
    scene.__name__: scene
    for scene in (
        tools,
        parallel,
        subagent,
        hook_denials,
        human_denials,
        interrupted_tool,
        interrupted_stream,
        api_errors,
        killed_in_tools,
        fork,
        compaction,
        thinking,
        images,
        looks,
        large,
    )
}


async def record(name: str) -> list[Path]:
    """Play one scenario and write its transcripts; the main one of its last session, and its subagents'."""
    with tempfile.TemporaryDirectory() as place:
        stage = Stage(Path(place).resolve() / "project", Path(place).resolve() / "config")
        stage.workspace.mkdir()
        await SCENARIOS[name](stage)
        keys = list(stage.store._store)
        session = keys[-1].split("/")[1]
        written = []
        for key in (k for k in keys if k.split("/")[1] == session):
            sub = key.split("/", 2)[2] if key.count("/") > 1 else ""
            target = DIRECTORY / (f"{name}.{Path(sub).name}.jsonl" if sub else f"{name}.jsonl")
            text = "".join(json.dumps(e, separators=(",", ":")) + "\n" for e in stage.store._store[key])
            target.write_text(_neutral(text, stage, place))
            written.append(target)
        return written


def _neutral(text: str, stage: Stage, place: str) -> str:
    swaps = {str(stage.workspace): NEUTRAL, str(stage.config): "/home/somebody/config", place: "/tmp/place"}
    swaps |= {os.uname().release: "6.0.0", base64.b64encode(os.uname().nodename.encode()).decode(): "host"}
    for here, there in swaps.items():
        text = text.replace(here, there)
    return text


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        path = os.environ["PATH"]
        os.environ.clear()
        os.environ.update(PATH=path, HOME=home, LANG="C.UTF-8")
        DIRECTORY.mkdir(exist_ok=True)
        for name in sys.argv[1:] or SCENARIOS:
            for old in [*DIRECTORY.glob(f"{name}.jsonl"), *DIRECTORY.glob(f"{name}.agent*.jsonl")]:
                old.unlink()
            for target in asyncio.run(record(name)):
                print(
                    f"{target.relative_to(DIRECTORY.parent)}  {target.stat().st_size / 1000:.0f} KB",
                    flush=True,
                )


if __name__ == "__main__":
    main()
