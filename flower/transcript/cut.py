"""A long body leaves its row without the row being parsed for it.

Parsing passes over every byte several times; finding a text in another does not.
"""

from __future__ import annotations

LEAST = 1000
"""Shorter bodies are not worth it."""

HOLE = b'"\\u0001flower: a body stood here\\u0001"'
"""What stands in a body's place for the moment; a row that holds it anyway is left to the parser."""
_BEGIN = 90  # Python looks for short needles without preparing them first.


def cut(raw: bytes, body: bytes) -> bytes | None:
    """A row without a long text, which is given with its quotes; None where that cannot be done.

    A text with its quotes stands only where a value stands, because inside a text quotes are escaped. Every
    value equal to it is cut: whoever calls counts the holes in what is kept.
    """
    if len(body) < LEAST or body[:1] != b'"':
        return None
    begin = body[:_BEGIN]
    kept: list[bytes] = []
    last = 0
    at = raw.find(begin)
    while at >= 0:
        if raw.startswith(body, at):
            kept.append(raw[last:at])
            last = at + len(body)
            at = raw.find(begin, last)
        else:
            at = raw.find(begin, at + 1)
    return HOLE.join([*kept, raw[last:]]) if kept else None
