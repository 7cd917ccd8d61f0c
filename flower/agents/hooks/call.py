"""A tool call as the guards see it, and the answers the CLI understands."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

AGENT_TOOLS = ("Agent", "Task")
"""The subagent tool, under its present and its former name."""

EDIT_TOOLS = ("Write", "Edit", "MultiEdit", "NotebookEdit")
HANDS_ON_TOOLS = ("Bash", *EDIT_TOOLS)
"""Tools that change something."""

_PATH_FIELDS = ("file_path", "notebook_path", "path")
_GLOB_CHARACTERS = frozenset("*?[{")


@dataclass(frozen=True)
class Call:
    """One tool call: which tool, with what, by whom, from where."""

    tool: str
    input: Mapping[str, Any]
    cwd: Path
    agent_id: str = ""
    agent_type: str = ""
    mode: str = "default"

    @classmethod
    def from_hook(cls, data: Mapping[str, Any]) -> Call:
        """From the input of a PreToolUse or PostToolUse hook. A call without a tool name is a KeyError."""
        return cls(
            tool=data["tool_name"],
            input=data.get("tool_input") or {},
            cwd=Path(data["cwd"]),
            agent_id=data.get("agent_id") or "",
            agent_type=data.get("agent_type") or "",
            mode=data.get("permission_mode") or "default",
        )

    @property
    def by_subagent(self) -> bool:
        # The CLI gives an agent_id to subagents only; agent_type alone can also name a main agent.
        return bool(self.agent_id)

    @property
    def command(self) -> str:
        """The shell command of a Bash call."""
        return str(self.input.get("command") or "")

    def paths(self) -> list[Path]:
        """The files or directories the call names, links resolved; the cwd for a search that names none."""
        named = [self.resolve(str(self.input[f])) for f in _PATH_FIELDS if self.input.get(f)]
        if self.tool == "Glob":
            base = named[0] if named else self.cwd
            named.append(_real(base / _literal_prefix(str(self.input.get("pattern") or ""))))
        if self.tool == "Grep" and not named:
            named.append(_real(self.cwd))
        return named

    def resolve(self, path: str) -> Path:
        """A path of the call as the file system knows it."""
        return _real(self.cwd / os.path.expanduser(path))


Guard = Callable[[Call], "str | None"]
"""Why the call is refused, or ``None``."""

Rewrite = Callable[[Call], "dict[str, Any]"]
"""Fields of the tool's input to set before it runs."""


def inside(path: Path, directory: Path) -> bool:
    """Whether a resolved path is the directory or lies in it."""
    return path == directory or directory in path.parents


def allow(call: Call, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Let the tool run unattended, with changed input where there are changes."""
    answer: dict[str, Any] = {
        "permissionDecision": "allow",
        "permissionDecisionReason": "the role may do this",
    }
    if any(call.input.get(k) != v for k, v in changes.items()):
        # The CLI replaces the whole input, it does not merge.
        answer["updatedInput"] = {**call.input, **changes}
    return _pre_tool(answer)


def deny(reason: str) -> dict[str, Any]:
    """Stop the tool; the model reads the reason."""
    return _pre_tool({"permissionDecision": "deny", "permissionDecisionReason": reason})


def ask(reason: str) -> dict[str, Any]:
    """Leave the call to the permission callback, with the reason."""
    return _pre_tool({"permissionDecision": "ask", "permissionDecisionReason": reason})


def _pre_tool(answer: dict[str, Any]) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **answer}}


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _literal_prefix(pattern: str) -> Path:
    """The leading part of a glob pattern that names one place: ``a/b/*.py`` → ``a/b``."""
    kept: list[str] = []
    for part in Path(pattern).parts:
        if _GLOB_CHARACTERS & set(part):
            break
        kept.append(part)
    return Path(*kept)
