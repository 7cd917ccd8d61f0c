"""The one PostToolUse hook of a session: spill, index, and what the person added meanwhile."""

from __future__ import annotations

from typing import Any

from flower.agents.access import Access
from flower.agents.hooks.books import without_books
from flower.agents.hooks.call import EDIT_TOOLS, Call
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
    takes_wishes = "mcp__human__inbox" in spec.allowed_tools

    async def hook(data: Any, _tool_use_id: str | None, _context: Any) -> dict[str, Any]:
        call = Call.from_hook(data)
        index_guard(access, call)
        answer: dict[str, Any] = {}
        response = data.get("tool_response")
        shown = without_books(access, call, response) or response
        shortened = spill_guard(spec, access, call, shown)
        if (final := shown if shortened is None else shortened) is not response:
            answer["updatedToolOutput"] = final
        # The checkpoint at which added requirements reach the model without its asking.
        if takes_wishes and not call.by_subagent and access.channel and (w := access.channel.take_wishes()):
            answer["additionalContext"] = w
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", **answer}} if answer else {}

    return hook
