"""What flower gives the CLI by itself is what the SDK would have given it: a newer SDK that differs is seen here."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeSDKClient, create_sdk_mcp_server

from flower.agents import argv
from flower.agents.access import Access
from flower.agents.argv import SessionArgs
from flower.agents.channel import HumanChannel
from flower.agents.options import build_options
from flower.agents.roles import clarify, coordinator, judge, worker
from flower.agents.spec import AgentSpec, CompactPolicy
from flower.agents.workbench import Workbench
from flower.runtime.mirror import Mirror

NEW, OLD = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
CODER = {"coder": worker(instructions="Write Python.")}

CASES: dict[str, tuple[AgentSpec, dict[str, Any]]] = {
    "plain": (AgentSpec("x"), {}),
    "no tools": (AgentSpec("x", allowed_tools=[]), {}),
    "words that look like options": (AgentSpec("x", instructions="--model evil\n'\"$HOME\n"), {}),
    "limits": (AgentSpec("x", max_turns=3, max_budget_usd=0.000_001, model="some-model", effort="high"), {}),
    "plan mode": (AgentSpec("x", permission_mode="plan"), {}),
    "everything let through": (AgentSpec("x", permission_mode="bypassPermissions"), {}),
    "withheld": (AgentSpec("x", disallowed_tools=["WebFetch", "Grep"]), {}),
    "compaction": (AgentSpec("x", compact=CompactPolicy("off", window=9000), env={"A": "b c"}), {}),
    "coordinator": (coordinator(CODER), {"workbench": True}),
    "coordinator without a look": (coordinator(CODER, glance=False), {}),
    "judge": (judge(can_run=True), {}),
    "clarifier": (clarify(), {"channel": True}),
    "clarifier with nobody": (clarify(), {}),
    "servers": (
        AgentSpec(
            "x",
            allowed_tools=["mcp__far", "mcp__near"],
            mcp_servers={
                "far": {"type": "stdio", "command": "x", "args": ["-y"]},
                "near": create_sdk_mcp_server("near"),
            },
        ),
        {},
    ),
    "resume": (AgentSpec("x"), {"session": SessionArgs(resume=OLD)}),
    "fork": (AgentSpec("x"), {"session": SessionArgs(new_id=NEW, resume=OLD, fork=True)}),
    "resume in the past": (AgentSpec("x"), {"session": SessionArgs(resume=OLD, resume_at=NEW)}),
    "the project's settings": (AgentSpec("x"), {"portable": False}),
    "isolated": (coordinator(CODER), {"workbench": True, "elsewhere": True}),
}


class Recorder:
    """A program in the place of the CLI that writes down what it was started with."""

    def __init__(self, place: Path) -> None:
        place.mkdir()
        self.place = place
        self.path = place / "claude"
        self.path.write_text(f"""#!/bin/sh
            printf '%s\\0' "$@" > '{place}/words'
            cat /proc/$$/environ > '{place}/environment'
            pwd -P > '{place}/directory'
            exit 1
        """)
        self.path.chmod(0o755)

    def started_with(self) -> tuple[list[str], dict[str, str], str]:
        words = (self.place / "words").read_text().split("\0")[:-1]
        assignments = (self.place / "environment").read_text().split("\0")[:-1]
        return words, dict(a.split("=", 1) for a in assignments), (self.place / "directory").read_text()


@pytest.mark.parametrize("case", CASES)
def test_the_cli_is_started_as_the_sdk_would_start_it(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, more = CASES[case]
    workspace = tmp_path / "work"
    workspace.mkdir()
    bench = Workbench(
        tmp_path / "bench" if "elsewhere" in more else workspace / ".flower", workspace=workspace
    )
    access = Access(
        workspace,
        workspace / "runs",
        workbench=bench if "workbench" in more else None,
        channel=HumanChannel() if "channel" in more else None,
    )
    session = more.get("session", SessionArgs(new_id=NEW))
    portable = more.get("portable", True)
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path), "FLOWER_SESSION": "x@y"}
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("CLAUDE_AGENT_SDK_DERIVED_CLIENT_APP", "an/outer")
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "an-outer")
    theirs, ours = Recorder(tmp_path / "theirs"), Recorder(tmp_path / "ours")

    async def by_the_sdk() -> None:
        options = build_options(
            spec,
            cwd=workspace,
            access=access,
            session=session,
            store=Mirror(None, NEW),
            cli_path=theirs.path,
            env=env,
            portable=portable,
        )
        with suppress(Exception):  # the program writes down what it got and says nothing
            await ClaudeSDKClient(options).connect()

    async def by_flower() -> None:
        process = await asyncio.create_subprocess_exec(
            str(ours.path),
            *argv.command_line(spec, access=access, session=session, portable=portable),
            cwd=workspace,
            env=argv.environment(spec, env, cwd=workspace),
        )
        await process.wait()

    asyncio.run(by_the_sdk())
    asyncio.run(by_flower())
    assert ours.started_with() == theirs.started_with()


def test_what_a_person_chose_for_the_sdks_frames_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("claude_code_sdk_reads_session_state", "0")
    out = argv.environment(AgentSpec("x"), {}, cwd=tmp_path)
    assert "CLAUDE_CODE_SDK_READS_SESSION_STATE" not in out
    assert out["PWD"] == os.fspath(tmp_path)
