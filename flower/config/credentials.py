"""What flower can authenticate with, and what a person is told when it cannot."""

from __future__ import annotations

import os
from collections.abc import Mapping

from flower.config.dotenv import BORROWED, load_dotenv, search, shown, user_file
from flower.locale import _
from flower.patterns import late
from flower.values import NamedTuple

__all__ = ["KNOWN", "Setting", "check_credentials", "cloud", "credential", "describe", "load_dotenv", "mask"]

CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
"""In the order of precedence: with a key and a token, the key is sent."""

CLOUDS = {
    "CLAUDE_CODE_USE_BEDROCK": ("AWS_REGION",),
    "CLAUDE_CODE_USE_VERTEX": ("ANTHROPIC_VERTEX_PROJECT_ID", "CLOUD_ML_REGION"),
}
"""Switch → what it cannot do without. Cloud keys are not listed: an instance's role gives them without a
trace.
"""

KNOWN = (
    *BORROWED,
    "CLAUDE_CODE_OAUTH_TOKEN",
    *(k for switch, needs in CLOUDS.items() for k in (switch, *needs)),
)
"""Every key that ``describe`` shows."""

_TRUE = ("1", "true", "yes", "on")
_PASSWORD_IN_URL = late(r"(?<=://)[^/@\s]*:[^/@\s]*@")


class Setting(NamedTuple):
    """A key that is set: its value fit to be shown, and its source (``environment`` or ``file:line``)."""

    key: str
    value: str
    source: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}  ({self.source})"


def credential(env: Mapping[str, str] | None = None) -> str:
    """The name of the key that is authenticated with, empty if there is none (see ``cloud`` too)."""
    values = os.environ if env is None else env
    return next((key for key in CREDENTIALS if values.get(key, "").strip()), "")


def cloud(env: Mapping[str, str] | None = None) -> str:
    """``CLAUDE_CODE_USE_BEDROCK`` or ``CLAUDE_CODE_USE_VERTEX`` when it is switched on, else empty."""
    values = os.environ if env is None else env
    return next((switch for switch in CLOUDS if values.get(switch, "").strip().lower() in _TRUE), "")


def check_credentials() -> str | None:
    """None if there is something to authenticate with, else what to tell the person (at most four lines).

    It looks at the process environment alone; call ``load_dotenv`` first. The message names the places that
    the last search really looked at.
    """
    if switch := cloud():
        lacking = [key for key in CLOUDS[switch] if not os.environ.get(key, "").strip()]
        text = _("{switch} is on, but {keys} is not set.")
        return text.format(switch=switch, keys=", ".join(lacking)) if lacking else None
    if credential():
        return None
    lines = [
        _("No credential: ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN and CLAUDE_CODE_OAUTH_TOKEN are not set."),
        _("Looked in: {places}.").format(places=", ".join(_places())),
    ]
    if masks := [_masked(key) for key in CREDENTIALS if key in os.environ]:
        lines.append(_("Set to nothing, which hides any later value: {keys}.").format(keys=", ".join(masks)))
    text = _("Run `flower setup`, or put ANTHROPIC_API_KEY=… into {path}.")
    return "\n".join([*lines, text.format(path=shown(user_file()))])


def _places() -> list[str]:
    states = {
        "read": _("read"),
        "missing": _("not there"),
        "unreadable": _("cannot be read"),
        "invalid": _("nothing usable in it"),
    }
    return [_("the environment"), *(f"{shown(file)} ({states[state]})" for file, state in search.looked)]


def _masked(key: str) -> str:
    return f"{key} ({_source(key)})"


def _source(key: str) -> str:
    found = search.source(key)
    return str(found) if found else _("environment")


def mask(value: str) -> str:
    """A secret fit to be shown: its last four characters, none of a short one, whose four would be half of
    it.
    """
    return f"…{value[-4:]}" if len(value) >= 12 else "…" if value else ""


def describe() -> list[Setting]:
    """Each known key that is set, where its value came from, secrets masked to four characters."""
    out = []
    for key in KNOWN:
        if key in os.environ:
            value = os.environ[key]
            value = mask(value) if key in CREDENTIALS else _PASSWORD_IN_URL.sub("…@", value)
            out.append(Setting(key, value or _("(empty)"), _source(key)))
    return out
