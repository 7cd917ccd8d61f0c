"""Keeping tokens out of what is shown and written: every one flower knows, and whatever looks like one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from flower.config.credentials import CREDENTIALS, mask
from flower.patterns import late

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any

SHORTEST = 8
"""Characters from which a value is taken for a secret: a shorter one would be found inside ordinary words."""

_OTHERS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK")
_URLS = (
    "ANTHROPIC_BASE_URL",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
)
_BEGINNING = "sk-ant-"
_LOOKS_LIKE_ONE = re.compile(rf"\b{_BEGINNING}[A-Za-z0-9_-]{{8,}}")
_PASSWORD = late(r"://[^/@\s:]*:([^/@\s]+)@")
_HEADER = late(r"(?mi)^\s*(?:authorization|[\w-]*(?:key|token|secret)[\w-]*)\s*:\s*(?:bearer\s+)?(\S+)\s*$")


def known_secrets(env: Mapping[str, str] | None = None) -> list[str]:
    """The secret values in an environment: credentials, cloud keys, passwords in URLs, headers."""
    values = os.environ if env is None else env
    found = [values.get(key, "").strip() for key in (*CREDENTIALS, *_OTHERS)]
    for url in filter(None, map(values.get, _URLS)):
        found += _PASSWORD.findall(url)
    if headers := values.get("ANTHROPIC_CUSTOM_HEADERS"):
        found += _HEADER.findall(headers)
    return sorted({value for value in found if len(value) >= SHORTEST}, key=len, reverse=True)


class Masker:
    """Replaces secrets in texts by their last four characters.

    Args:
        secrets: the values to hide; None takes those of the process environment at this moment. Whatever looks
            like a key of Anthropic's is hidden besides.
    """

    def __init__(self, secrets: Iterable[str] | None = None) -> None:
        # Longest first: the beginning of a longer one must not leave its end to be read.
        values = known_secrets() if secrets is None else sorted(secrets, key=len, reverse=True)
        # Most texts hold none: looking for words is a hundred times as fast as trying a pattern at every letter.
        self._signs = (*values, _BEGINNING)
        known = "|".join(re.escape(value) for value in values)
        self._pattern = re.compile(f"{known}|{_LOOKS_LIKE_ONE.pattern}" if known else _LOOKS_LIKE_ONE.pattern)

    def __call__(self, text: str) -> str:
        if not any(sign in text for sign in self._signs):
            return text
        return self._pattern.sub(lambda found: mask(found[0]), text)

    def value(self, value: Any) -> Any:
        """The same for every text inside a JSON value, names of fields included."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {
                self(key) if isinstance(key, str) else key: self.value(item) for key, item in value.items()
            }
        return value
