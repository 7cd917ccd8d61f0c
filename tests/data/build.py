"""Builds transcripts in the shape the CLI stores: one block per assistant entry, parallel results beside the
chain.
"""

from __future__ import annotations

import uuid
from typing import Any

from flower.transcript.wire import KnownThinking

Entry = dict[str, Any]
SESSION = "5a5a5a5a-0000-4000-8000-000000000000"


class Transcript:
    """Grows a conversation entry by entry.

    Attributes:
        entries: all of them, in the order of storing.
        leaf: uuid of the entry that the next one follows.
    """

    def __init__(self, name: str = "t", thread: str | None = None) -> None:
        self.entries: list[Entry] = []
        self.leaf: str | None = None
        self.name = name
        self.thread = thread
        self._ids = 0

    def new_id(self, kind: str = "") -> str:
        self._ids += 1
        return kind + str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.name}/{self._ids}"))

    def add(self, type: str, *, parent: str | None = None, **fields: Any) -> Entry:
        entry: Entry = {
            "parentUuid": parent or self.leaf,
            "isSidechain": self.thread is not None,
            "type": type,
        }
        if self.thread:
            entry["agentId"] = self.thread
        entry |= fields
        entry |= {"uuid": self.new_id(), "sessionId": SESSION, "timestamp": "2026-01-01T00:00:00.000Z"}
        self.entries.append(entry)
        self.leaf = entry["uuid"]
        return entry

    def user(self, content: Any, **fields: Any) -> Entry:
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def assistant(self, *blocks: dict[str, Any], message_id: str | None = None, **fields: Any) -> list[Entry]:
        ident = message_id or self.new_id("msg_")
        return [self.add("assistant", message=_message(ident, block), **fields) for block in blocks]

    def say(self, text: str) -> Entry:
        return self.assistant({"type": "text", "text": text})[0]

    def call(self, *commands: str, tool: str = "Bash", think: str = "") -> list[str]:
        """Parallel calls; their ids."""
        field = {"Bash": "command", "Read": "file_path"}.get(tool, "input")
        uses = [
            {"type": "tool_use", "id": self.new_id("toolu_"), "name": tool, "input": {field: command}}
            for command in commands
        ]
        thought = {"type": "thinking", "thinking": think, "signature": KnownThinking.sign(think)}
        self.assistant(*([thought] if think else []), *uses)
        return [str(use["id"]) for use in uses]

    def result(self, ident: str, content: Any, **fields: Any) -> Entry:
        block = {"type": "tool_result", "tool_use_id": ident, "content": content}
        if fields.pop("is_error", False):
            block["is_error"] = True
        asked = next(
            e["uuid"]
            for e in self.entries
            if e["type"] == "assistant" and any(b.get("id") == ident for b in e["message"]["content"])
        )
        message = {"role": "user", "content": [block]}
        return self.add("user", parent=asked, message=message, toolUseResult={"stdout": content}, **fields)

    def run(self, command: str, output: Any, tool: str = "Bash") -> Entry:
        """A call and its result."""
        return self.result(self.call(command, tool=tool)[0], output)

    def deny(self, command: str, *, source: str = "hook", words: str = "refused by a rule") -> Entry:
        decision = {"decision": "reject", "source": source}
        ident = self.call(command)[0]
        return self.result(
            ident, words, is_error=True, toolDenialKind="permission-rule", permissionDecision=decision
        )

    def interrupt(self, command: str) -> None:
        ident = self.call(command)[0]
        self.result(
            ident,
            "The user doesn't want to proceed with this tool use.",
            is_error=True,
            toolDenialKind="user-rejected",
        )
        self.user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])

    def api_error(self, text: str = "API Error: 529 overloaded") -> Entry:
        message = {**_message(self.new_id("msg_"), {"type": "text", "text": text}), "model": "<synthetic>"}
        return self.add("assistant", message=message, isApiErrorMessage=True)

    def housekeeping(self) -> None:
        """An entry that is part of no conversation."""
        self.entries.append(
            {"type": "last-prompt", "lastPrompt": "x", "leafUuid": self.leaf, "sessionId": SESSION}
        )


def _message(ident: str, block: dict[str, Any]) -> dict[str, Any]:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "output_tokens": 1,
    }
    return {
        "id": ident,
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": [block],
        "usage": usage,
    }
