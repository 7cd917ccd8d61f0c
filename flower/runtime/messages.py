"""SDK messages → events. The only place that knows the SDK's message classes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from flower.model import Event

SYNTHETIC = "<synthetic>"
"""The model name the CLI gives to messages it made up itself."""


def result_text(content: Any) -> str:
    """The text of a tool result: blocks joined by newlines, images named."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = []
    for block in content:
        if not isinstance(block, dict):
            parts.append(str(block))
        elif block.get("type") == "text":
            parts.append(str(block.get("text", "")))
        else:
            parts.append(f"[{block.get('type', 'block')}]")
    return "\n".join(parts)


def context_size(usage: dict[str, Any] | None) -> int:
    """Tokens in the context as of this message: input, cache reads and cache writes."""
    usage = usage or {}
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(int(usage.get(name) or 0) for name in names)


def is_api_error(message: AssistantMessage) -> bool:
    """The CLI reports a failed request as an assistant message; it is not the model's words."""
    return message.error is not None or message.model == SYNTHETIC


class Translator:
    """Turns the messages of one CLI process into events.

    It remembers which tool a result belongs to, and which subagent a message comes from.
    """

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}

    def events(self, message: Any) -> Iterator[Event]:
        """The events of one message, in order."""
        if isinstance(message, AssistantMessage):
            yield from self._assistant(message)
        elif isinstance(message, UserMessage):
            yield from self._user(message)
        elif isinstance(message, SystemMessage):
            yield from self._system(message)

    def _assistant(self, message: AssistantMessage) -> Iterator[Event]:
        agent, uuid = message.parent_tool_use_id or "", message.uuid or ""
        for block in message.content:
            if is_api_error(message):
                if isinstance(block, TextBlock) and block.text != "No response requested.":
                    yield Event("error", text=block.text, agent_id=agent, uuid=uuid)
            elif isinstance(block, TextBlock):
                yield Event("text", text=block.text, agent_id=agent, uuid=uuid)
            elif isinstance(block, ThinkingBlock):
                if block.thinking:
                    yield Event("thinking", text=block.thinking, agent_id=agent, uuid=uuid)
            elif isinstance(block, ToolUseBlock):
                self._tools[block.id] = block.name
                yield Event(
                    "tool_use",
                    text=json.dumps(block.input, ensure_ascii=False),
                    agent_id=agent,
                    tool=block.name,
                    tool_use_id=block.id,
                    uuid=uuid,
                    data={"input": block.input},
                )

    def _user(self, message: UserMessage) -> Iterator[Event]:
        if isinstance(message.content, str):
            return
        for block in message.content:
            if isinstance(block, ToolResultBlock):
                yield Event(
                    "tool_result",
                    text=result_text(block.content),
                    agent_id=message.parent_tool_use_id or "",
                    tool=self._tools.pop(block.tool_use_id, ""),
                    tool_use_id=block.tool_use_id,
                    uuid=message.uuid or "",
                    data={"is_error": bool(block.is_error)},
                )

    def _system(self, message: SystemMessage) -> Iterator[Event]:
        data = message.data
        if message.subtype == "api_retry":
            yield Event(
                "retry",
                text=str(data.get("error") or ""),
                data={
                    "attempt": data.get("attempt"),
                    "max": data.get("max_retries"),
                    "delay_s": round(float(data.get("retry_delay_ms") or 0) / 1000, 1),
                    "reason": data.get("error") or "",
                    "status": data.get("error_status"),
                },
            )


def result_error(message: ResultMessage) -> str:
    """Why a result is not ok, in the words of the CLI; empty for a good one."""
    if not message.is_error:
        return ""
    texts = [t for t in (message.result, *(message.errors or [])) if t]
    return "; ".join(texts) or message.terminal_reason or message.subtype or "error"
