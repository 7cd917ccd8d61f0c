"""Writes what ``flower setup`` was told into the user's own `.env`."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from flower.config.dotenv import user_file
from flower.config.grammar import decode, parse_line
from flower.locale import _
from flower.model import ConfigurationError, UsageError

_PLAIN = re.compile(r"[\w./:@%+=,~\[\]-]*", re.ASCII)
_ENV_MODE = 0o600
_DIR_MODE = 0o700


def write_setup(token: str, gateway: str | None = None, model: str | None = None) -> Path:
    """Write token, gateway and model into ``${XDG_CONFIG_HOME:-~/.config}/flower/.env`` and return its path.

    A token that begins with ``sk-ant-`` becomes ANTHROPIC_API_KEY, any other ANTHROPIC_AUTH_TOKEN; the
    other one of the two goes away, because a key left behind would be sent instead of a new token.
    ``gateway`` becomes ANTHROPIC_BASE_URL, ``model`` the default, opus and sonnet model; None leaves what
    the file says, an empty text removes it. Other lines, comments included, stay as they are. The file is
    replaced atomically, mode 0600.

    Raises UsageError for an empty token or a value with a line break in it, ConfigurationError if the file
    cannot be written.
    """
    changes = _changes(token.strip(), gateway, model)
    # Through a symbolic link the real file is replaced, not the link: dotfiles are often kept elsewhere.
    path = user_file()
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=_DIR_MODE)
        before = decode(target.read_bytes()) if target.exists() else ""
        _replace(target, edit(before, changes).encode("utf-8", "surrogateescape"))
    except OSError as error:
        text = _("{path} cannot be written: {error}")
        raise ConfigurationError(text.format(path=path, error=error.strerror or error)) from error
    return path


def _changes(token: str, gateway: str | None, model: str | None) -> dict[str, str]:
    if not token:
        raise UsageError(_("An empty token cannot be used."))
    is_key = token.startswith("sk-ant-")
    changes = {"ANTHROPIC_API_KEY": token if is_key else "", "ANTHROPIC_AUTH_TOKEN": "" if is_key else token}
    if gateway is not None:
        changes["ANTHROPIC_BASE_URL"] = gateway.strip()
    if model is not None:
        for key in ("ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL"):
            changes[key] = model.strip()
    for key, value in changes.items():
        if re.search(r"[\r\n\0]", value):
            raise UsageError(_("The value for {key} must be one line.").format(key=key))
    return changes


def edit(text: str, changes: dict[str, str]) -> str:
    """The file's text with the keys of ``changes`` set, or removed where the value is empty."""
    left = {key: value for key, value in changes.items() if value}
    out = []
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        found = parse_line(line)
        if not found or found.key not in changes:
            out.append(line)
        elif found.key in left:
            out.append(f"{found.key}={_quoted(left.pop(found.key))}\n")
    if out and not out[-1].endswith("\n"):
        out[-1] += "\n"
    return "".join([*out, *(f"{key}={_quoted(value)}\n" for key, value in left.items())])


def _quoted(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    if "'" not in value and not value.endswith("\\"):
        return f"'{value}'"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _replace(target: Path, data: bytes) -> None:
    # mkstemp makes the file 0600 from the start: the token is never readable by others, not even for a
    # moment.
    handle, name = tempfile.mkstemp(prefix=".env.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), _ENV_MODE)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
    directory = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
