"""Messages for people: gettext with English as the source language.

``_`` looks the catalogue up at each call, so a language chosen late (``--lang``) is honoured everywhere.
"""

from __future__ import annotations

import gettext as _gettext
import os
from functools import lru_cache
from pathlib import Path

LANGUAGES = ("en", "zh", "ko")
_chosen: str | None = None


@lru_cache(maxsize=len(LANGUAGES))
def _catalogue(language: str) -> _gettext.NullTranslations:
    if language == "en":  # The source: there is no file to look for.
        return _gettext.NullTranslations()
    return _gettext.translation("flower", Path(__file__).parent, languages=[language], fallback=True)


def _from_environment() -> str:
    # The order gettext itself uses, with flower's own variable in front.
    for name in ("FLOWER_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            return normalise(value)
    return "en"


def normalise(value: str) -> str:
    """``zh_CN.UTF-8`` → ``zh``; a language without a catalogue → ``en``."""
    short = value.replace("-", "_").split("_")[0].split(".")[0].lower()
    return short if short in LANGUAGES else "en"


def use(language: str | None) -> None:
    """Choose the language of messages; ``None`` goes back to FLOWER_LANG and the locale."""
    global _chosen
    _chosen = normalise(language) if language else None


def current() -> str:
    """The language in force: ``en``, ``zh`` or ``ko``."""
    return _chosen or _from_environment()


def _(message: str) -> str:
    """The message in the person's language."""
    return _catalogue(current()).gettext(message)


def ngettext(singular: str, plural: str, n: int) -> str:
    """The message for ``n`` things in the person's language."""
    return _catalogue(current()).ngettext(singular, plural, n)
