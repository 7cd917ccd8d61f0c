"""Recorded sessions, fed back to the real CLI: what arrives at the endpoint is what the model must know, and
no more.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, project_key_for_directory

from flower.books.rewriting import PruningSessionStore
from flower.testing import ScriptedEndpoint
from flower.transcript.chain import check_chain
from flower.transcript.messages import wire_messages
from flower.transcript.prune import INTERRUPTED, ORPHANED
from flower.transcript.wire import check_messages

CORPUS = Path(__file__).parents[1] / "data" / "transcripts"


@dataclass(frozen=True)
class Case:
    """What a resumed session's first request must and must not say.

    Attributes:
        knows, not_told: texts that must and must not be there.
        cli_mends: what is stored says it wrongly, but the CLI leaves it out by itself: only `load` tells.
        sound: a short recording with nothing wrong in it: `load` gives what is stored, so nothing can tell
        whether it was rewritten. Cut off in its last call it can.
    """

    knows: tuple[str, ...]
    not_told: tuple[str, ...] = ()
    cli_mends: bool = False
    sound: bool = False


CASES = {
    "tools": Case(("content of a", "echo one"), sound=True),
    "parallel": Case(("left", "right", "Exit code 3", "three at once"), sound=True),
    "subagent": Case(("the helper reports",), ("echo from the helper",), sound=True),
    "hook_denials": Case(("rm third-file", "not yours to run"), ("rm first-file", "rm second-file")),
    "human_denials": Case(
        ("touch first-file", "touch second-file", "please leave that file alone"), sound=True
    ),
    "interrupted_tool": Case(
        (INTERRUPTED, "# deploying", "what now"), ("doesn't want to", "[Request interrupted")
    ),
    "interrupted_stream": Case(("what now",), ("[Request interrupted", "No response requested")),
    "api_errors": Case(("begun", "go on"), ("API Error", "overloaded"), cli_mends=True),
    "killed_in_tools": Case((ORPHANED, "quick", "tail -f /dev/null # first"), ("[Tool call interrupted",)),
    "fork": Case(("echo original", "branch off"), sound=True),
    "compaction": Case(("The story so far", "after it"), ("echo one",), sound=True),
    "thinking": Case(("  let me\\n think  ", "deeper"), sound=True),
    "images": Case(("image/png",), sound=True),
    "looks": Case(("`echo state-05` has expired", '"state-13"'), ('"state-00"', '"state-05"')),
    "large": Case(
        (".flower/spill/", "20 line of a long build log, number 70"),
        ("00 line of a long build log, number 70",),
    ),
}


def recorded(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / f"{name}.jsonl").read_text().splitlines()]


class MirrorOnly:
    """Takes what the CLI stores and gives nothing back: the resume file is already in its place."""

    def __init__(self, store: Any) -> None:
        self.append = store.append

    async def load(self, key: Any) -> None:
        return None


@dataclass
class Resumed:
    entries: list[dict[str, Any]]
    request: str
    problems: list[Any]
    after: list[dict[str, Any]]


def resume(name: str, place: Path, *, rewriting: bool = True) -> Resumed:
    """Stores the recording, writes the resume file, and asks the CLI to go on with it."""
    workspace, config = place / "project", place / "config"
    workspace.mkdir()
    entries = recorded(name)
    session = next(e["sessionId"] for e in entries if e.get("uuid"))
    key = {"project_key": project_key_for_directory(str(workspace)), "session_id": session}
    target = config / "projects" / key["project_key"] / f"{session}.jsonl"

    async def go() -> Resumed:
        store = PruningSessionStore(place / "sessions.db", workspace)
        await store.append(key, entries)
        if rewriting:
            await store.materialise(key, target)
        else:
            target.parent.mkdir(parents=True)
            target.write_text("".join(json.dumps(e) + "\n" for e in entries))
        with ScriptedEndpoint(default="I go on.", strict=False) as endpoint:
            env = {
                **endpoint.env(),
                "CLAUDE_CONFIG_DIR": str(config),
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
                "CLAUDE_CODE_MAX_RETRIES": "0",
            }
            options = ClaudeAgentOptions(
                cwd=workspace,
                setting_sources=[],
                tools=["Agent", "Bash", "Read"],
                resume=session,
                session_store=MirrorOnly(store),  # type: ignore[arg-type]
                session_store_flush="eager",
                env=env,
            )
            async with ClaudeSDKClient(options) as client:
                await client.query("carry on please")
                async for _ in client.receive_response():
                    pass
                await asyncio.sleep(0.3)
            fed = [json.loads(line) for line in target.read_text().splitlines()]
            body = endpoint.requests[0].request.body
            after = await store.load(key) or []
            store.close()
            # After a compaction the CLI sends a system item with nothing in it.
            sent = [m for m in body["messages"] if m["role"] != "system" or m["content"]]
            return Resumed(fed, json.dumps(sent), check_messages(sent), after)

    return asyncio.run(go())


def misses(case: Case, request: str) -> list[str]:
    """What is wrong with what the model was sent."""
    wrong = [f"not told: {text}" for text in case.knows if text not in request]
    return wrong + [f"told: {text}" for text in case.not_told if text in request]


def test_every_recording_has_a_case() -> None:
    assert {p.name.split(".")[0] for p in CORPUS.glob("*.jsonl")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_session_goes_on_and_knows_what_it_must(name: str, tmp_path: Path) -> None:
    resumed = resume(name, tmp_path)
    assert misses(CASES[name], resumed.request) == []
    assert "carry on please" in resumed.request
    assert resumed.problems == []
    assert check_chain(resumed.after) == []
    assert "I go on." in json.dumps(wire_messages(resumed.after)), (
        "what came after the resume hangs on the chain"
    )
    assert check_messages(wire_messages(resumed.after)) == []


@pytest.mark.parametrize("name", [n for n, case in CASES.items() if not case.sound and not case.cli_mends])
def test_without_the_rewriting_the_model_is_misled(name: str, tmp_path: Path) -> None:
    assert misses(CASES[name], resume(name, tmp_path, rewriting=False).request)


def loaded(entries: list[dict[str, Any]], place: Path) -> list[dict[str, Any]]:
    store = PruningSessionStore(place / "alone.db", place)
    key = {"project_key": "p", "session_id": "s"}
    asyncio.run(store.append(key, entries))
    found = asyncio.run(store.load(key)) or []
    store.close()
    return found


@pytest.mark.parametrize("name", CASES)
def test_load_itself_says_what_the_model_must_know(name: str, tmp_path: Path) -> None:
    """Without the CLI, which mends some of it: what is stored fails where there is something to mend."""
    case, entries = CASES[name], recorded(name)
    fed = loaded(entries, tmp_path)
    if case.sound:
        assert fed == entries
    else:
        assert wrong(case, entries)
    assert wrong(case, fed) == []


@pytest.mark.parametrize("name", [n for n, case in CASES.items() if case.sound])
def test_a_sound_recording_cut_off_in_its_last_call_is_mended(name: str, tmp_path: Path) -> None:
    entries = recorded(name)
    calls = [n for n, e in enumerate(entries) if e["type"] == "assistant" and '"tool_use"' in json.dumps(e)]
    cut = entries[: calls[-1] + 1]
    assert [p.code for p in check_messages(wire_messages(cut))] == ["tool_use_without_result"]
    fed = loaded(cut, tmp_path)
    assert check_messages(wire_messages(fed)) == [] and check_chain(fed) == []
    assert ORPHANED in json.dumps(wire_messages(fed))


def wrong(case: Case, entries: list[dict[str, Any]]) -> list[Any]:
    messages = wire_messages(entries)
    return [*misses(case, json.dumps(messages)), *check_messages(messages), *check_chain(entries)]


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.agent-*.jsonl")), ids=lambda p: p.name)
def test_recorded_subagents_keep_the_rules(path: Path, tmp_path: Path) -> None:
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    thread = next(e["agentId"] for e in entries if e.get("isSidechain"))
    key = {"project_key": "p", "session_id": "s", "subpath": f"subagents/agent-{thread}"}
    store = PruningSessionStore(tmp_path / "s.db", tmp_path)
    asyncio.run(store.append(key, entries))
    loaded = asyncio.run(store.load(key))
    store.close()
    assert check_chain(loaded) == []
    messages = wire_messages(loaded, thread=thread)
    assert check_messages(messages) == [] and "echo from the helper" in json.dumps(messages)
