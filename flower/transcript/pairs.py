"""Which result answers which tool call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET

from .look import Part
from .marks import INTERRUPT_MARKS
from .record import Record
from .traits import MARK, RESULT, USE


class Use(msgspec.Struct, gc=False, eq=False):
    """A tool call and the entry it stands in."""

    record: Record
    part: Part
    removed: bool = False

    @property
    def command(self) -> str | None:
        """What a Bash call runs; None for other tools."""
        part = self.part
        if part.name != "Bash" or part.input is None:
            return None
        command = part.input.command
        return command if isinstance(command, str) else None


class Answer(msgspec.Struct, gc=False, eq=False):
    """A tool's result and the entry it stands in."""

    record: Record
    part: Part
    removed: bool = False

    @property
    def denied(self) -> bool:
        """Refused by a hook or the CLI's own check. A person's refusal is not: those words are to be kept."""
        look = self.record.look
        decision = look.permissionDecision
        if look.toolDenialKind not in ("permission-rule", "user-rejected") or not isinstance(decision, dict):
            return False
        return decision.get("decision") == "reject" and not str(decision.get("source", "")).startswith("user")

    @property
    def interrupted(self) -> bool:
        """Left behind by an interrupt, which takes no decision about permission."""
        look = self.record.look
        if look.toolDenialKind == "user-rejected" and not isinstance(look.permissionDecision, dict):
            return True
        if not self.record.traits & MARK:
            return False
        content = self.part.body
        return isinstance(content, str) and content.strip() in INTERRUPT_MARKS

    @property
    def settled(self) -> bool:
        """A result that stands for itself: the tool ran to its end."""
        return self.record.look.toolDenialKind is None and self.editable and not self.interrupted

    @property
    def editable(self) -> bool:
        """Not part of a summary, and still there."""
        return not (self.record.protected or self.record.dropped)

    def set_body(self, content: str | list[Any]) -> None:
        """Another content for the result; the block itself stays, because each call needs one."""
        self.record.edit(self.part, content=content)

    def drop_error(self) -> None:
        """No longer marked as an error."""
        if self.part.is_error is not UNSET:
            self.record.edit(self.part, is_error=UNSET)

    def texts(self) -> list[str]:
        return texts_of(self.part.body)

    def chars(self) -> int:
        """How many characters its texts have."""
        return sum(map(len, self.texts()))


def texts_of(body: Any) -> list[str]:
    """The texts in a result's decoded content."""
    if isinstance(body, str):
        return [body]
    if not isinstance(body, list):
        return []
    return [b["text"] for b in body if isinstance(b, dict) and isinstance(b.get("text"), str)]


class Pairs(msgspec.Struct):
    """Tool calls and results by id, in the order of storing; of copies the first."""

    uses: dict[str, Use]
    answers: dict[str, Answer]

    def answered(self) -> Iterable[tuple[Use, Answer]]:
        """Every call that has a result, in the order of the results."""
        uses = self.uses
        return ((uses[ident], answer) for ident, answer in self.answers.items() if ident in uses)


def pairs_of(records: Iterable[Record]) -> Pairs:
    """The index of all calls and results of the living records."""
    uses: dict[str, Use] = {}
    answers: dict[str, Answer] = {}
    for record in records:
        if not record.traits & (USE | RESULT) or record.dropped:
            continue
        for part in record.parts:
            kind = part.type
            if kind == "tool_use" and record.type == "assistant":
                uses.setdefault(str(part.id), Use(record, part))
            elif kind == "tool_result" and record.type == "user":
                answers.setdefault(str(part.tool_use_id), Answer(record, part))
    return Pairs(uses, answers)
