"""A request holds only so many images: the oldest move into files, or the session could never be resumed."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from .chain import starts_anew
from .expire import boundary
from .look import Part, kinds_of
from .record import Block, Record
from .report import TrimReport
from .traits import IMAGE
from .trim import Spill

KEEP_IMAGES = 60
BLOCK = 20
"""The API takes 100. After a load 60 to 79 are left, so that a step can look at twenty more."""

MOVED = "[Image moved to {path} (relative to the working directory). Read that file to see it again.]"
GONE = "[An image stood here; a request can hold only so many, and it could not be kept.]"
_SUFFIX = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}


def limit_images(records: Sequence[Record], spill: Spill, report: TrimReport) -> None:
    """Replaces the oldest images since the last compaction by notes, as many as it takes."""
    holding: list[tuple[Record, Part]] = []
    for record in records:
        if record.traits & IMAGE:
            if not record.dropped and not record.protected:
                for part in record.parts:
                    holding += [(record, part)] * _images(part)
        elif starts_anew(record):
            holding = []
    old = holding[: boundary(len(holding), KEEP_IMAGES, BLOCK)]
    left: dict[int, int] = {}
    for _, part in old:
        left[id(part)] = left.get(id(part), 0) + 1
    for record, part in old:
        count = left.pop(id(part), 0)
        if count:
            record.replace(part, _without(record.block(part), count, spill))
            report.images += count


def _images(part: Part) -> int:
    if part.type == "image":
        return 1
    if part.type != "tool_result" or part.content is UNSET or bytes(part.content)[:1] != b"[":
        return 0
    return kinds_of(part.content).count("image")


def _without(block: Block, count: int, spill: Spill) -> Block:
    if block.get("type") == "image":
        return _note(block, spill)
    content: list[Any] = []
    for inner in block["content"]:
        if count and isinstance(inner, dict) and inner.get("type") == "image":
            inner, count = _note(inner, spill), count - 1
        content.append(inner)
    return {**block, "content": content}


def _note(image: Block, spill: Spill) -> Block:
    source = image.get("source")
    path = None
    if isinstance(source, dict) and isinstance(source.get("data"), str):
        try:
            data = base64.b64decode(source["data"])
        except (binascii.Error, ValueError):
            data = b""
        path = spill(data, _SUFFIX.get(str(source.get("media_type")), ".bin")) if data else None
    return {"type": "text", "text": MOVED.format(path=path) if path else GONE}
