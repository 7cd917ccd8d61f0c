"""Specs and the options made of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flower.agents import roles, rules
from flower.agents.access import Access
from flower.agents.argv import SessionArgs, tools_of
from flower.agents.options import build_options
from flower.agents.spec import AgentSpec, CompactPolicy
from flower.agents.workbench import Workbench


def options(spec: AgentSpec, base: Path, **more: Any) -> Any:
    access = more.pop("access", None) or Access(base, base / "runs")
    session = more.pop("session", None) or SessionArgs(new_id="11111111-1111-4111-8111-111111111111")
    return build_options(spec, cwd=base, access=access, session=session, **more)


@pytest.mark.parametrize(
    ("mode", "auto", "manual"), [("auto", "", ""), ("no_summary", "1", ""), ("off", "1", "1")]
)
def test_compact_modes(mode: Any, auto: str, manual: str) -> None:
    assert CompactPolicy(mode).env() == {"DISABLE_AUTO_COMPACT": auto, "DISABLE_COMPACT": manual}


def test_a_compact_window_is_passed_on_and_impossible_values_are_refused() -> None:
    assert CompactPolicy(window=90_000).env()["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] == "90000"
    with pytest.raises(ValueError, match="never"):
        CompactPolicy("never")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="-1"):
        CompactPolicy(window=-1)


def test_the_values_of_agents_do_not_need_the_sdk() -> None:
    code = (
        "import sys; import flower.agents.roles, flower.agents.channel, flower.agents.workbench, "
        "flower.agents.access; sys.exit('claude_agent_sdk' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root).returncode == 0


@pytest.mark.parametrize(
    "bad",
    [{}, {"new_id": "a", "resume": "b"}, {"resume": "a", "fork": True}, {"new_id": "a", "resume_at": "u"}],
)
def test_impossible_sessions_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        SessionArgs(**bad)


def test_a_resume_passes_no_session_id_and_a_fork_passes_both(tmp_path: Path) -> None:
    resumed = options(AgentSpec("x"), tmp_path, session=SessionArgs(resume="r"))
    assert (resumed.session_id, resumed.resume, resumed.fork_session) == (None, "r", False)
    forked = options(AgentSpec("x"), tmp_path, session=SessionArgs(new_id="n", resume="r", fork=True))
    assert (forked.session_id, forked.resume, forked.fork_session) == ("n", "r", True)


def test_the_tools_are_what_role_and_subagents_use() -> None:
    spec = AgentSpec(
        "x", allowed_tools=["Read", "mcp__human__ask"], agents={"w": AgentSpec("w", allowed_tools=["Write"])}
    )
    assert tools_of(spec) == ["Agent", "Read", "Write"]
    assert tools_of(AgentSpec("x", allowed_tools=["Read"], glance=True)) == ["Bash", "Read"]
    assert "ToolSearch" not in tools_of(roles.coordinator())
    assert tools_of(AgentSpec("x", allowed_tools=["Read", "Bash"], disallowed_tools=["Bash"])) == ["Read"]
    with pytest.raises(ValueError, match=r"Bash\(git"):
        tools_of(AgentSpec("x", allowed_tools=["Bash(git *)"]))


def test_settings_of_the_machine_stay_out(tmp_path: Path) -> None:
    made = options(AgentSpec("x"), tmp_path)
    assert made.setting_sources == [] and made.strict_mcp_config
    assert options(AgentSpec("x"), tmp_path, portable=False).setting_sources == ["project"]
    assert options(AgentSpec("x", permission_mode="plan"), tmp_path).permission_mode == "plan"
    assert made.permission_mode == "default" and made.max_buffer_size == 64 << 20
    assert made.session_store_flush == "eager"
    assert all(m.on_failure == "block" for matchers in made.hooks.values() for m in matchers)
    assert (Path(made.plugins[0]["path"]) / ".claude-plugin" / "plugin.json").is_file()


def test_who_wins_in_the_environment(tmp_path: Path) -> None:
    mine = {"A": "spec", "CLAUDE_CODE_MAX_RETRIES": "5", "CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1"}
    spec = AgentSpec("x", env=mine, compact=CompactPolicy("off"))
    env = options(spec, tmp_path, env={"A": "runtime", "CLAUDE_CONFIG_DIR": "c", "DISABLE_COMPACT": ""}).env
    assert env["A"] == "runtime" and env["CLAUDE_CONFIG_DIR"] == "c"
    assert env["DISABLE_COMPACT"] == "", "the runtime's word comes after the policy's"
    assert env["CLAUDE_CODE_SKIP_PROMPT_HISTORY"] == ""
    assert env["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] == "1"
    assert env["CLAUDE_CODE_MAX_RETRIES"] == "5", "a spec may ask for more"


def test_the_system_prompt_keeps_its_bytes_while_the_workbench_fills(tmp_path: Path) -> None:
    bench = Workbench(tmp_path / ".flower", workspace=tmp_path).create()
    access = Access(tmp_path, tmp_path / "runs", bench)
    before = options(roles.coordinator(), tmp_path, access=access).system_prompt
    (bench.notes / "n.md").write_text("# new\n")
    bench.refresh()
    after = options(
        roles.coordinator(), tmp_path, access=access, session=SessionArgs(resume="s")
    ).system_prompt
    assert before == after and before["snapshot"] is False
    assert ".flower/scripts/" in before["append"] and str(tmp_path) not in before["append"]


@pytest.mark.parametrize("make", [roles.coordinator, roles.worker, roles.clarify, roles.judge, roles.oracle])
def test_every_role_says_who_it_is_first(make: Any) -> None:
    spec = make(instructions="And one thing more.")
    assert spec.instructions.startswith(f"You are flower's {spec.name}.\n")
    assert spec.instructions.endswith("And one thing more.\n")
    assert "language" in spec.instructions


def test_goal_prompts_have_their_places() -> None:
    assert rules.text("set_goal").startswith("Set the goal.") and "{brief}" in rules.text("set_goal")
    assert rules.text("judge_goal").startswith("Judge the goal.") and "{goal}" in rules.text("judge_goal")


def test_the_oracle_is_cheap() -> None:
    assert (roles.oracle().max_turns, roles.oracle().max_budget_usd) == (12, 0.5)
