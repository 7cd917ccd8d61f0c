"""What no request may hold goes first: copies, results without a call, empty texts, recorded system
prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .look import Part
from .record import Record
from .report import TrimReport
from .traits import ODD, RESULT, USE

Calls = dict[str, Part]

NO_CONTENT = "(no content)"


def repair(records: Sequence[Record], report: TrimReport) -> None:
    """Drops and edits what would make every request of the session fail."""
    _drop_copies(records, report)
    calls, answered = _first_calls(records), set[str]()
    for record in records:
        if not record.traits & (USE | RESULT | ODD) or record.dropped:
            continue
        if record.text is not None:
            if record.traits & ODD:
                _emptied(record, report)
        elif not _sound(record, calls, answered):
            _edit(record, calls, answered, report)


def _drop_copies(records: Sequence[Record], report: TrimReport) -> None:
    seen: set[str] = set()
    for record in records:
        if record.type == "attachment" and _is_snapshot(record):
            # A resumed session would send the recorded prompt and tools whatever it is started with.
            record.dropped = True
            report.snapshots += 1
        elif record.uuid is not None and record.uuid in seen:
            record.dropped = True
            report.repaired += 1
        elif record.uuid is not None:
            seen.add(record.uuid)


def _is_snapshot(record: Record) -> bool:
    attachment = record.look.attachment
    return attachment is not None and attachment.type == "prompt_snapshot"


def _first_calls(records: Sequence[Record]) -> dict[str, Part]:
    """The first call with each id."""
    first: dict[str, Part] = {}
    for record in records:
        if record.traits & USE and not record.dropped:
            for part in record.parts:
                if part.type == "tool_use":
                    first.setdefault(str(part.id), part)
    return first


def _sound(record: Record, calls: Calls, answered: set[str]) -> bool:
    """The common case, told without building anything; notes the results it passes."""
    if record.traits & ODD:
        return False  # or so it seems: it is looked at block by block
    fresh: list[str] = []
    for part in record.parts:
        if part.type == "tool_use":
            if calls.get(str(part.id)) is not part:
                return False
        elif part.type == "tool_result":
            ident = str(part.tool_use_id)
            if ident not in calls or ident in answered:
                return False
            fresh.append(ident)
    if len(fresh) > 1 and len(set(fresh)) != len(fresh):
        return False
    answered.update(fresh)
    return True


def _edit(record: Record, calls: Calls, answered: set[str], report: TrimReport) -> None:
    for part in list(record.parts):
        if not _part_is_sound(part, calls, answered):
            report.repaired += 1
            if not _worth_keeping(part, calls, answered):
                record.remove(part)
                continue
            content = part.body
            inner = [b for b in content if not _is_empty_text(b)] if isinstance(content, list) else None
            record.edit(part, content=inner or NO_CONTENT)
        if part.type == "tool_result":
            answered.add(str(part.tool_use_id))
    if not record.parts:
        _emptied(record, report)


def _part_is_sound(part: Part, calls: Calls, answered: set[str]) -> bool:
    if part.type == "text":
        return isinstance(part.text, str) and bool(part.text.strip())
    if part.type == "tool_use":
        return calls.get(str(part.id)) is part
    if part.type == "tool_result":
        ident, content = str(part.tool_use_id), part.body
        if ident not in calls or ident in answered or (part.is_error and not content):
            return False
        return not isinstance(content, list) or not any(map(_is_empty_text, content))
    return part.type is not None


def _is_empty_text(block: Any) -> bool:
    return (
        isinstance(block, dict) and block.get("type") == "text" and not str(block.get("text") or "").strip()
    )


def _worth_keeping(part: Part, calls: Calls, answered: set[str]) -> bool:
    ident = str(part.tool_use_id)
    return part.type == "tool_result" and ident in calls and ident not in answered


def _emptied(record: Record, report: TrimReport) -> None:
    report.repaired += 1
    if record.protected:
        record.set_text(NO_CONTENT)
    else:
        record.dropped = True
