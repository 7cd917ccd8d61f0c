"""The human channel as an in-process MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claude_agent_sdk import create_sdk_mcp_server, tool

if TYPE_CHECKING:
    from flower.agents.channel import HumanChannel

ASK_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "question": {
            "type": "string",
            "description": "One question, complete in itself, in the person's language.",
        },
        "options": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Answers to choose from, the recommended one first. Other words are possible.",
        },
        "why": {"type": "string", "description": "What in the work changes with the answer."},
    },
    "required": ["question"],
}
EMPTY_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


def build_server(channel: HumanChannel) -> Any:
    """``human`` with ``ask`` (waits for the person) and ``inbox`` (what the person added meanwhile)."""

    @tool("ask", "Ask the person one question and wait for the answer.", ASK_SCHEMA)
    async def ask(arguments: dict[str, Any]) -> dict[str, Any]:
        outcome = await channel.ask(
            arguments.get("question", ""), arguments.get("options") or [], str(arguments.get("why") or "")
        )
        return _text(outcome.sentence())

    @tool("inbox", "What the person has added while you worked. Never waits.", EMPTY_SCHEMA)
    async def inbox(_arguments: dict[str, Any]) -> dict[str, Any]:
        from flower.agents.channel import NO_WISHES

        return _text(channel.take_wishes() or NO_WISHES)

    return create_sdk_mcp_server("human", "1.0.0", [ask, inbox])


def _text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}
