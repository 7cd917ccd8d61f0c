"""Guards as functions: which calls they refuse."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flower.agents import roles
from flower.agents.access import Access
from flower.agents.hooks import (
    delegate_guard,
    foreground,
    guards,
    isolate_guard,
    pre_tool_hook,
    whitelist_guard,
)
from flower.agents.hooks.books import books_guard, search_around
from flower.agents.hooks.call import Call
from flower.agents.hooks.guards import listed
from flower.agents.hooks.safety import unattended
from flower.agents.spec import AgentSpec
from flower.agents.workbench import Workbench
from flower.transcript import expire
from flower.transcript.rewrite import Rules, rewrite_entries
from flower.transcript.shell import is_ephemeral

HERE = Path("/w")


def call(
    tool: str, cwd: Path = HERE, agent: str = "", kind: str = "", mode: str = "default", **given_: Any
) -> Call:
    return Call(tool, given_, cwd, agent_id=agent, agent_type=kind, mode=mode)


def decide(spec: AgentSpec, access: Access, one: Call) -> dict[str, Any]:
    data = {
        "tool_name": one.tool,
        "tool_input": dict(one.input),
        "cwd": str(one.cwd),
        "permission_mode": one.mode,
    }
    if one.agent_id:
        data |= {"agent_id": one.agent_id, "agent_type": one.agent_type}

    async def answer() -> dict[str, Any]:
        return await pre_tool_hook(spec, access)(data, "t", None)

    out: dict[str, Any] = asyncio.run(answer())["hookSpecificOutput"]
    return out


def test_a_whitelist_knows_servers() -> None:
    assert listed("mcp__a__x", ["mcp__a"]) and listed("mcp__a__x", ["mcp__a__*"])
    assert not listed("mcp__ab__x", ["mcp__a"]) and not listed("Bash", ["mcp__a"])


def test_a_whitelist_binds_the_main_thread_only() -> None:
    guard = whitelist_guard(["Read"])
    assert guard(call("Read")) is None
    assert "Write is not among" in (guard(call("Write")) or "")
    assert guard(call("Write", agent="a1")) is None


WORDS = (
    "git status push ls -la cat a.txt ; && | > >/dev/null 2>&1 $(ls) rm sed -i find . -delete sort -o & env"
)
COMMANDS = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from([*WORDS.split(), "\n", "'x'"]), max_size=7).map(" ".join),
)


@given(COMMANDS)
@example("git status; ls -la | head")
@example("git push")
@example("cat a.txt > b.txt")
def test_a_glance_is_exactly_what_expires(command: str) -> None:
    refused = delegate_guard(allow_glance=True)(call("Bash", command=command))
    assert (refused is None) == is_ephemeral(command) == expires(command)


def expires(command: str) -> bool:
    """Whether the result of this command, alone in a transcript and old, is taken out of it."""
    use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "what it said"}
    entries: list[dict[str, Any]] = [
        {
            "type": "assistant",
            "uuid": "a",
            "parentUuid": None,
            "message": {"role": "assistant", "content": [use]},
        },
        {"type": "user", "uuid": "b", "parentUuid": "a", "message": {"role": "user", "content": [result]}},
    ]
    rules = Rules(ephemeral=expire.EphemeralPolicy(keep_recent=0, block=1))
    return rewrite_entries(entries, rules)[1].expired == 1


def test_guard_and_expiry_share_one_function() -> None:
    assert vars(guards)["is_ephemeral"] is vars(expire)["is_ephemeral"] is is_ephemeral


def test_without_glances_no_command_passes() -> None:
    assert delegate_guard(allow_glance=False)(call("Bash", command="ls"))


def test_a_role_with_glances_only_cannot_run(tmp_path: Path) -> None:
    spec = AgentSpec("x", allowed_tools=["Read"], glance=True)
    access = Access(tmp_path, tmp_path / "runs")
    assert decide(spec, access, call("Bash", tmp_path, command="ls"))["permissionDecision"] == "allow"
    assert decide(spec, access, call("Bash", tmp_path, command="touch x"))["permissionDecision"] == "deny"


def test_an_unknown_subagent_may_nothing(tmp_path: Path) -> None:
    access = Access(tmp_path, tmp_path / "runs")
    stranger = call("Read", tmp_path, agent="a1", kind="Explore", file_path="x")
    assert decide(roles.coordinator(), access, stranger)["permissionDecision"] == "deny"


def test_plan_mode_stays_a_plan(tmp_path: Path) -> None:
    spec = AgentSpec("x", allowed_tools=["Read", "Write", "Bash"], permission_mode="plan")
    access = Access(tmp_path, tmp_path / "runs")
    write = call("Write", tmp_path, mode="plan", file_path=str(tmp_path / "a"))
    assert decide(spec, access, write)["permissionDecision"] == "deny"
    assert (
        decide(spec, access, call("Bash", tmp_path, mode="plan", command="make"))["permissionDecision"]
        == "deny"
    )
    assert (
        decide(spec, access, call("Bash", tmp_path, mode="plan", command="ls"))["permissionDecision"]
        == "allow"
    )


def test_edits_outside_get_a_second_look(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    workspace.mkdir()
    spec, access = AgentSpec("x", allowed_tools=["Write"]), Access(workspace, tmp_path / "runs")
    outside = call("Write", workspace, file_path="../elsewhere.txt")
    assert decide(spec, access, outside)["permissionDecision"] == "ask"
    assert decide(spec, access, call("Write", workspace, file_path="in.txt"))["permissionDecision"] == "allow"
    assert unattended(outside, access) and not unattended(
        call("Write", workspace, file_path=".npmrc"), access
    )
    assert unattended(call("Edit", workspace, file_path="sub/.git/config"), access)
    assert unattended(call("Bash", workspace, command="rm -rf *"), access)


def test_bypassing_permissions_skips_the_second_look_only(tmp_path: Path) -> None:
    spec = AgentSpec("x", allowed_tools=["Write"], permission_mode="bypassPermissions")
    access = Access(tmp_path / "w", tmp_path / "w" / "runs")
    outside = call("Write", tmp_path / "w", file_path="../elsewhere.txt")
    assert decide(spec, access, outside)["permissionDecision"] == "allow"
    books = call("Write", tmp_path / "w", file_path="runs/sessions.db")
    assert decide(spec, access, books)["permissionDecision"] == "deny"
    assert decide(spec, access, call("Bash", tmp_path / "w", command="ls"))["permissionDecision"] == "deny"


def test_nothing_runs_in_the_background() -> None:
    assert foreground(call("Agent")) == {"run_in_background": False}
    assert foreground(call("Bash", run_in_background=True)) == {"run_in_background": False}
    assert foreground(call("Bash", command="ls")) == {}, (
        "the parameter is unknown to a CLI that has it switched off"
    )


def test_isolation_is_not_the_models_choice(tmp_path: Path) -> None:
    access = Access(tmp_path, tmp_path / "runs", isolate=True)
    one = call("Agent", tmp_path, subagent_type="worker", prompt="p", isolation="none")
    changed = decide(roles.coordinator(), access, one)["updatedInput"]
    assert changed["isolation"] == "worktree" and changed["prompt"] == "p"
    assert isolate_guard(False)(one) == {}


@pytest.fixture
def places(tmp_path: Path) -> Access:
    bench = Workbench(tmp_path / "w" / "runs" / "workbench", workspace=tmp_path / "w").create()
    (tmp_path / "w" / "runs" / "live").mkdir(parents=True)
    return Access(tmp_path / "w", tmp_path / "w" / "runs", bench)


BOOK_COMMANDS = [
    "cat runs/sessions.db",
    "cd runs && ls",
    "ls runs",
    "ls; rm -rf ./runs",
    "cp x y;cat ./runs/../runs/manifest.json",
    "sqlite3 runs/sessions.db .dump",
    "tar czf --file=runs/x.tgz .",
    "echo x >runs/lineage.json",
    "cat 'runs/manifest.json",
]
OTHER_COMMANDS = [
    "ls",
    "echo runs",
    "git commit -m runs",
    "pytest --runs",
    "cat runs/workbench/notes/n.md",
    "cat other/runs/x",
    "python runs.py",
]


@pytest.mark.parametrize("command", BOOK_COMMANDS)
def test_commands_on_the_books_are_refused(command: str, places: Access) -> None:
    assert books_guard(places)(call("Bash", places.workspace, command=command))


@pytest.mark.parametrize("command", OTHER_COMMANDS)
def test_other_commands_are_not(command: str, places: Access) -> None:
    assert books_guard(places)(call("Bash", places.workspace, command=command)) is None


def test_a_workspace_that_is_the_run_dir_keeps_its_own_files(tmp_path: Path) -> None:
    access = Access(tmp_path, tmp_path)
    guard = books_guard(access)
    assert guard(call("Read", tmp_path, file_path="sessions.db-wal"))
    assert guard(call("Read", tmp_path, file_path="live/x/lock"))
    assert guard(call("Read", tmp_path, file_path="src/app.py")) is None
    assert guard(call("Read", tmp_path, file_path=".flower/notes/n.md")) is None


def test_a_search_around_the_books_excludes_them(places: Access) -> None:
    rewrite = search_around(places)
    assert rewrite(call("Grep", places.workspace, pattern="x", glob="*.{a,b}")) == {
        "glob": "*.{a,b} !runs/**"
    }
    assert rewrite(call("Grep", places.workspace, pattern="x", path="src")) == {}
    assert rewrite(call("Read", places.workspace, file_path="x")) == {}


def test_a_hook_without_what_it_needs_raises(tmp_path: Path) -> None:
    hook = pre_tool_hook(roles.judge(), Access(tmp_path, tmp_path / "runs"))

    async def ask() -> dict[str, Any]:
        return await hook({"tool_input": {}}, None, None)

    with pytest.raises(KeyError):
        asyncio.run(ask())
