"""What to give the SDK so that it starts the CLI under guard, and what the CLI's environment holds."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from flower.locale import _
from flower.model import ConfigurationError
from flower.supervise import guard
from flower.supervise.freezer import without_freezer

SHIM = Path(__file__).with_name("claude-guard.sh")
MARKER = "FLOWER_SESSION"
"""The variable that every process of a session carries; its value tells one session from another."""


class Launch(NamedTuple):
    """Arguments for ``ClaudeAgentOptions``: ``cli_path`` as it is, ``env`` merged over everything else."""

    cli_path: str
    env: dict[str, str]


def frozen() -> bool:
    """Whether this is the PyInstaller build."""
    return bool(getattr(sys, "frozen", False))


def child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The person's environment, for a child process.

    The frozen program's boot loader points ``LD_LIBRARY_PATH`` at its own libraries, which the system's
    programs must not load. Not frozen: an equal copy.
    """
    return without_freezer(dict(environ)) if frozen() else dict(environ)


def launch(claude: Path, *, marker: str, scratch: Path | None = None, drop: Iterable[str] = ()) -> Launch:
    """How to start ``claude`` under a guard that ends with this process.

    Args:
        claude: the CLI, as ``find_claude`` gives it.
        marker: any text that no other session on this machine uses; ``end_strays`` finds the session's
            processes by it. Choose a new one for each start: books can be copied, and session ids with them.
        scratch: a private directory for a copy of the shim, used only where the installed one cannot be
            executed (a zip without modes, a noexec mount). Default: flower's cache directory.
        drop: names that the CLI must not see although they are in the environment.

    Raises:
        ConfigurationError: the shim can be executed nowhere.
        ValueError: an empty marker.
    """
    if not marker:
        raise ValueError("an empty marker would make every process of the machine a stray")
    start = guard.stat("self") if guard.LINUX else None
    env = {
        MARKER: marker,
        "FLOWER_GUARD": "1",
        "FLOWER_GUARD_PYTHON": sys.executable,
        "FLOWER_GUARD_SCRIPT": "" if frozen() else guard.__file__,
        "FLOWER_GUARD_CLAUDE": os.path.abspath(claude),
        "FLOWER_GUARD_PARENT": f"{os.getpid()}:{start[3] if start else ''}",
        "FLOWER_GUARD_DROP": ":".join(drop),
    }
    return Launch(str(_shim(scratch)), env)


def _shim(scratch: Path | None) -> Path:
    if os.access(SHIM, os.X_OK):
        return SHIM
    content = SHIM.read_bytes()
    name = f"claude-guard-{hashlib.sha256(content).hexdigest()[:12]}.sh"
    copy = (scratch or _cache_directory()) / name
    try:
        if not (os.access(copy, os.X_OK) and copy.read_bytes() == content):
            copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh = copy.with_name(f"{name}.{os.getpid()}")
            fresh.write_bytes(content)
            fresh.chmod(0o700)
            # Another flower may be executing the old one: never write into it.
            fresh.replace(copy)
    except OSError as error:
        raise ConfigurationError(
            _("The guard cannot be written to {path}: {reason}.").format(path=copy, reason=error.strerror),
            hint=_("Make the directory writable, or make {path} executable.").format(path=SHIM),
        ) from error
    if not os.access(copy, os.X_OK):
        raise ConfigurationError(
            _("The guard can be executed neither at {installed} nor at {copy}.").format(
                installed=SHIM, copy=copy
            ),
            hint=_("Are they mounted noexec? Set XDG_CACHE_HOME to a directory that allows programs."),
        )
    return copy


def _cache_directory() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flower"
