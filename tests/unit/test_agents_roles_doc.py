"""The table in docs/roles.md is what the hooks really answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from flower.agents import roles
from flower.agents.access import Access
from flower.agents.hooks import guards_of
from flower.agents.hooks.call import Call
from flower.agents.spec import AgentSpec

DOC = Path(__file__).parents[2] / "docs" / "roles.md"

ROLES: dict[str, Callable[[], AgentSpec]] = {
    "`clarify()`": roles.clarify,
    "`coordinator()`": roles.coordinator,
    "`coordinator(glance=False)`": lambda: roles.coordinator(glance=False),
    "`judge()`": roles.judge,
    "`judge(can_run=True)`": lambda: roles.judge(can_run=True),
    "`oracle()`": roles.oracle,
}
CALLS: dict[str, tuple[str, dict[str, str]]] = {
    "look": ("Read", {"file_path": "a"}),
    "glance": ("Bash", {"command": "git status"}),
    "run": ("Bash", {"command": "make"}),
    "edit": ("Edit", {"file_path": "a"}),
    "delegate": ("Agent", {"subagent_type": "worker"}),
    "ask": ("mcp__human__ask", {"question": "q?"}),
}


def permitted(spec: AgentSpec, call: Call, place: Path) -> bool:
    return not any(guard(call) for guard in guards_of(spec, Access(place, place / "runs")))


def table(place: Path) -> list[str]:
    head = ["role", *CALLS, "turns", "US dollars"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for name, make in ROLES.items():
        spec = make()
        lines.append(_row(name, spec, [Call(tool, given, place) for tool, given in CALLS.values()], place))
    inside = [Call(t, given, place, agent_id="a1", agent_type="worker") for t, given in CALLS.values()]
    sub = roles.worker()
    row = _row("`worker()`", roles.coordinator(), inside, place).rsplit("|", 3)[0]
    return [*lines, f"{row}| {sub.max_turns or '–'} | {sub.max_budget_usd or '–'} |"]


def _row(name: str, spec: AgentSpec, calls: list[Call], place: Path) -> str:
    marks = ["yes" if permitted(spec, call, place) else "–" for call in calls]
    budget = f"{spec.max_budget_usd:.2f}" if spec.max_budget_usd else "–"
    return f"| {' | '.join([name, *marks, str(spec.max_turns or '–'), budget])} |"


def test_the_documented_table_is_what_the_hooks_answer(tmp_path: Path) -> None:
    documented = [line for line in DOC.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    expected = table(tmp_path)
    assert documented[: len(expected)] == expected, "\n".join(expected)
