"""Where the Claude Code CLI is."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from flower.locale import _
from flower.model import ConfigurationError


def find_claude() -> Path:
    """The Claude Code CLI to run: ``FLOWER_CLAUDE``, else the one inside the SDK, else ``claude`` in PATH.

    The SDK is not imported.

    Raises:
        ConfigurationError: ``FLOWER_CLAUDE`` names something that cannot be run, or there is no CLI at all.
    """
    if chosen := os.environ.get("FLOWER_CLAUDE"):
        return _checked(chosen)
    for directory in _sdk_directories():
        bundled = directory / "_bundled" / "claude"
        if os.access(bundled, os.X_OK):
            return bundled
    if found := shutil.which("claude"):
        return Path(found).absolute()
    raise ConfigurationError(
        _("Claude Code was found neither beside claude_agent_sdk nor in PATH."),
        hint=_("Install claude-agent-sdk with its bundled CLI, or set FLOWER_CLAUDE to the path of claude."),
    )


def _checked(chosen: str) -> Path:
    path = Path(chosen).expanduser().absolute()
    if not path.exists():
        wrong = _("it does not exist")
    elif not path.is_file():
        wrong = _("it is not a file")
    elif not os.access(path, os.X_OK):
        wrong = _("it is not executable")
    else:
        return path
    raise ConfigurationError(
        _("FLOWER_CLAUDE is {path}, but {wrong}.").format(path=path, wrong=wrong),
        hint=_("Give the path of the claude program, or unset FLOWER_CLAUDE."),
    )


def _sdk_directories() -> list[Path]:
    spec = importlib.util.find_spec("claude_agent_sdk")  # a top-level name: looked for, not imported
    found = [Path(p) for p in (spec.submodule_search_locations or ())] if spec else []
    if bundle := getattr(sys, "_MEIPASS", None):
        found.append(Path(bundle) / "claude_agent_sdk")
    return found
