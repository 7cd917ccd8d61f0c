"""Tells once a day that a newer flower is out. It never installs anything and never delays anything."""

from __future__ import annotations

import http.client
import json
import os
import re
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flower.config.dotenv import checkout_root, home
from flower.locale import _

DISTRIBUTION = "flower-agent"
INDEX_URL = "https://pypi.org/pypi"
DAY_S = 24 * 60 * 60.0
TIMEOUT_S = 5.0


def wanted() -> bool:
    """Whether a check may happen: not with FLOWER_NO_UPDATE, not from a checkout, not from the frozen
    binary (the container image holds that binary).
    """
    return not (os.environ.get("FLOWER_NO_UPDATE") or checkout_root() or getattr(sys, "frozen", False))


def check_in_background(current: str, tell: Callable[[str], None]) -> threading.Thread | None:
    """Look for a version newer than ``current`` without waiting for the answer.

    ``tell`` gets one line if there is one: at once from what an earlier check of the last day found, else
    later from a daemon thread, which is returned. Nothing is raised, nothing is said when the check fails.
    The index is asked at ``<FLOWER_INDEX_URL or https://pypi.org/pypi>/flower-agent/json``, at most once a
    day whatever comes of it.
    """
    if not wanted():
        return None
    known = _remembered()
    if 0 <= time.time() - known.get("checked", 0.0) < DAY_S:
        _announce(current, known.get("latest", ""), tell)
        return None
    # Noted before it is asked: a machine without a network, or several runs at once, must not ask again and
    # again.
    if not _remember(known.get("latest", "")):
        return None
    thread = threading.Thread(target=_check, args=(current, tell), name="flower-update", daemon=True)
    thread.start()
    return thread


def is_newer(candidate: str, current: str) -> bool:
    """Whether ``candidate`` is a released version later than ``current``; False for what is no plain
    version.
    """
    new, old = _release(candidate), _release(current)
    if not new or not old or new[1]:
        return False
    return new[0] > old[0] or (new[0] == old[0] and old[1])


def _release(version: str) -> tuple[list[int], bool] | None:
    """The numbers of a version without zeros at the end, and whether it is a pre-release of them."""
    found = re.fullmatch(
        r"v?(\d{1,9}(?:\.\d{1,9})*)((?:\.?(?:a|b|rc|dev)\d*)*)(?:\.post\d+)?(?:\+.*)?", version.strip()
    )
    if not found:
        return None
    numbers = [int(part) for part in found[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers, bool(found[2])


def _check(current: str, tell: Callable[[str], None]) -> None:
    base = (os.environ.get("FLOWER_INDEX_URL") or INDEX_URL).rstrip("/")
    try:
        with urllib.request.urlopen(f"{base}/{DISTRIBUTION}/json", timeout=TIMEOUT_S) as answer:
            latest = str(json.loads(answer.read(16 * 1024 * 1024))["info"]["version"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError, http.client.HTTPException):
        return  # tomorrow is another day: nobody asked for this check
    _remember(latest)
    _announce(current, latest, tell)


def _announce(current: str, latest: str, tell: Callable[[str], None]) -> None:
    if is_newer(latest, current):
        text = _(
            "flower {latest} is out (this is {current}): upgrade the package {name} the way you installed it."
        )
        tell(text.format(latest=latest, current=current, name=DISTRIBUTION))


def _file() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or ""
    cache = Path(base) if os.path.isabs(base) else home() / ".cache"
    return cache / "flower" / "update.json"


def _remembered() -> dict[str, Any]:
    try:
        found = json.loads(_file().read_bytes())
        return {"checked": float(found["checked"]), "latest": str(found["latest"])}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}  # never checked, or a file nobody can use


def _remember(latest: str) -> bool:
    file = _file()
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps({"checked": time.time(), "latest": latest}))
        os.replace(temporary, file)
    except OSError:
        return False  # without a memory the check would happen at every start, so it does not happen at all
    return True
