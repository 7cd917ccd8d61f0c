"""A request as a script sees it: the parts of the body one asks about, found once and named."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


@dataclass(frozen=True)
class Call:
    """A tool call of the conversation; ``result`` is None while there is none."""

    id: str
    name: str
    input: Mapping[str, Any]
    result: str | None = None
    is_error: bool = False


@dataclass(frozen=True)
class ToolResults:
    """The tool results of one user message, as texts."""

    by_id: Mapping[str, str] = field(default_factory=dict)
    by_name: Mapping[str, list[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.by_id)

    @property
    def text(self) -> str:
        """All results, one after the other."""
        return "\n".join(self.by_id.values())


@dataclass(frozen=True)
class Request:
    """One ``POST /v1/messages``.

    Attributes:
        body: the parsed JSON body.
        headers: HTTP headers, names in lower case.
    """

    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def session_id(self) -> str | None:
        """The CLI's session, also for requests of its subagents."""
        return self.headers.get("x-claude-code-session-id")

    @property
    def agent_id(self) -> str | None:
        """The subagent that asks; None for the main thread."""
        return self.headers.get("x-claude-code-agent-id")

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """The conversation as sent; it may hold ``role: "system"`` items."""
        messages: Sequence[Mapping[str, Any]] = self.body.get("messages") or ()
        return messages

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    @cached_property
    def tools(self) -> list[str]:
        """Names of the tools offered to the model."""
        return [str(t.get("name")) for t in self.body.get("tools") or ()]

    @cached_property
    def system_text(self) -> str:
        """The system prompt."""
        return text_of(self.body.get("system"))

    @cached_property
    def user_texts(self) -> list[str]:
        """The text of each user message (tool results are not text), oldest first."""
        return [text_of(m.get("content")) for m in self.messages if m.get("role") == "user"]

    @property
    def last_user_text(self) -> str:
        """The text of the last user message; empty when it holds tool results only."""
        return self.user_texts[-1] if self.user_texts else ""

    @property
    def prompt(self) -> str:
        """What somebody said in the last user message: its text without the CLI's own reminders."""
        return _REMINDER.sub("", self.last_user_text).strip()

    @cached_property
    def all_text(self) -> str:
        """Everything said in the conversation: texts, tool inputs and tool results; not the system prompt."""
        return "\n".join(_everything(m.get("content")) for m in self.messages)

    @cached_property
    def calls(self) -> list[Call]:
        """Every tool call of the conversation with its result, oldest first."""
        results = {b["tool_use_id"]: b for m in self.messages for b in _blocks(m, "tool_result")}
        calls = []
        for block in (b for m in self.messages for b in _blocks(m, "tool_use")):
            found = results.get(block["id"])
            result = None if found is None else text_of(found.get("content"))
            is_error = bool(found and found.get("is_error"))
            calls.append(Call(block["id"], block["name"], block.get("input") or {}, result, is_error))
        return calls

    @cached_property
    def last_tool_results(self) -> ToolResults:
        """The tool results in the last user message, by tool call id and by tool name."""
        users = [m for m in self.messages if m.get("role") == "user"]
        found = _blocks(users[-1], "tool_result") if users else []
        by_id = {b["tool_use_id"]: text_of(b.get("content")) for b in found}
        by_name: dict[str, list[str]] = {}
        for call in self.calls:
            if call.id in by_id:
                by_name.setdefault(call.name, []).append(by_id[call.id])
        return ToolResults(by_id, by_name)


def text_of(content: Any) -> str:
    """The text blocks of a message's, a system prompt's or a tool result's content, joined by newlines."""
    if isinstance(content, str):
        return content
    return "\n".join(str(b.get("text", "")) for b in content or () if b.get("type") == "text")


def _blocks(message: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    content = message.get("content")
    return [b for b in content if b.get("type") == kind] if isinstance(content, list) else []


def _everything(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = []
    for block in content or ():
        kind = block.get("type")
        if kind == "text":
            parts.append(str(block.get("text", "")))
        elif kind == "tool_use":
            parts.append(f"{block.get('name')} {block.get('input')}")
        elif kind == "tool_result":
            parts.append(text_of(block.get("content")))
    return "\n".join(parts)
