"""What changed on the workbench since a session was last told, added to each prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flower.agents.hooks.pre_tool import Hook
from flower.agents.workbench import Snapshot, Workbench


class News:
    """Remembers, for one session, what it knows of the workbench; the memory outlives the process.

    Args:
        workbench: what is watched.
        memory: the file the knowledge is kept in.
        inherited: the memory of the session this one continues or branches from. ``None`` for a fresh
            session: that one gets the whole listing with its first message and starts out knowing it.
    """

    def __init__(self, workbench: Workbench, memory: Path, *, inherited: Path | None) -> None:
        self._workbench = workbench
        self._memory = memory
        if inherited is None:
            self._told: Snapshot = workbench.snapshot()
            self._remember()
        else:
            self._told = _load(inherited)

    def tell(self) -> str | None:
        """What the session does not know yet, which it knows from now on; ``None`` without changes."""
        text, now = self._workbench.changes(self._told)
        if now != self._told:
            self._told = now
            self._remember()
        return f"Changes on the workbench ({self._workbench.shown_root}):\n{text}" if text else None

    def _remember(self) -> None:
        try:
            self._memory.parent.mkdir(parents=True, exist_ok=True)
            self._memory.write_text(json.dumps(self._told), encoding="utf-8")
        except OSError:
            pass  # Forgetting costs a repeated listing at the next wake, nothing else.


def prompt_hook(news: News) -> Hook:
    """The UserPromptSubmit hook that adds the news to a prompt."""

    async def hook(_data: Any, _tool_use_id: str | None, _context: Any) -> dict[str, Any]:
        text = news.tell()
        if text is None:
            return {}
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}}

    return hook


def _load(path: Path) -> Snapshot:
    """What was told last; a memory that is missing or damaged means: nothing."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): (int(state[0]), int(state[1])) for name, state in raw.items()}
    except (OSError, ValueError, TypeError, AttributeError, IndexError, KeyError):
        return {}
