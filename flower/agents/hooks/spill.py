"""Large results go to a file; a pointer and their beginning stay in the conversation."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flower.agents.access import Access
from flower.agents.hooks.call import EDIT_TOOLS, Call, inside
from flower.agents.spec import AgentSpec
from flower.agents.workbench import hide, shown

HEAD_CHARS = 400
"""Characters of a spilled result that stay in the conversation."""

# Their results repeat what the call said; the model sees one line of them.
_NEVER = (*EDIT_TOOLS, "mcp__human__ask", "mcp__human__inbox")
# Fields of results that the model is not shown, or that are no text.
_UNSEEN = frozenset(
    {"prompt", "base64", "data", "originalFile", "structuredPatch", "filePath", "type", "mode"}
)


def pointer(path: str, size: int) -> str:
    """The line that replaces a spilled text of ``size`` characters."""
    return f"[{size} characters, kept in {path}; Read that file for the rest. It begins:]"


def spill(text: str, directory: Path, workspace: Path) -> str:
    """Write a text to ``<directory>/<16 hex of its SHA-256>.txt``; what stays instead.

    Raises:
        OSError: it could not be written; the result then has to stay whole.
    """
    data = text.encode("utf-8", "surrogatepass")
    path = directory / f"{hashlib.sha256(data).hexdigest()[:16]}.txt"
    directory.mkdir(parents=True, exist_ok=True)
    hide(directory)
    if not path.exists():
        path.write_bytes(data)
    return f"{pointer(shown(path, workspace), len(text))}\n{text[:HEAD_CHARS]}"


def spill_guard(spec: AgentSpec, access: Access, call: Call, response: Any) -> Any:
    """The result in its own shape with long texts spilled; ``None`` when it stays as it is.

    Reading a spill file passes: otherwise the pointer would lead to another pointer. So does a Read by
    somebody who edits: an edit needs the very text it changes.
    """
    limit = access.spill_threshold
    if limit <= 0 or call.tool in _NEVER or _passes(spec, access, call):
        return None
    leaves = sorted(_leaves(response), key=lambda leaf: len(leaf[1]), reverse=True)
    total = sum(len(text) for _, text in leaves)
    if total <= limit:
        return None
    result = response
    for where, text in leaves:
        if total <= limit or len(text) <= HEAD_CHARS:
            break
        try:
            short = spill(text, access.spill_dir, access.workspace)
        except OSError:
            return None  # No place to put it: a long result is better than a lost one.
        result = _replaced(result, where, short)
        total -= len(text) - len(short)
    return result if result is not response else None


def _passes(spec: AgentSpec, access: Access, call: Call) -> bool:
    if call.tool != "Read":
        return False
    if any(inside(path, access.spill_dir.resolve()) for path in call.paths()):
        return True
    reader = spec.agents.get(call.agent_type) if call.by_subagent else spec
    return reader is not None and not set(reader.allowed_tools).isdisjoint(EDIT_TOOLS)


Where = tuple["str | int", ...]


def _leaves(value: Any, where: Where = ()) -> Iterator[tuple[Where, str]]:
    """Every text of a result with its place; a list of short texts (file names) counts as one text."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in _UNSEEN:
                yield from _leaves(item, (*where, key))
    elif isinstance(value, list):
        if value and all(isinstance(item, str) for item in value):
            yield where, "\n".join(value)
            return
        for number, item in enumerate(value):
            yield from _leaves(item, (*where, number))


def _replaced(value: Any, where: Where, text: str) -> Any:
    """A copy of the result with one text replaced; the shape stays, the CLI rejects another."""
    if not where:
        return text.split("\n") if isinstance(value, list) else text
    key, rest = where[0], where[1:]
    copy = value.copy()
    copy[key] = _replaced(value[key], rest, text)
    return copy
