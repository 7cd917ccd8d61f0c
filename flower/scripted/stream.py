"""Turns a reply into the API's message, and the message into the events of a stream."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from flower.scripted.request import Request
from flower.scripted.script import Block, Reply, Text, Thinking
from flower.transcript.wire import CHARS_PER_TOKEN, KnownThinking, estimate_tokens

CHUNK = 40
"""Characters in one delta."""

_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def prompt_tokens(reply: Reply, request: Request) -> int:
    """The size of the request in tokens: what the reply's usage says, else the estimate."""
    if any(k in reply.usage for k in _INPUT):
        return sum(reply.usage.get(k, 0) for k in _INPUT)
    return estimate_tokens(request.body)


def make_message(reply: Reply, request: Request) -> dict[str, Any]:
    """The complete message that answers ``request``."""
    content = [_block(b) for b in reply.content()]
    calls = any(b["type"] == "tool_use" for b in content)
    counted = any(k in reply.usage for k in _INPUT)
    usage = {
        "input_tokens": 0 if counted else estimate_tokens(request.body),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 1 + len(json.dumps(content)) // CHARS_PER_TOKEN,
    } | dict(reply.usage)
    return {
        "id": "msg_" + uuid.uuid4().hex[:24],
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": content,
        "stop_reason": reply.stop_reason or ("tool_use" if calls else "end_turn"),
        "stop_sequence": None,
        "usage": usage,
    }


def _block(block: Block) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Thinking):
        signature = KnownThinking.sign(block.thinking)
        return {"type": "thinking", "thinking": block.thinking, "signature": signature}
    ident = block.id or "toolu_" + uuid.uuid4().hex[:24]
    return {"type": "tool_use", "id": ident, "name": block.name, "input": dict(block.input)}


def events(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The stream's events, in the API's order."""
    usage = message["usage"]
    start = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    yield {"type": "ping"}
    for index, block in enumerate(message["content"]):
        empty, deltas = _pieces(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": usage}
    yield {"type": "message_stop"}


def _pieces(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if block["type"] == "text":
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": t} for t in _cut(block["text"])]
    if block["type"] == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": t} for t in _cut(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    pieces = _cut(json.dumps(block["input"]))
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": t} for t in pieces]


def _cut(text: str) -> list[str]:
    return [text[i : i + CHUNK] for i in range(0, len(text), CHUNK)]
