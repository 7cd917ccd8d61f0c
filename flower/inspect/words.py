"""The words in a message's content."""

from __future__ import annotations

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any


def words_of(content: Any) -> str:
    """The texts of a message's or a result's content; images and documents leave a word in brackets."""
    if isinstance(content, str):
        return content
    parts = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            text = block.get("text")
            parts.append(text if isinstance(text, str) else f"[{block.get('type', '?')}]")
    return "\n".join(parts)
