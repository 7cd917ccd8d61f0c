"""Which result answers which tool call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .marks import INTERRUPT_MARKS
from .record import Block, Record


@dataclass
class Use:
    """A tool call and the entry it stands in."""

    record: Record
    block: Block
    removed: bool = False

    @property
    def command(self) -> str | None:
        """What a Bash call runs; None for other tools."""
        given = self.block.get("input")
        if self.block.get("name") != "Bash" or not isinstance(given, dict):
            return None
        command = given.get("command")
        return command if isinstance(command, str) else None


@dataclass
class Answer:
    """A tool's result and the entry it stands in."""

    record: Record
    block: Block
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
        content = self.block.get("content")
        return isinstance(content, str) and len(content) < 100 and content.strip() in INTERRUPT_MARKS

    @property
    def settled(self) -> bool:
        """A result that stands for itself: the tool ran to its end."""
        return self.editable and self.record.look.toolDenialKind is None and not self.interrupted

    @property
    def editable(self) -> bool:
        """Not part of a summary, and still there."""
        return not (self.record.protected or self.record.dropped)

    def set_body(self, content: str | list[Block]) -> None:
        """Another content for the result; the block itself stays, because each call needs one."""
        new = {**self.block, "content": content}
        self.record.replace(self.block, new)
        self.block = new

    def drop_error(self) -> None:
        """No longer marked as an error."""
        if "is_error" in self.block:
            new = {name: value for name, value in self.block.items() if name != "is_error"}
            self.record.replace(self.block, new)
            self.block = new

    def texts(self) -> list[str]:
        content = self.block.get("content")
        if isinstance(content, str):
            return [content]
        if not isinstance(content, list):
            return []
        return [b["text"] for b in content if isinstance(b, dict) and isinstance(b.get("text"), str)]


@dataclass
class Pairs:
    """Tool calls and results by id, in the order of storing; of copies the first."""

    uses: dict[str, Use] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)

    def answered(self) -> Iterable[tuple[Use, Answer]]:
        """Every call that has a result, in the order of the results."""
        return ((self.uses[ident], answer) for ident, answer in self.answers.items() if ident in self.uses)


def pairs_of(records: Iterable[Record]) -> Pairs:
    """The index of all calls and results of the living records."""
    pairs = Pairs()
    for record in records:
        if record.dropped or type(record.content) is not list:
            continue
        for block in record.content:
            if type(block) is not dict:
                continue
            kind = block.get("type")
            if kind == "tool_use" and record.type == "assistant":
                pairs.uses.setdefault(str(block.get("id")), Use(record, block))
            elif kind == "tool_result" and record.type == "user":
                pairs.answers.setdefault(str(block.get("tool_use_id")), Answer(record, block))
    return pairs
