"""The one PreToolUse hook of a session: every call is approved or refused here, in one round trip."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from flower.agents.access import Access
from flower.agents.hooks.books import books_guard, search_around
from flower.agents.hooks.call import EDIT_TOOLS, Call, Guard, Rewrite, allow, ask, deny, inside
from flower.agents.hooks.guards import (
    delegate_guard,
    disallowed_guard,
    own_agents_guard,
    plan_guard,
    subagent_guard,
    whitelist_guard,
)
from flower.agents.hooks.rewrites import foreground, isolate_guard
from flower.agents.spec import AgentSpec

Hook = Callable[[Any, "str | None", Any], Awaitable["dict[str, Any]"]]


def guards_of(spec: AgentSpec, access: Access) -> list[Guard]:
    """The guards of a spec, in the order they are asked."""
    agents = tuple(spec.agents)
    guards = [
        whitelist_guard(spec.allowed_tools, glance=spec.glance, agents=agents),
        subagent_guard({name: sub.allowed_tools for name, sub in spec.agents.items()}),
        disallowed_guard(spec.disallowed_tools),
        own_agents_guard(agents),
        plan_guard,
        books_guard(access),
    ]
    # A main thread that was given Bash may run anything with it; one that was only given glances may not.
    if spec.delegate_only or (spec.glance and "Bash" not in spec.allowed_tools):
        guards.insert(1, delegate_guard(allow_glance=spec.glance, agents=agents))
    return guards


def pre_tool_hook(spec: AgentSpec, access: Access) -> Hook:
    """All guards and rewrites of a spec as one hook. What it approves runs without any other permission."""
    guards = guards_of(spec, access)
    bypass = spec.permission_mode == "bypassPermissions"
    rewrites: list[Rewrite] = [foreground, isolate_guard(access.isolate), search_around(access)]

    async def hook(data: Any, _tool_use_id: str | None, _context: Any) -> dict[str, Any]:
        call = Call.from_hook(data)
        for guard in guards:
            if reason := guard(call):
                return deny(reason)
        if not bypass and (outside := _edit_outside(call, access)):
            return ask(outside)
        changes: dict[str, Any] = {}
        for rewrite in rewrites:
            changes |= rewrite(call)
        return allow(call, changes)

    return hook


def _edit_outside(call: Call, access: Access) -> str | None:
    """Why an edit needs a second look: it leaves the workspace. The permission callback decides."""
    if call.tool not in EDIT_TOOLS:
        return None
    places = [access.workspace, call.cwd.resolve(), *([access.workbench.root] if access.workbench else [])]
    outside = next((p for p in call.paths() if not any(inside(p, place) for place in places)), None)
    return f"{outside} is outside of the workspace" if outside else None
