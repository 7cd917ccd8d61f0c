"""One entry on its way from the store to the model: the text of its row, and what the rules need to know of it.

Most rows leave as they came. Of one that is changed only the way to the change is opened; everything beside
it stays the text it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from .cut import HOLE, cut
from .look import Entry, Look, Part, look_at, opened, opened_blocks, parse, part_of
from .traits import traits_of_blocks, traits_of_text

Block = dict[str, Any]
SPEAKERS = ("user", "assistant")
_encode = msgspec.json.Encoder().encode


class Record(msgspec.Struct, gc=False, eq=False):
    """An entry on its way to the model; what it was made from is never changed.

    Attributes:
        raw: its text, as it is written if nothing changes.
        uuid, parent: the entry's place in the chain; None where it has none.
        thread: whose conversation it belongs to: None for the main thread, else the subagent's id.
        text: the message's content, if that is a text.
        parts: the blocks of its content, if it has blocks.
        traits: what the content may hold.
        protected: a compact summary or a meta entry, whose content is nobody's to edit.
        healed: half characters, NULs or impossible numbers in it were mended.
        dropped: left out of the result.
        inserted: made here, not stored.
    """

    raw: bytes
    look: Look
    type: str
    uuid: str | None
    parent: str | None
    thread: Any
    text: str | None
    parts: list[Part]
    traits: int
    protected: bool
    healed: bool = False
    dropped: bool = False
    inserted: bool = False
    _given: Entry | None = None
    _opened: dict[str, Any] | None = None
    _changes: dict[str, Any] | None = None

    @classmethod
    def of_entry(cls, entry: Entry) -> Record:
        """A record of a parsed entry."""
        record = cls.of_row(json.dumps(entry, separators=(",", ":")).encode())
        assert record is not None
        if not record.healed:
            record._given = entry
        return record

    @classmethod
    def of_row(cls, raw: bytes) -> Record | None:
        """A record of a row's text; None if it holds no JSON object."""
        found = look_at(raw)
        if found is None:
            return None
        look, raw, healed = found
        kind = look.type if type(look.type) is str else ""
        content = look.message.content if look.message is not None and kind in SPEAKERS else None
        text, parts, traits = None, [], 0
        if type(content) is list:
            parts, traits = content, traits_of_blocks(content, kind)
        elif type(content) is str:
            text, traits = content, traits_of_text(content)
        return cls(
            raw,
            look,
            kind,
            look.uuid if type(look.uuid) is str and look.uuid else None,
            look.parentUuid if type(look.parentUuid) is str else None,
            (look.agentId or "?") if look.isSidechain else None,
            text,
            parts,
            traits,
            bool(look.isMeta or look.isCompactSummary),
            healed,
        )

    @property
    def message_id(self) -> str | None:
        found = self.look.message.id if self.look.message is not None else None
        return found if isinstance(found, str) else None

    @property
    def content(self) -> Any:
        """The message's content, decoded: a text or a list of blocks; None if the entry is no message."""
        if self.look.message is None or self.type not in SPEAKERS:
            return None
        return self.text if self.text is not None else self.entry()["message"].get("content")

    @property
    def blocks(self) -> list[Block]:
        """The content's blocks, decoded; a text counts as none."""
        content = self.content if self.text is None else None
        return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []

    def block(self, part: Part) -> Block:
        """One block, decoded."""
        block: Block = parse(_encode(self._blocks()[self._place(part)]))
        return block

    def set_text(self, text: str) -> None:
        """Replace the whole content by a text."""
        self.text, self.parts = text, []
        self._open()["content"] = text

    def edit(self, part: Part, **members: Any) -> None:
        """Other values for a block's `content` and `is_error`; UNSET takes one away."""
        if "content" in members and self._opened is None and type(part.content) is Raw:
            self._open_without(part.content)
        blocks, place = self._blocks(), self._place(part)
        block = blocks[place]
        blocks[place] = block = opened(block) if type(block) is Raw else block
        for name, value in members.items():
            if value is UNSET:
                block.pop(name, None)
            else:
                value = block[name] = Raw(_encode(value))
            setattr(part, name, value)

    def replace(self, part: Part, block: Block) -> None:
        """Another block in the place of one."""
        place = self._place(part)
        self._blocks()[place] = block
        self.parts[place] = part_of(_encode(block))

    def remove(self, part: Part) -> None:
        """Take one block away; the others stay."""
        place = self._place(part)
        del self._blocks()[place], self.parts[place]

    def _place(self, part: Part) -> int:
        return self.parts.index(part)  # Parts are equal to themselves alone.

    def _blocks(self) -> list[Any]:
        """The content's blocks, to be edited: those that nobody opened are the text they were."""
        message = self._open()
        if type(message["content"]) is Raw:
            message["content"] = opened_blocks(message["content"])
        blocks: list[Any] = message["content"]
        return blocks

    def _open(self, raw: bytes | None = None) -> dict[str, Any]:
        """The message's members, to be edited."""
        if self._opened is None:
            entry: dict[str, Any] = opened(raw or self.raw)
            entry["message"] = opened(entry["message"])
            entry.pop("toolUseResult", None)  # The copy of a result that the CLI keeps beside it.
            self._opened = entry
        message: dict[str, Any] = self._opened["message"]
        return message

    def _open_without(self, body: Raw) -> None:
        """Open the message without the body that is about to be replaced, if that can be told to be safe."""
        short = cut(self.raw, bytes(body))
        if short is not None:
            self._open(short)
            if _encode(self._opened).count(HOLE) != 1:
                self._opened = None  # The same text stands elsewhere too.

    def set_parent(self, parent: str | None) -> None:
        if parent != self.parent:
            self.parent = parent
            self._changes = {**(self._changes or {}), "parentUuid": parent}

    def set_leaf(self, leaf: str | None) -> None:
        self._changes = {**(self._changes or {}), "leafUuid": leaf}

    def line(self) -> bytes:
        """The entry as a line of a transcript file, without the line break."""
        if self._opened is None and self._changes is None:
            return self.raw
        entry = opened(self.raw) if self._opened is None else self._opened
        return _encode(entry | self._changes if self._changes else entry)

    def entry(self) -> Entry:
        """The entry as it is fed back. Unchanged ones are the very object that was given."""
        if self._given is not None and self._opened is None and self._changes is None:
            return self._given
        entry: Entry = parse(self.line())
        return entry


def records_of(entries: Iterable[Entry]) -> list[Record]:
    return [Record.of_entry(entry) for entry in entries]
