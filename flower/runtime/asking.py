"""A question to the person comes after everything that was said and done before it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher

from flower.agents.roles import HUMAN_TOOLS

PATIENCE = 2.0
"""Seconds a question waits at most for what came before it to be durable and shown (measured: 0.1 s)."""


def ask_last(options: ClaudeAgentOptions, shown: Callable[[], Awaitable[None]]) -> None:
    """Let everything that may put a question to the person wait for ``shown``.

    Args:
        options: changed in place: a hook before the asking tool, and ``can_use_tool``.
        shown: returns when the events so far have been handed on.
    """

    async def caught_up() -> None:
        # Given up where the disk is slow: a person who could answer is not kept waiting for it.
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(shown(), PATIENCE)

    async def before_asking(_data: Any, _tool_use_id: str | None, _context: Any) -> Any:
        await caught_up()
        return {}

    hooks: dict[Any, list[HookMatcher]] = dict(options.hooks or {})
    asking = HookMatcher(matcher=HUMAN_TOOLS[0], hooks=[before_asking])
    hooks["PreToolUse"] = [*hooks.get("PreToolUse", []), asking]
    options.hooks = hooks
    decide = options.can_use_tool
    if decide is None:
        return

    async def decide_then(tool: str, tool_input: dict[str, Any], context: Any) -> Any:
        await caught_up()
        return await decide(tool, tool_input, context)

    options.can_use_tool = decide_then
