"""What the rules look at in a row's text; everything else is passed over by the parser and never built.

A transcript can be 200 MB, and most of that is bodies of results that no rule reads.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

Entry = dict[str, Any]
_LONE = re.compile("[\ud800-\udfff]")


class _Input(msgspec.Struct, gc=False):
    command: Any = None


class Part(msgspec.Struct, gc=False, eq=False):
    """A block of a message's content.

    Attributes:
        content: a result's body as it is stored, not decoded; UNSET if it has none.
        input: of a call only what a shell is to run.
    """

    type: Any = None
    text: Any = None
    id: Any = None
    name: Any = None
    input: _Input | None = None
    tool_use_id: Any = None
    is_error: Any = UNSET
    content: Raw | UnsetType = UNSET

    @property
    def body(self) -> Any:
        """A result's content, decoded."""
        return None if self.content is UNSET else parse(self.content)

    def may_have(self, chars: int) -> bool:
        """False if a result's texts surely have less characters: they have no more than the bytes they are
        stored in.
        """
        return self.content is not UNSET and len(memoryview(self.content)) >= chars

    def surely_has(self, chars: int) -> bool:
        """True if a result's text surely has so many characters, told without decoding it."""
        if self.content is UNSET:
            return False
        stored = bytes(self.content)
        # Twelve bytes with two backslashes may be one character; no escape takes more.
        return stored[:1] == b'"' and stored.isascii() and len(stored) - 6 * stored.count(b"\\") - 2 >= chars


class _Message(msgspec.Struct, gc=False):
    id: Any = None
    model: Any = None
    content: list[Part] | str | None = None


class Kind(msgspec.Struct, gc=False):
    """The type of something whose other values do not matter."""

    type: Any = None


class Look(msgspec.Struct, gc=False):
    """The values of an entry that decide what happens to it."""

    type: Any = None
    subtype: Any = None
    uuid: Any = None
    parentUuid: Any = None
    leafUuid: Any = None
    isSidechain: Any = None
    agentId: Any = None
    isMeta: Any = None
    isCompactSummary: Any = None
    isApiErrorMessage: Any = None
    toolDenialKind: Any = None
    permissionDecision: Any = None
    attachment: Kind | None = None
    message: _Message | None = None


# Half characters and NULs are always written as escapes; what else has their looks is passed over.
_HARMLESS = re.compile(rb"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..")
# The pattern and not `b"\\u" in raw`: for so short a needle that takes twice as long, as long as the whole look.
_escaped = re.compile(rb"\\u").search
_look = msgspec.json.Decoder(Look).decode
_kinds = msgspec.json.Decoder(list[Kind]).decode
part_of = msgspec.json.Decoder(Part).decode
opened: Callable[[bytes | Raw], dict[str, Any]] = msgspec.json.Decoder(dict[str, Raw]).decode
"""An object's members as they are written, none of them decoded."""
_blocks = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_items = msgspec.json.Decoder(list[Raw]).decode


def look_at(raw: bytes) -> tuple[Look, bytes, bool] | None:
    """What the rules need of a row, the row as it can be fed back, and whether that took mending.

    Half surrogate pairs and NULs become U+FFFD, numbers that JSON does not have null. None if the row holds
    no JSON object.
    """
    if not (_escaped(raw) and _may_be_broken(raw)) and (raw.isascii() or _is_text(raw)):
        try:
            look = _look(raw)
        except (msgspec.DecodeError, RecursionError):
            pass  # No JSON, or of other types than expected: told apart below.
        else:
            # A line break between two values is good JSON, but would be two lines of a file.
            return (look, raw, False) if b"\n" not in raw else (look, raw.replace(b"\n", b" "), False)
    return _look_closely(raw)


def _may_be_broken(raw: bytes) -> bool:
    if b"\\ud" in raw or b"\\uD" in raw or b"\\u0000" in raw:
        raw = _HARMLESS.sub(b"", raw)
        return b"\\ud" in raw or b"\\uD" in raw or b"\\u0000" in raw
    return False


def _look_closely(raw: bytes) -> tuple[Look, bytes, bool] | None:
    try:
        entry = json.loads(raw.decode("utf-8", "surrogatepass"))
        if not isinstance(entry, dict):
            return None
        mended = _mended(entry)
        text = json.dumps(mended, separators=(",", ":")).encode()
        # Compared as text: a number that is none is not equal to itself.
        healed = text != json.dumps(entry, separators=(",", ":")).encode()
        return _look(json.dumps(_as_expected(mended)).encode()), text, healed
    except (ValueError, RecursionError):
        return None


def _as_expected(entry: Entry) -> Entry:
    """The entry without values of a type that no rule can use."""
    entry = dict(entry)
    if not isinstance(entry.get("attachment"), dict):
        entry.pop("attachment", None)
    message = entry.pop("message", None)
    if isinstance(message, dict):
        content = message.get("content")
        if isinstance(content, list):
            content = [_block_as_expected(block) for block in content]
        elif not isinstance(content, str):
            content = None
        entry["message"] = {**message, "content": content}
    return entry


def _block_as_expected(block: Any) -> Any:
    if not isinstance(block, dict):
        return {}
    if isinstance(block.get("input"), dict):
        return block
    return {name: value for name, value in block.items() if name != "input"}


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def parse(raw: bytes | Raw) -> Any:
    """The value that a text stands for."""
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError:  # 1e400
        return json.loads(bytes(raw))


def opened_blocks(content: Raw) -> list[dict[str, Raw]] | list[Raw]:
    """A content's blocks, each opened; as they are written if one of them is no object."""
    try:
        return _blocks(content)
    except msgspec.ValidationError:
        return _items(content)


def kinds_of(content: Raw) -> list[Any]:
    """The types of the blocks in a list."""
    try:
        return [kind.type for kind in _kinds(content)]
    except msgspec.ValidationError:
        return [block.get("type") if isinstance(block, dict) else None for block in parse(content)]


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub("\ufffd", _joined(value)).replace("\x00", "\ufffd")
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _joined(text: str) -> str:
    """Halves of a pair that stand side by side are one character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _LONE.search(text) else text
