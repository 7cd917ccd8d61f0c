"""What is changed in a call before it runs."""

from __future__ import annotations

from typing import Any

from flower.agents.hooks.call import AGENT_TOOLS, Call, Rewrite


def foreground(call: Call) -> dict[str, Any]:
    """No agent and no command goes to the background: its result would come after the step's own."""
    if call.tool in AGENT_TOOLS:
        # For agents the background is the CLI's default.
        return {"run_in_background": False}
    if call.tool == "Bash" and call.input.get("run_in_background"):
        return {"run_in_background": False}
    return {}


def isolate_guard(enabled: bool) -> Rewrite:
    """With isolation every subagent works in a git worktree of its own, whatever the model asked for."""

    def rewrite(call: Call) -> dict[str, Any]:
        return {"isolation": "worktree"} if enabled and call.tool in AGENT_TOOLS else {}

    return rewrite
