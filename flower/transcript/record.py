"""One stored entry as the rewriting sees it: the text of its row, and of its values only those the rules
look at.

A transcript can be 200 MB. Most rows leave as they came, so they are never built as objects nor written as
JSON again: a row's text is looked through once, and only a changed row is parsed whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec

Entry = dict[str, Any]
Block = dict[str, Any]

_LONE = re.compile("[\ud800-\udfff]")
SPEAKERS = ("user", "assistant")


class _Message(msgspec.Struct, gc=False):
    id: Any = None
    model: Any = None
    content: Any = None


class _Kind(msgspec.Struct, gc=False):
    type: Any = None


class _Look(msgspec.Struct, gc=False):
    """The values of an entry that decide what happens to it; everything else is passed over by the parser."""

    type: Any = None
    subtype: Any = None
    uuid: Any = None
    parentUuid: Any = None
    logicalParentUuid: Any = None
    leafUuid: Any = None
    isSidechain: Any = None
    agentId: Any = None
    isMeta: Any = None
    isCompactSummary: Any = None
    isApiErrorMessage: Any = None
    toolDenialKind: Any = None
    permissionDecision: Any = None
    attachment: _Kind | None = None
    message: _Message | None = None


_look = msgspec.json.Decoder(_Look).decode


def _look_at(entry: Entry) -> _Look:
    look = _Look(
        **{name: entry.get(name) for name in _Look.__struct_fields__ if name not in ("attachment", "message")}
    )
    attachment, message = entry.get("attachment"), entry.get("message")
    if isinstance(attachment, dict):
        look.attachment = _Kind(attachment.get("type"))
    if isinstance(message, dict):
        look.message = _Message(message.get("id"), message.get("model"), message.get("content"))
    return look


class Record:
    """An entry on its way to the model; what it was made from is never changed.

    Attributes:
        uuid, parent: the entry's place in the chain; None where it has none.
        content: the message's content, a text or a list of blocks; None if the entry is no message.
        protected: a compact summary or a meta entry, whose content is nobody's to edit.
        dropped: left out of the result.
        inserted: made here, not stored.
    """

    __slots__ = (
        "_changes",
        "_entry",
        "_raw",
        "content",
        "dropped",
        "inserted",
        "look",
        "parent",
        "protected",
        "type",
        "uuid",
    )

    def __init__(self, look: _Look, raw: bytes | None = None, entry: Entry | None = None) -> None:
        self.look = look
        self._raw = raw
        self._entry = entry
        self.uuid: str | None = look.uuid if isinstance(look.uuid, str) and look.uuid else None
        self.parent: str | None = look.parentUuid if isinstance(look.parentUuid, str) else None
        self.content: Any = (
            look.message.content if look.message is not None and look.type in SPEAKERS else None
        )
        self.type: str = look.type if isinstance(look.type, str) else ""
        self.protected = bool(look.isMeta or look.isCompactSummary)
        self.dropped = False
        self.inserted = False
        self._changes: Entry | None = None

    @classmethod
    def of_entry(cls, entry: Entry) -> Record:
        """A record of a parsed entry; half surrogate pairs and NULs in it become U+FFFD."""
        try:
            text = json.dumps(entry, ensure_ascii=False)
            text.encode()
            suspect = "\\u0000" in text
        except UnicodeEncodeError:
            suspect = True
        if not suspect:
            return cls(_look_at(entry), entry=entry)
        healed = _healed(entry)
        record = cls(_look_at(healed), entry=healed)
        record._changes = {} if healed != entry else None
        return record

    @classmethod
    def of_row(cls, raw: bytes) -> Record | None:
        """A record of a row's text; None if it holds no JSON object."""
        # One scan for most rows. Half characters and NULs are always written as escapes.
        if b"\\u" in raw and (b"\\ud" in raw or b"\\u0000" in raw or b"\\uD" in raw):
            return cls._of_suspect(raw)
        try:
            return cls(_look(raw), raw=raw)
        except (msgspec.DecodeError, RecursionError):
            return cls._of_suspect(raw)

    @classmethod
    def _of_suspect(cls, raw: bytes) -> Record | None:
        try:
            entry = json.loads(raw.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            return None
        if not isinstance(entry, dict):
            return None
        record = cls.of_entry(entry)
        if record._changes is None:
            record._raw, record._entry = raw, None
        return record

    @property
    def message_id(self) -> str | None:
        found = self.look.message.id if self.look.message is not None else None
        return found if isinstance(found, str) else None

    @property
    def thread(self) -> Any:
        """Whose conversation it belongs to: None for the main thread, else the subagent's id."""
        return (self.look.agentId or "?") if self.look.isSidechain else None

    @property
    def blocks(self) -> list[Block]:
        """The content's blocks; a text counts as none."""
        return [b for b in self.content if isinstance(b, dict)] if isinstance(self.content, list) else []

    @property
    def healed(self) -> bool:
        return self._changes is not None and not self._changes

    def set_content(self, content: Any) -> None:
        """Replace the content; the copy of a tool's result that the CLI keeps beside it goes."""
        self.content = content
        self._change("content", content)

    def replace(self, block: Block, *instead: Block) -> None:
        """Put blocks in the place of one block; the others stay."""
        self.set_content([new for old in self.content for new in (instead if old is block else (old,))])

    def set_parent(self, parent: str | None) -> None:
        if parent != self.parent:
            self.parent = parent
            self._change("parentUuid", parent)

    def set_leaf(self, leaf: str | None) -> None:
        self._change("leafUuid", leaf)

    def _change(self, name: str, value: Any) -> None:
        self._changes = {**(self._changes or {}), name: value}

    def entry(self) -> Entry:
        """The entry as it is fed back. Unchanged ones are the very object that was given."""
        entry: Entry = self._entry if self._entry is not None else _parse(self._raw or b"")
        if not self._changes:
            return entry
        changes = dict(self._changes)
        entry = dict(entry)
        if "content" in changes:
            entry["message"] = {**entry["message"], "content": changes.pop("content")}
            entry.pop("toolUseResult", None)
        return entry | changes

    def line(self) -> bytes:
        """The entry as a line of a transcript file, without the line break."""
        if self._raw is not None and self._changes is None and b"\n" not in self._raw:
            return self._raw
        entry = self.entry()
        try:
            return msgspec.json.encode(entry)
        except (msgspec.MsgspecError, ValueError, TypeError, OverflowError):
            return json.dumps(entry, separators=(",", ":")).encode("ascii")


def records_of(entries: Iterable[Entry]) -> list[Record]:
    return [Record.of_entry(entry) for entry in entries]


def _parse(raw: bytes) -> Entry:
    try:
        entry: Entry = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        entry = json.loads(raw.decode("utf-8", "surrogatepass"))
    return entry


def _healed(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub("\ufffd", _joined(value)).replace("\x00", "\ufffd")
    if isinstance(value, list):
        return [_healed(item) for item in value]
    if isinstance(value, dict):
        return {_healed(key): _healed(item) for key, item in value.items()}
    return value


def _joined(text: str) -> str:
    """Halves of a pair that stand side by side are one character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _LONE.search(text) else text
