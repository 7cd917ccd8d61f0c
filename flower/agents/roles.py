"""The roles of the chain: specs whose limits are kept by hooks, not by wording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from flower.agents import rules
from flower.agents.spec import READ_ONLY_TOOLS, AgentSpec, CompactPolicy

HUMAN_TOOLS = ("mcp__human__ask", "mcp__human__inbox")
WORKER_TOOLS = (*READ_ONLY_TOOLS, "Bash", "Write", "Edit", "NotebookEdit")

ORACLE_TURNS = 12
ORACLE_BUDGET_USD = 0.50


def worker(
    *,
    description: str = "Does one piece of hands-on work: reads, writes, edits, runs and checks it.",
    instructions: str = "",
    model: str | None = None,
    max_turns: int | None = None,
) -> AgentSpec:
    """The hands: does one task and reports conclusion, evidence, output and what it did not verify.

    Args:
        description: tells the coordinator when to call this one.
        instructions: further rules, after the role's own.
        model: ``None`` is the coordinator's.
        max_turns: model turns for one task; ``None`` is no limit.
    """
    return AgentSpec(
        name="worker",
        description=description,
        instructions=_told("worker", instructions),
        allowed_tools=list(WORKER_TOOLS),
        model=model,
        max_turns=max_turns,
    )


def coordinator(
    workers: Mapping[str, AgentSpec] | None = None,
    *,
    glance: bool = True,
    instructions: str = "",
    model: str | None = None,
    effort: str | None = None,
    max_turns: int | None = None,
    max_budget_usd: float | None = None,
    compact: CompactPolicy | None = None,
) -> AgentSpec:
    """Delegates and never edits: reads, glances (``git status``, ``ls``) and calls its workers.

    Args:
        workers: subagents by the type the model calls them by; without any one ``worker``.
        glance: allow commands that only look. Their results must be able to expire: a runtime with
            ``ephemeral=False`` refuses such a coordinator.
        instructions: further rules, after the role's own.
        model, effort, max_turns, max_budget_usd, compact: as in :class:`AgentSpec`.
    """
    return AgentSpec(
        name="coordinator",
        instructions=_told("coordinator", instructions),
        allowed_tools=[*READ_ONLY_TOOLS, *HUMAN_TOOLS],
        agents=dict(workers) if workers else {"worker": worker()},
        glance=glance,
        delegate_only=True,
        model=model,
        effort=effort,
        max_turns=max_turns,
        max_budget_usd=max_budget_usd,
        compact=compact,
    )


def clarify(*, instructions: str = "", model: str | None = None) -> AgentSpec:
    """Finds out what is wanted: looks, asks the person what changes the work, answers with the brief."""
    return AgentSpec(
        name="clarifier",
        instructions=_told("clarify", instructions),
        allowed_tools=[*READ_ONLY_TOOLS, *HUMAN_TOOLS],
        model=model,
    )


def judge(can_run: bool = False, *, instructions: str = "", model: str | None = None) -> AgentSpec:
    """Sets the goal, and judges the product against it in sessions of its own.

    Args:
        can_run: may run commands to check; otherwise it only reads.
        instructions: further rules, after the role's own.
        model: ``None`` is the environment's.
    """
    spec = AgentSpec(name="judge", instructions=_told("judge", instructions), model=model, workbench=False)
    if can_run:
        spec = replace(spec, allowed_tools=[*READ_ONLY_TOOLS, "Bash"])
    return spec


def oracle(*, instructions: str = "", model: str | None = None) -> AgentSpec:
    """Answers side questions beside a run: read-only, at most 12 turns and 0.50 US dollars a question."""
    return AgentSpec(
        name="oracle",
        instructions=_told("oracle", instructions),
        model=model,
        max_turns=ORACLE_TURNS,
        max_budget_usd=ORACLE_BUDGET_USD,
        workbench=False,
    )


def _told(role: str, more: str) -> str:
    return rules.text(role) + (f"\n{more.strip()}\n" if more.strip() else "")
