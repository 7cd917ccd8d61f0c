"""What must not be read as the model's own words: errors of the connection, refusals, marks of an interrupt,
cut-off calls.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import UNSET

from .look import Entry, Part
from .marks import INTERRUPT_MARKS
from .pairs import Answer, Pairs, Use
from .record import Record
from .report import TrimReport
from .traits import MARK

INTERRUPTED = (
    "[The turn was interrupted here; this tool was not run to its end. What it did until then is not known.]"
)
ORPHANED = (
    "[The run ended before this tool's result was recorded. "
    "Whether it took effect is not known: look before you repeat it.]"
)
LOST = (
    "[This subagent was cut off before it was finished. What it did until then may be there: "
    "look, then hand out what is left to do.]"
)
_LOST_AGENT = "Agent terminated early due to an API error"
"""How the CLI begins the result of a subagent whose request failed."""
_THINKING = ("thinking", "redacted_thinking")
_COPIED = tuple("isSidechain agentId userType entrypoint cwd sessionId version gitBranch timestamp".split())


@dataclass(frozen=True)
class PrunePolicy:
    """What is taken out of, or mended in, the copy that the model reads.

    Attributes:
        drop_api_errors: leave out the messages the CLI made up itself, such as `API Error: …`, and give the result of
            a subagent that ended with one a neutral text.
        neutralize_interrupts: give results of interrupted tools a neutral text, and leave out the marks.
        interrupt_text: that text.
        heal_orphans: give every call without a result one.
        orphan_text: its text.
        keep_denials: so many of the latest refused calls stay, so that the model does not at once try the
        same again.
    """

    drop_api_errors: bool = True
    neutralize_interrupts: bool = True
    interrupt_text: str = INTERRUPTED
    heal_orphans: bool = True
    orphan_text: str = ORPHANED
    keep_denials: int = 1


def prune(
    records: Sequence[Record], pairs: Pairs, policy: PrunePolicy, session_id: str, report: TrimReport
) -> list[Record]:
    """Drops, neutralises and heals by the policy; returns the records with the inserted ones in their places.

    The children of dropped ones are not yet given a new parent.
    """
    if policy.drop_api_errors:
        _drop_errors(records, report)
        _neutralize_lost_agents(pairs, report)
    _drop_denials(records, pairs, policy.keep_denials, report)
    if policy.neutralize_interrupts:
        _neutralize(records, pairs, policy.interrupt_text, report)
    if not policy.heal_orphans:
        return list(records)
    return _heal(records, pairs, policy.orphan_text, session_id, report)


def _drop_errors(records: Sequence[Record], report: TrimReport) -> None:
    for record in records:
        if record.type != "assistant":
            continue
        look = record.look
        synthetic = look.message is not None and look.message.model == "<synthetic>"
        if (synthetic or look.isApiErrorMessage is True) and not (record.protected or record.dropped):
            record.dropped = True
            report.errors += 1
            report.shrank(_size(record))


def _neutralize_lost_agents(pairs: Pairs, report: TrimReport) -> None:
    for answer in pairs.answers.values():
        if not answer.part.is_error or not answer.editable:
            continue
        texts = answer.texts()
        if texts and texts[0].startswith(_LOST_AGENT):
            report.errors += 1
            report.shrank(sum(map(len, texts)), len(LOST))
            answer.set_body(LOST)
            answer.drop_error()


def _drop_denials(records: Sequence[Record], pairs: Pairs, keep: int, report: TrimReport) -> None:
    denied = [(use, answer) for use, answer in pairs.answered() if answer.denied and answer.editable]
    emptied: set[str] = set()
    for use, answer in denied[: max(0, len(denied) - max(0, keep))]:
        report.shrank(len(str(use.record.block(use.part).get("input"))) + answer.chars())
        report.denials += 1
        _remove(answer)
        _remove(use)
        emptied.add(use.record.message_id or "")
    _drop_bare_thoughts(records, emptied - {""})


def _remove(part: Use | Answer) -> None:
    record, part.removed = part.record, True
    if len(record.parts) == 1:
        record.dropped = True
    else:
        record.remove(part.part)


def _drop_bare_thoughts(records: Sequence[Record], messages: set[str]) -> None:
    """A message of which only the thinking is left says nothing, and the API takes no such message in the
    last place.
    """
    if not messages:
        return
    parts: dict[str, list[Record]] = {}
    for record in records:
        if record.message_id in messages and not record.dropped and record.type == "assistant":
            parts.setdefault(record.message_id or "", []).append(record)
    for group in parts.values():
        if all(part.type in _THINKING for record in group for part in record.parts):
            for record in group:
                record.dropped = not record.protected


def _neutralize(records: Sequence[Record], pairs: Pairs, text: str, report: TrimReport) -> None:
    for answer in pairs.answers.values():
        if not answer.interrupted or not answer.editable:
            continue
        if answer.part.body != text or answer.part.is_error is not UNSET:
            report.shrank(answer.chars(), len(text))
            report.interrupts += 1
            answer.set_body(text)
            answer.drop_error()
    for record in records:
        if not record.traits & MARK or record.type != "user" or record.dropped or record.protected:
            continue
        marks = [part for part in record.parts if _is_mark(part)]
        if marks or (record.text is not None and record.text.strip() in INTERRUPT_MARKS):
            report.interrupts += 1
            report.shrank(30)
            record.dropped = len(marks) == len(record.parts)
            if not record.dropped:
                for part in marks:
                    record.remove(part)


def _is_mark(part: Part) -> bool:
    return part.type == "text" and str(part.text).strip() in INTERRUPT_MARKS


def _heal(
    records: Sequence[Record], pairs: Pairs, text: str, session_id: str, report: TrimReport
) -> list[Record]:
    answered = {ident for ident, answer in pairs.answers.items() if not answer.removed}
    orphans: dict[tuple[object, str], list[str]] = {}
    for ident, use in pairs.uses.items():
        if (
            ident not in answered
            and not use.record.dropped
            and use.record.uuid is not None
            and not use.removed
        ):
            key = (use.record.thread, use.record.message_id or use.record.uuid)
            orphans.setdefault(key, []).append(ident)
    if not orphans:
        return list(records)
    last = {
        key: record
        for record in records
        if record.type == "assistant" and not record.dropped and record.uuid is not None
        if (key := (record.thread, record.message_id or record.uuid)) in orphans
    }
    after = {record.uuid: _result_for(record, orphans[key], text, session_id) for key, record in last.items()}
    healed: list[Record] = []
    for record in records:
        # The message's other results come behind the new one: together they follow the calls as one message.
        if record.parent in after and not record.dropped:
            record.set_parent(after[record.parent].uuid)
        if record.look.leafUuid in after and not record.dropped:
            record.set_leaf(after[record.look.leafUuid].uuid)
        healed.append(record)
        if record.uuid in after and not record.dropped:
            healed.append(after[record.uuid])
    report.orphans += sum(map(len, orphans.values()))
    return healed


def _result_for(record: Record, idents: list[str], text: str, session_id: str) -> Record:
    """One entry with a result for each call. Its uuid is the same at every load: what is stored later points
    at it.
    """
    entry = record.entry()
    new: Entry = {"parentUuid": record.uuid, "type": "user"}
    new |= {name: entry[name] for name in _COPIED if name in entry}
    results = [{"type": "tool_result", "tool_use_id": ident, "content": text} for ident in idents]
    new["message"] = {"role": "user", "content": results}
    new["uuid"] = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{session_id}/{record.uuid}"))
    new["sourceToolAssistantUUID"] = record.uuid
    new["toolDenialKind"] = "interrupted"  # as the CLI marks the results it makes up itself
    made = Record.of_entry(new)
    made.inserted = True
    return made


def _size(record: Record) -> int:
    if record.text is not None:
        return len(record.text)
    return sum(len(part.text) for part in record.parts if isinstance(part.text, str))
