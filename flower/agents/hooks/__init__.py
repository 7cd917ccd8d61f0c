"""Hooks: what a role may not do is stopped here and nowhere else; what it may do is approved here."""

from __future__ import annotations

from flower.agents.hooks.books import books_guard
from flower.agents.hooks.guards import (
    delegate_guard,
    disallowed_guard,
    own_agents_guard,
    plan_guard,
    subagent_guard,
    whitelist_guard,
)
from flower.agents.hooks.post_tool import index_guard, post_tool_hook
from flower.agents.hooks.pre_tool import guards_of, pre_tool_hook
from flower.agents.hooks.rewrites import foreground, isolate_guard
from flower.agents.hooks.spill import spill_guard

__all__ = [
    "books_guard",
    "delegate_guard",
    "disallowed_guard",
    "foreground",
    "guards_of",
    "index_guard",
    "isolate_guard",
    "own_agents_guard",
    "plan_guard",
    "post_tool_hook",
    "pre_tool_hook",
    "spill_guard",
    "subagent_guard",
    "whitelist_guard",
]
