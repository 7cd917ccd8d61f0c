"""Calls that need a second look: the CLI's own safety checks, and edits that leave the workspace.

A hook's approval does not overrule the CLI's checks of files that run code (`.npmrc`, `.husky/`, shell
start-up files), of links that lead out and of sweeping removals. Those calls end up here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny, ToolPermissionContext

from flower.agents.access import Access
from flower.agents.hooks.call import EDIT_TOOLS, Call, inside
from flower.agents.hooks.guards import listed
from flower.agents.spec import AgentSpec
from flower.locale import _

CanUseTool = Callable[
    [str, "dict[str, Any]", ToolPermissionContext], Awaitable["PermissionResultAllow | PermissionResultDeny"]
]


def unattended(call: Call, access: Access) -> str | None:
    """Why such a call is refused where nobody can be asked; ``None``: it is let through."""
    if call.tool not in EDIT_TOOLS:
        return (
            "The safety check stopped this and nobody is there to ask. Name the exact files instead of "
            "sweeping over them; write protected files with the Write tool."
        )
    for path in call.paths():
        if ".git" in _parts_below(path, access.workspace):
            return "Files of .git are changed by git commands only."
        if not inside(path, access.workspace) and not (access.workbench and access.workbench.contains(path)):
            return f"{path} is outside of the workspace {access.workspace}. Work inside it."
    return None


def permission_callback(spec: AgentSpec, access: Access) -> CanUseTool:
    """``can_use_tool`` of a session. A person decides where there is one, otherwise :func:`unattended`."""

    async def decide(
        tool: str, tool_input: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        call = Call(tool, tool_input, access.workspace, agent_id=context.agent_id or "")
        if not _hands_on(call, spec):
            return PermissionResultDeny(message=f"{tool} is not for this role.")
        if spec.permission_mode == "bypassPermissions":
            return PermissionResultAllow(updated_input=tool_input)
        why = context.decision_reason or context.blocked_path or ""
        what = call.command or ", ".join(map(str, call.paths()))
        if access.ask_person:
            yes, no = _("allow"), _("refuse")
            question = _("An agent wants to use {tool} on something protected: {what} ({why})").format(
                tool=tool, what=what, why=why
            )
            answer = await access.ask_person(question, [yes, no])
            if answer == yes:
                return PermissionResultAllow(updated_input=tool_input)
            if answer is not None:
                return PermissionResultDeny(message=f"The person refused: {answer}")
        if reason := unattended(call, access):
            return PermissionResultDeny(message=reason)
        line = _("{tool} on a protected file was let through: {what} ({why})")
        access.record(line.format(tool=tool, what=what, why=why))
        return PermissionResultAllow(updated_input=tool_input)

    return decide


def _hands_on(call: Call, spec: AgentSpec) -> bool:
    """Whether the caller is a role that changes things at all. Which subagent it is is not told here."""
    if call.by_subagent:
        return any(listed(call.tool, sub.allowed_tools) for sub in spec.agents.values())
    return not spec.delegate_only and listed(call.tool, spec.allowed_tools)


def _parts_below(path: Path, workspace: Path) -> tuple[str, ...]:
    return path.relative_to(workspace).parts if inside(path, workspace) else path.parts
