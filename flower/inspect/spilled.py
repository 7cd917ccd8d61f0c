"""Finding again what was moved out of a conversation into a file."""

from __future__ import annotations

from pathlib import Path

from flower.patterns import late
from flower.values import NamedTuple

_POINTERS = (
    late(r"\[\d+ characters, kept in (?P<path>\S.*?\.txt); "),
    late(r"\[Tool result of \d+ characters, moved to (?P<path>\S.*?\.txt) \("),
)


class Spilled(NamedTuple):
    """Where a result's text was put, as the pointer says; ``text`` is None if it is not there any more."""

    path: str
    text: str | None


def find_spilled(text: str, workspace: Path) -> Spilled | None:
    """The text that a pointer stands for; None if ``text`` is not a pointer.

    A file is named by the hash of what it holds, so a file with another content is not what the tool said.
    """
    found = next((m for pattern in _POINTERS if (m := pattern.match(text))), None)
    if found is None:
        return None
    path = workspace / found["path"]
    try:
        data = path.read_bytes()
    except OSError:
        return Spilled(found["path"], None)  # Removed since; what stayed in the conversation is shown.
    import hashlib  # Only where something was moved: it takes its time to load.

    same = hashlib.sha256(data).hexdigest()[:16] == path.stem
    return Spilled(found["path"], data.decode("utf-8", "replace") if same else None)
