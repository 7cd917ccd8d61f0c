"""What a role may do, one guard an idea. A guard is a pure function from a call to a reason to refuse."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from flower.agents.hooks.call import AGENT_TOOLS, HANDS_ON_TOOLS, Call, Guard
from flower.transcript.shell import is_ephemeral

_WRITING_MODES_REASON = "This session only plans: nothing is written or run. Describe what you would do."


def listed(tool: str, allowed: Collection[str]) -> bool:
    """Whether a list of tools names this one; ``mcp__server`` and ``mcp__server__*`` name a whole server."""
    if tool in allowed:
        return True
    if not tool.startswith("mcp__"):
        return False
    server = "__".join(tool.split("__")[:2])
    return server in allowed or f"{server}__*" in allowed


def whitelist_guard(allowed: Collection[str], *, glance: bool = False, agents: Collection[str] = ()) -> Guard:
    """The main thread's tools are exactly the listed ones.

    Args:
        allowed: tool names.
        glance: leave Bash, when it is not listed, to :func:`delegate_guard`.
        agents: subagent types; with any, the subagent tool is listed too.
    """

    def guard(call: Call) -> str | None:
        if call.by_subagent or listed(call.tool, allowed):
            return None
        if call.tool in AGENT_TOOLS and agents:
            return None
        if call.tool == "Bash" and glance:
            return None
        return f"{call.tool} is not among this role's tools ({_names(allowed)}).{_delegation(agents)}"

    return guard


def delegate_guard(*, allow_glance: bool = True, agents: Collection[str] = ()) -> Guard:
    """The main thread changes nothing itself: hands-on tools belong to its subagents.

    With ``allow_glance`` a shell command passes that only looks and whose result goes stale. The function
    that decides is the one that later lets such results expire, so that the two sets cannot differ.
    """

    def guard(call: Call) -> str | None:
        if call.by_subagent or call.tool not in HANDS_ON_TOOLS:
            return None
        if call.tool != "Bash":
            return f"{call.tool} is hands-on work.{_delegation(agents)}"
        if not allow_glance:
            return f"Bash is hands-on work.{_delegation(agents)}"
        if is_ephemeral(call.command):
            return None
        return (
            "Only a glance is allowed here: commands that just look (git status, git diff, ls, cat, ps …), "
            f"without redirection and substitution.{_delegation(agents)}"
        )

    return guard


def subagent_guard(tools: Mapping[str, Collection[str]]) -> Guard:
    """Each subagent's tools are exactly those of its type; the caller's rules are not its own."""

    def guard(call: Call) -> str | None:
        if not call.by_subagent:
            return None
        allowed = tools.get(call.agent_type)
        if allowed is None:
            return f"The agent type {call.agent_type!r} is not one of this session's."
        if listed(call.tool, allowed):
            return None
        return f"{call.tool} is not among this agent's tools ({_names(allowed)})."

    return guard


def own_agents_guard(agents: Collection[str]) -> Guard:
    """Only the spec's own subagent types are called: the CLI keeps its built-in ones callable."""

    def guard(call: Call) -> str | None:
        if call.tool not in AGENT_TOOLS or call.input.get("subagent_type") in agents:
            return None
        if not agents:
            return "This role calls no subagents."
        asked = call.input.get("subagent_type")
        return f"There is no agent type {asked!r} here. Use one of: {', '.join(agents)}."

    return guard


def disallowed_guard(disallowed: Collection[str]) -> Guard:
    """What the spec takes away stays away, for subagents too."""

    def guard(call: Call) -> str | None:
        return f"{call.tool} is switched off in this session." if listed(call.tool, disallowed) else None

    return guard


def plan_guard(call: Call) -> str | None:
    """In plan mode an approval by a hook would overrule the CLI's own restraint, so hooks refuse instead."""
    if call.mode != "plan" or call.tool not in HANDS_ON_TOOLS:
        return None
    if call.tool == "Bash" and is_ephemeral(call.command):
        return None
    return _WRITING_MODES_REASON


def _names(tools: Collection[str]) -> str:
    return ", ".join(sorted(tools)) or "none"


def _delegation(agents: Collection[str]) -> str:
    if not agents:
        return ""
    return f" Give the work to a subagent: Agent with subagent_type {' or '.join(repr(a) for a in agents)}."
