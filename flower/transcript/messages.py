"""What the CLI would send of a transcript: from entries to the messages of a request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .chain import leaf_of
from .look import Entry
from .record import SPEAKERS, Block, Record, records_of

Message = dict[str, Any]


def wire_messages(entries: Iterable[Entry], *, thread: Any = None) -> list[Message]:
    """The messages a resumed session begins with, without the next prompt.

    Follows the chain from the leaf; brings back the parallel calls' results, which hang beside it; joins the
    parts of a message that were stored one block each; leaves out what is not said to the model.

    Args:
        thread: None = the main conversation; else a subagent's id.
    """
    records = [r for r in records_of(entries) if r.uuid is not None and r.thread == thread]
    messages: list[Message] = []
    open_message: str | None = None
    for record in _with_parallel(_chain(records), records):
        for message in _said(record):
            if message["role"] == "assistant":
                if record.message_id is not None and record.message_id == open_message:
                    _earlier(messages)["content"] += message["content"]
                    continue
                open_message = record.message_id
            elif message["role"] == "user" and not _only_results(message):
                open_message = None
            if messages and messages[-1]["role"] == message["role"] == "user":
                messages[-1]["content"] += message["content"]
            else:
                messages.append(message)
    for message in messages:
        if message["role"] == "user":  # the API wants results in front
            message["content"].sort(key=lambda block: block.get("type") != "tool_result")
    return messages


def _earlier(messages: Sequence[Message]) -> Message:
    return next(m for m in reversed(messages) if m["role"] == "assistant")


def _only_results(message: Message) -> bool:
    return all(block.get("type") == "tool_result" for block in message["content"])


def _chain(records: Sequence[Record]) -> list[Record]:
    by_uuid = {record.uuid: record for record in records}
    at = leaf_of(records, records[0].thread if records else None)
    chain: list[Record] = []
    seen: set[str | None] = set()
    while at is not None and at.uuid not in seen:
        seen.add(at.uuid)
        chain.append(at)
        at = by_uuid.get(at.parent) if at.parent is not None else None
    return chain[::-1]


def _with_parallel(chain: list[Record], records: Sequence[Record]) -> list[Record]:
    """The chain, and behind each message's last part the parts and results of it that hang beside the
    chain.
    """
    on_chain = {record.uuid for record in chain}
    ids = {r.message_id for r in chain if r.type == "assistant" and r.message_id is not None}
    siblings: dict[str, list[Record]] = {}
    calls: dict[str, str] = {}
    for record in records:
        ident = record.message_id
        if record.type == "assistant" and ident in ids and ident is not None:
            calls.update((str(part.id), ident) for part in record.parts if part.type == "tool_use")
            if record.uuid not in on_chain:
                siblings.setdefault(ident, []).append(record)
    for record in records:
        if record.type == "user" and record.uuid not in on_chain:
            asked = {calls.get(str(part.tool_use_id)) for part in record.parts if part.type == "tool_result"}
            for ident in asked - {None}:
                siblings.setdefault(str(ident), []).append(record)
    last = {record.message_id: record.uuid for record in chain if record.type == "assistant"}
    result: list[Record] = []
    for record in chain:
        result.append(record)
        if record.type == "assistant" and last[record.message_id] == record.uuid:
            beside = siblings.pop(record.message_id or "", [])
            result += sorted(beside, key=lambda r: r.type != "assistant")
    return result


def _said(record: Record) -> list[Message]:
    if record.type in SPEAKERS:
        blocks = _blocks(record.content)
        return [{"role": record.type, "content": blocks}] if blocks else []
    if record.type != "attachment":
        return []
    entry = record.entry()
    rendered = entry.get("rendered")
    role = "user" if entry.get("renderedRole") == "user" else "system"
    texts = [r.get("content") for r in rendered if isinstance(r, dict)] if isinstance(rendered, list) else []
    return [{"role": role, "content": _blocks(text)} for text in texts if text]


def _blocks(content: Any) -> list[Block]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
