"""The one PostToolUse hook of a session: spill, index, and what the person added meanwhile."""

from __future__ import annotations

from typing import Any

from flower.agents.access import Access
from flower.agents.hooks.books import without_books
from flower.agents.hooks.call import EDIT_TOOLS, Call
from flower.agents.hooks.guards import listed
from flower.agents.hooks.pre_tool import Hook
from flower.agents.hooks.spill import spill_guard
from flower.agents.spec import AgentSpec
from flower.transcript.shell import is_ephemeral


def index_guard(access: Access, call: Call) -> None:
    """Refresh the index after a call that may have written on the workbench."""
    bench = access.workbench
    if bench is None:
        return
    edited = call.tool in EDIT_TOOLS and any(bench.contains(path) for path in call.paths())
    if edited or (call.tool == "Bash" and not is_ephemeral(call.command)):
        bench.refresh()


def post_tool_hook(spec: AgentSpec, access: Access) -> Hook:
    """Everything that follows a tool call, in one round trip."""

    async def hook(data: Any, _tool_use_id: str | None, _context: Any) -> dict[str, Any]:
        call = Call.from_hook(data)
        index_guard(access, call)
        answer = _checkpoint(spec, access, call)
        response = data.get("tool_response")
        shown = without_books(access, call, response) or response
        shortened = spill_guard(spec, access, call, shown)
        if (final := shown if shortened is None else shortened) is not response:
            answer["updatedToolOutput"] = final
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", **answer}} if answer else {}

    return hook


def failed_tool_hook(spec: AgentSpec, access: Access) -> Hook:
    """The same after a call that failed; the CLI lets nobody change what a failed one answered."""

    async def hook(data: Any, _tool_use_id: str | None, _context: Any) -> dict[str, Any]:
        call = Call.from_hook(data)
        index_guard(access, call)
        answer = _checkpoint(spec, access, call)
        return {"hookSpecificOutput": {"hookEventName": "PostToolUseFailure", **answer}} if answer else {}

    return hook


def _checkpoint(spec: AgentSpec, access: Access, call: Call) -> dict[str, Any]:
    """Here added requirements reach the model without its asking: the main thread of a role with an inbox."""
    if call.by_subagent or access.channel is None or not listed("mcp__human__inbox", spec.allowed_tools):
        return {}
    wishes = access.channel.take_wishes()
    return {"additionalContext": wishes} if wishes else {}
