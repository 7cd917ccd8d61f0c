"""Finds settings in `.env` files and puts them into the process environment, key by key, first value first.

What was read, and from where each key came, is remembered for this process: the credential message and
``describe`` tell the truth about it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from flower.locale import _
from flower.values import NamedTuple

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any, Literal

    State = Literal["read", "missing", "unreadable", "invalid"]

BORROWED = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "CLAUDE_CODE_SUBAGENT_MODEL",
    "CLAUDE_CODE_EFFORT_LEVEL",
)
"""The only keys that are taken from Claude Code's own settings; nothing else of them is."""


class Source(NamedTuple):
    """Where a key's value came from; ``line`` is 0 where lines mean nothing (JSON)."""

    file: Path
    line: int
    value: str

    def __str__(self) -> str:
        return f"{shown(self.file)}:{self.line}" if self.line else shown(self.file)


class Search:
    """What the searches of this process did.

    Attributes:
        looked: every file of the last search, in order, and what became of it.
        sources: key → where its value came from, for keys that flower put into the environment.
        notices: lines for the person, from the last search: a guessed line, a ``FLOWER_ENV`` that names no
            file.
    """

    def __init__(self) -> None:
        self.looked: list[tuple[Path, State]] = []
        self.sources: dict[str, Source] = {}
        self.notices: list[str] = []

    def source(self, key: str) -> Source | None:
        """Where flower took the key's present value from; None if it was in the environment or is not set."""
        found = self.sources.get(key)
        return found if found and os.environ.get(key) == found.value else None


search = Search()
"""The search of this process: an environment exists once, so does what is known about it."""


def shown(path: Path) -> str:
    """The path as a person reads it: home is ``~``."""
    try:
        return str(Path("~") / path.relative_to(home()))
    except ValueError:
        return str(path)


def home() -> Path:
    """The home directory; one that does not exist for a user without any (a container run as some uid)."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/nonexistent")


def user_file() -> Path:
    """The user's own file, which ``flower setup`` writes: ``${XDG_CONFIG_HOME:-~/.config}/flower/.env``."""
    base = os.environ.get("XDG_CONFIG_HOME") or ""
    # A relative XDG_CONFIG_HOME is invalid by its own specification and must be ignored.
    config = Path(base) if os.path.isabs(base) else home() / ".config"
    return config / "flower" / ".env"


def checkout_root() -> Path | None:
    """The root of the source checkout this package runs from, None when it is installed."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / ".git").exists() else None


def env_files() -> list[Path]:
    """The `.env` files in the order in which they are read, whether they exist or not; each once."""
    named = os.environ.get("FLOWER_ENV")
    root = checkout_root()
    files = [Path(os.path.expanduser(named))] if named else []
    files += [Path(".env"), user_file()]
    files += [root / ".env"] if root else []
    return list(dict.fromkeys(path.absolute() for path in files))


def claude_files() -> list[Path]:
    """Claude Code's settings files, the last resort."""
    return [home() / ".claude" / name for name in ("settings.json", "settings.local.json")]


def load_dotenv(path: str | os.PathLike[str] | None = None) -> list[str]:
    """Put settings from files into the process environment; what is there already stays, even when it is
    empty.

    Without ``path``: ``$FLOWER_ENV``, ``./.env``, the user's file, the checkout's `.env` when run from one,
    then nine keys of ``~/.claude/settings.json`` and ``settings.local.json``. With ``path``: that file and
    nothing else.

    Returns lines for the person (a guessed line with its number, a file that was named but is not there).
    """
    search.looked, search.notices = [], []
    if path is not None:
        if _take_env(Path(path).absolute()) != "read":
            search.notices.append(_("{path} cannot be read").format(path=path))
        return list(search.notices)
    named = os.environ.get("FLOWER_ENV")
    for number, file in enumerate(env_files()):
        state = _take_env(file)
        if named and number == 0 and state != "read":
            search.notices.append(
                _("FLOWER_ENV names {path}, which is not a readable file").format(path=named)
            )
        elif state == "unreadable":
            search.notices.append(_("{path} cannot be read").format(path=shown(file)))
    for file in claude_files():
        _take_claude(file)
    return list(search.notices)


def _take_env(file: Path) -> State:
    data = _read(file)
    if isinstance(data, bytes):
        from flower.config.grammar import decode, parse

        parsed = parse(decode(data), shown(file))
        search.notices += parsed.warnings
        for key, value in parsed.values.items():
            _take(key, Source(file, parsed.lines[key], value))
    return _looked(file, "read" if isinstance(data, bytes) else data)


def _take_claude(file: Path) -> State:
    data = _read(file)
    if not isinstance(data, bytes):
        return _looked(file, data)
    try:
        block = json.loads(data)["env"]
        pairs = dict(_strings(block))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # Somebody else's file: what is wrong with it must not stop a run.
        return _looked(file, "invalid")
    for key in BORROWED:
        if key in pairs:
            _take(key, Source(file, 0, pairs[key]))
    return _looked(file, "read")


def _strings(block: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in block.items():
        if isinstance(value, str) and "\0" not in value:
            yield key, value


def _read(file: Path) -> bytes | State:
    try:
        # A named pipe is read too: password managers offer `.env` as one.
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return "missing"
    except OSError:
        return "unreadable"


def _looked(file: Path, state: State) -> State:
    search.looked.append((file, state))
    return state


def _take(key: str, source: Source) -> None:
    if key not in os.environ:
        os.environ[key] = source.value
        search.sources[key] = source
