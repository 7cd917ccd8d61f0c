"""What no request may hold goes first: copies, results without a call, empty texts, recorded system
prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .record import Block, Record
from .report import TrimReport

NO_CONTENT = "(no content)"


def repair(records: Sequence[Record], report: TrimReport) -> None:
    """Drops and edits what would make every request of the session fail."""
    _drop_copies(records, report)
    calls, answered = _Seen(records), set[str]()
    for record in records:
        if record.dropped or record.content is None:
            continue
        if isinstance(record.content, str):
            if not record.content.strip():
                _emptied(record, report)
        elif isinstance(record.content, list) and not _sound(record, calls, answered):
            _edit(record, calls, answered, report)


def _drop_copies(records: Sequence[Record], report: TrimReport) -> None:
    seen: set[str] = set()
    for record in records:
        attachment = record.look.attachment
        if record.type == "attachment" and attachment and attachment.type == "prompt_snapshot":
            # A resumed session would send the recorded prompt and tools whatever it is started with.
            record.dropped = True
            report.snapshots += 1
        elif record.uuid is not None and record.uuid in seen:
            record.dropped = True
            report.repaired += 1
        elif record.uuid is not None:
            seen.add(record.uuid)


class _Seen:
    """Where each tool call stands first."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.first: dict[str, int] = {}
        for record in records:
            if record.type == "assistant" and not record.dropped and type(record.content) is list:
                for block in record.content:
                    if type(block) is dict and block.get("type") == "tool_use":
                        self.first.setdefault(str(block.get("id")), id(block))


def _sound(record: Record, calls: _Seen, answered: set[str]) -> bool:
    """The common case, told without building anything; notes the results it passes."""
    if not record.content:
        return False
    fresh: list[str] = []
    for block in record.content:
        if not _block_is_sound(block, calls, answered):
            return False
        if block["type"] == "tool_result":
            fresh.append(str(block.get("tool_use_id")))
    if len(set(fresh)) != len(fresh):
        return False
    answered.update(fresh)
    return True


def _block_is_sound(block: Any, calls: _Seen, answered: set[str]) -> bool:
    kind = block.get("type") if type(block) is dict else None
    if kind == "text":
        text = block.get("text")
        return isinstance(text, str) and bool(text.strip())
    if kind == "tool_use":
        return calls.first.get(str(block.get("id"))) == id(block)
    if kind == "tool_result":
        ident, content = str(block.get("tool_use_id")), block.get("content")
        if ident not in calls.first or ident in answered or (block.get("is_error") and not content):
            return False
        return type(content) is not list or not any(_is_empty_text(inner) for inner in content)
    return kind is not None


def _is_empty_text(block: Any) -> bool:
    return (
        isinstance(block, dict) and block.get("type") == "text" and not str(block.get("text") or "").strip()
    )


def _edit(record: Record, calls: _Seen, answered: set[str], report: TrimReport) -> None:
    kept: list[Block] = []
    for block in record.content:
        if not _block_is_sound(block, calls, answered):
            report.repaired += 1
            if not isinstance(block, dict) or not _worth_keeping(block, calls, answered):
                continue
            content = block.get("content")
            inner = [b for b in content if not _is_empty_text(b)] if isinstance(content, list) else None
            block = {**block, "content": inner or NO_CONTENT}
        if block["type"] == "tool_result":
            answered.add(str(block.get("tool_use_id")))
        kept.append(block)
    if kept:
        record.set_content(kept)
    else:
        _emptied(record, report)


def _worth_keeping(block: Block, calls: _Seen, answered: set[str]) -> bool:
    ident = str(block.get("tool_use_id"))
    return block.get("type") == "tool_result" and ident in calls.first and ident not in answered


def _emptied(record: Record, report: TrimReport) -> None:
    report.repaired += 1
    if record.protected:
        record.set_content(NO_CONTENT)
    else:
        record.dropped = True
