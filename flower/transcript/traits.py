"""What a message may hold, told once when its row is read, so that each rule passes over all others.

Plain numbers and not an enumeration: an operation on an enumeration's members takes longer than the whole
look at a row. A trait is a hint: "may hold" is never taken back when a block goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw

from .look import Part
from .marks import INTERRUPT_MARKS

USE = 1
"""A tool call."""
RESULT = 2
"""A tool's result."""
MARK = 4
"""The mark of an interrupt."""
IMAGE = 8
"""An image, by itself or in a result."""
ODD = 16
"""Something that no request may hold."""

_MARK_BYTES = 100
_LIST = ord("[")


def traits_of_text(text: str) -> int:
    """The traits of a text."""
    words = text.strip()
    return (MARK if words in INTERRUPT_MARKS else 0) if words else ODD


def traits_of_blocks(parts: Sequence[Part], speaker: str) -> int:
    """The traits of a list of blocks said by "user" or "assistant"."""
    traits = 0 if parts else ODD
    for part in parts:
        kind = part.type
        if kind == "text":
            traits |= traits_of_text(part.text) if type(part.text) is str else ODD
        elif kind == "tool_use":
            traits |= USE if speaker == "assistant" else ODD
        elif kind == "tool_result":
            traits |= _traits_of_result(part)
        elif kind == "image":
            traits |= IMAGE
        elif kind is None:
            traits |= ODD
    return traits


def _traits_of_result(part: Part) -> int:
    content = part.content
    if type(content) is not Raw:
        return RESULT | ODD if part.is_error else RESULT
    body = memoryview(content)
    if body[0] == _LIST:  # Its blocks are looked at when it comes to it.
        return RESULT | IMAGE | ODD
    if len(body) > _MARK_BYTES:
        return RESULT
    text = part.body
    if isinstance(text, str) and text.strip() in INTERRUPT_MARKS:
        return RESULT | MARK
    return RESULT | ODD if part.is_error and not text else RESULT
