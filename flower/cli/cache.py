"""``flower cache``: what the one-file program has unpacked, and how to be rid of it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from flower.locale import _
from flower.values import NamedTuple

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from flower.cli.settings import Settings

_NAME = 16
"""Hexadecimal digits that a tree is named by; what is being unpacked or was found damaged has a dot behind them."""
_LEFTOVERS = ("part-", "bad-", "lock")


class Unpacked(NamedTuple):
    """One unpacked program.

    Attributes:
        size: bytes of all its files.
        current: it is the one that runs this command.
        users: other processes that run it.
    """

    path: str
    size: int
    current: bool
    users: list[int]


def run(settings: Settings, clear: bool = False) -> None:
    """Answer ``flower cache``; ``clear`` removes every tree that no other process runs."""
    trees = unpacked()
    removed = [tree.path for tree in trees if clear and not tree.users]
    if settings.json is not None:
        settings.json.write({"type": "cache", "trees": [t._asdict() for t in trees], "removed": removed})
        settings.json.end("ok", 0)
    else:
        _show(trees, removed, clear)
    sys.stdout.flush()
    if clear:
        _remove(trees, removed)


def places() -> list[Path]:
    """Every directory the launcher may have unpacked into, in its own order."""
    if chosen := os.environ.get("FLOWER_CACHE"):
        return [Path(chosen).absolute()]
    found = []
    cache = os.environ.get("XDG_CACHE_HOME", "")
    home = os.environ.get("HOME", "")
    if cache.startswith("/"):
        found.append(Path(cache, "flower"))
    elif home.startswith("/"):
        found.append(Path(home, ".cache", "flower"))
    shared = ("/var/tmp", os.environ.get("TMPDIR", ""), "/tmp")
    found += [Path(place, f"flower-{os.geteuid()}") for place in shared if place.startswith("/")]
    return found


def unpacked() -> list[Unpacked]:
    """What lies in those directories, the running one included wherever it lies."""
    found: dict[str, None] = {}
    for place in places():
        for path in _entries(place):
            if _is_tree(path.name) and (path / "flower").is_file():
                found[os.path.realpath(path)] = None
    mine = _own_tree()
    if mine is not None:
        found[str(mine)] = None
    return [Unpacked(path, _size(path), path == str(mine), _users(path)) for path in found]


def _own_tree() -> Path | None:
    tree = Path(sys.executable).resolve().parent
    return tree if getattr(sys, "frozen", False) and _is_tree(tree.name) else None


def _is_tree(name: str) -> bool:
    return len(name) == _NAME and set(name) <= set("0123456789abcdef")


def _is_leftover(name: str) -> bool:
    digits, _dot, rest = name.partition(".")
    return _is_tree(digits) and rest.startswith(_LEFTOVERS)


def _entries(place: Path) -> list[Path]:
    try:
        return sorted(place.iterdir())
    except OSError:
        return []  # not there, or not ours: nothing was unpacked into it


def _size(tree: str) -> int:
    return sum(p.lstat().st_size for p in Path(tree).rglob("*") if p.is_file() and not p.is_symlink())


def _users(tree: str) -> list[int]:
    import psutil

    found = []
    for process in psutil.process_iter():
        try:
            runs = process.exe().startswith(f"{tree}/")
        except (psutil.Error, OSError):
            continue  # another user's, or gone
        if runs and process.pid != os.getpid():
            found.append(process.pid)
    return found


def _show(trees: list[Unpacked], removed: list[str], clear: bool) -> None:
    if not trees:
        print(_("Nothing is unpacked."))
    for tree in trees:
        line = f"{tree.path}  {tree.size / 1e6:.0f} MB"
        if tree.current:
            line += "  " + _("(this program)")
        if tree.users:
            line += "  " + _("in use by {pids}").format(pids=", ".join(map(str, tree.users)))
        if tree.path in removed:
            line += "  " + _("removed")
        elif clear:
            line += "  " + _("kept")
        print(line)


def _remove(trees: list[Unpacked], removed: list[str]) -> None:
    """Remove the trees, the running one last: after that nothing more can be imported."""
    import shutil

    mine = next((tree.path for tree in trees if tree.current), None)
    for path in removed:
        if path != mine:
            shutil.rmtree(path, ignore_errors=True)
    kept = {os.path.basename(tree.path) for tree in trees if tree.path not in removed}
    for place in places():
        for leftover in _entries(place):
            if _is_leftover(leftover.name) and leftover.name[:_NAME] not in kept:
                _delete(leftover)
        with suppress(OSError):  # not there, or something else lies in it
            place.rmdir()
    if mine in removed and mine is not None:
        # Renamed first: a start at this very moment must find all of it or nothing.
        aside = f"{mine}.bad-{os.getpid()}"
        os.rename(mine, aside)
        shutil.rmtree(aside, ignore_errors=True)
        with suppress(OSError):
            os.rmdir(os.path.dirname(mine))
        # An ordinary exit would look for modules that are gone.
        os._exit(0)


def _delete(path: Path) -> None:
    import shutil

    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
