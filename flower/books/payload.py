"""Entries as text and back: anything a model may say survives, and a broken row costs only itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any

    Entry = dict[str, Any]
else:
    Entry = dict


_CHUNK_BYTES = 1 << 20

# Not looked through for circles, which nothing that was JSON can have.
encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
"""ASCII only: SQLite refuses to store half a surrogate pair, which models do produce."""


def decode_rows(payloads: Iterable[bytes]) -> tuple[list[Entry], int]:
    """The entries in the rows' order, and how many rows could not be parsed and are left out."""
    entries: list[Entry] = []
    skipped, size = 0, 0
    chunk: list[bytes] = []
    for payload in payloads:
        chunk.append(payload)
        size += len(payload)
        if size >= _CHUNK_BYTES:
            skipped += _decode_chunk(chunk, entries)
            chunk, size = [], 0
    skipped += _decode_chunk(chunk, entries)
    return entries, skipped


def _decode_chunk(chunk: list[bytes], into: list[Entry]) -> int:
    # One parse for many rows shares the strings of the keys: a third less time and memory than row by row.
    try:
        found = json.loads((b"[" + b",".join(chunk) + b"]").decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        found = None
    if found is not None and len(found) == len(chunk) and all(type(entry) is dict for entry in found):
        into.extend(found)
        return 0
    one_by_one = [entry for payload in chunk if (entry := decode(payload)) is not None]
    into.extend(one_by_one)
    return len(chunk) - len(one_by_one)


def decode(payload: bytes | None) -> Entry | None:
    """One entry; None if the row holds no JSON object."""
    try:
        entry = json.loads((payload or b"").decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def context_of(entry: Entry | None) -> int:
    """Tokens the model read for this entry, cache included; 0 unless it is a main-thread answer."""
    message = (entry or {}).get("message")
    if (
        not isinstance(message, dict)
        or message.get("model") == "<synthetic>"
        or message.get("role") != "assistant"
    ):
        return 0
    usage = message.get("usage")
    if not isinstance(usage, dict) or (entry or {}).get("isSidechain"):
        return 0
    parts = (usage.get(n) for n in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"))
    return sum(n for n in parts if isinstance(n, int))


def uid_of(entry: Mapping[str, Any]) -> str | None:
    """The entry's uuid as it can be stored; None if it has none."""
    uuid = entry.get("uuid")
    return bindable(uuid) if isinstance(uuid, str) and uuid else None


def bindable(text: str) -> str:
    """The text itself, or an ASCII form of one that is not valid Unicode."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("ascii", "backslashreplace").decode("ascii")
    return text
