"""What each role is told, one Markdown file a role. Models read it: in English, not translated."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files


@lru_cache
def text(name: str) -> str:
    """The rules ``<name>.md``.

    Raises:
        FileNotFoundError: there are none of that name.
    """
    return (files(__name__) / f"{name}.md").read_text(encoding="utf-8").strip() + "\n"
