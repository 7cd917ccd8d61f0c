"""``flows.py:main`` and ``pkg.mod:attr``: finding what ``flower run`` is to run."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from flower.locale import _
from flower.model import StepFailed, UsageError


def load(target: str) -> Any:
    """The object a target names.

    Raises:
        UsageError: no such file, module or attribute.
        StepFailed: the module raised while it was loaded.
    """
    place, colon, attribute = target.rpartition(":")
    if not (colon and place and attribute):
        raise UsageError(
            _("{target!r} names nothing to run.").format(target=target),
            hint=_("Say file.py:name or package.module:name."),
        )
    try:
        found: Any = _from_file(Path(place)) if place.endswith(".py") else _from_name(place)
    except UsageError:
        raise
    except ModuleNotFoundError as error:
        raise StepFailed(_missing(place, error), hint=_where_modules_come_from()) from error
    except Exception as error:  # the person's own code, whatever it does
        text = _("{place} could not be loaded: {kind}: {error}")
        raise StepFailed(text.format(place=place, kind=type(error).__name__, error=error)) from error
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise UsageError(_("{place} has no {name!r}").format(place=place, name=name))
        found = getattr(found, name)
    return found


def _missing(place: str, error: ModuleNotFoundError) -> str:
    text = _("{place} needs the module {name!r}, which is not there.")
    return text.format(place=place, name=error.name or str(error))


def _where_modules_come_from() -> str:
    if getattr(sys, "frozen", False):
        return _(
            "The one-file flower brings flower and the standard library: put the module beside the workflow, or"
            " run the workflow with a flower installed by pip."
        )
    return _("Install it beside flower, or put it beside the workflow.")


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(_("no such file: {path}").format(path=path))
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    assert spec is not None and spec.loader is not None, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickles look their module up by name while it is being loaded.
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _from_name(name: str) -> ModuleType:
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise UsageError(_("no such module: {name}").format(name=name)) from error
        raise
