"""The commands that only look, without click: loading it takes longer than they need for their whole answer.

Only the plain forms are understood here. Everything else, help and mistakes included, is for ``looking``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module

from flower.locale import LANGUAGES
from flower.values import NamedTuple

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any

    from flower.cli.jsonl import JsonLines

    Answer = Callable[[JsonLines | None], None]


class Form(NamedTuple):
    """What may follow a command's name: flags and options with a value by their parameter, and an argument."""

    flags: dict[str, str]
    values: dict[str, str]
    argument: str


_GLOBAL_FLAGS = {"-v": "verbose", "--verbose": "verbose", "--json": "json"}
_GLOBAL_VALUES = {
    "-w": "workspace",
    "--workspace": "workspace",
    "-r": "run_dir",
    "--run-dir": "run_dir",
    "--lang": "lang",
}
FORMS = {
    "status": Form({}, {}, ""),
    "steps": Form({}, {"--run": "only"}, ""),
    "sessions": Form({}, {}, ""),
    "show": Form({"--full": "full", "--raw": "raw"}, {}, "session"),
    "cache": Form({"--clear": "clear"}, {}, ""),
}


def quick(words: Sequence[str]) -> Answer | None:
    """What answers this command line, given the sink of ``--json``; None if it is not for here."""
    name = next((word for word in words if word in FORMS), "")
    said = _said(words, name) if name else None
    if said is None or said.get("lang", "en") not in LANGUAGES:
        return None
    form = FORMS[name]
    own = {p: said[p] for p in (*form.flags.values(), *form.values.values(), form.argument) if p in said}
    return partial(_answer, name, said, own)


def _said(words: Sequence[str], name: str) -> dict[str, Any] | None:
    """The value of each parameter; None where the form does not fit."""
    form = FORMS[name]
    flags, values = _GLOBAL_FLAGS | form.flags, _GLOBAL_VALUES | form.values
    said: dict[str, Any] = {}
    rest, named = iter(words), False
    for word in rest:
        option, given, value = word.partition("=")
        if word in flags:
            said[flags[word]] = True
        elif word in values:
            said[values[word]] = next(rest, None)
        elif given and option.startswith("--") and option in values:
            said[values[option]] = value
        elif word == name and not named:
            named = True
        elif named and form.argument and form.argument not in said and not word.startswith("-"):
            said[form.argument] = word
        else:
            return None
    complete = named and (not form.argument or form.argument in said)
    return said if complete and None not in said.values() else None


def _answer(name: str, said: dict[str, Any], own: dict[str, Any], sink: JsonLines | None) -> None:
    from flower.cli.settings import settings_from

    import_module(f"flower.cli.{name}").run(settings_from(said, sink), **own)
