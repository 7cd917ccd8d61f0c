"""The books stay out of the agents' sight: no tool touches run_dir, a workbench inside it excepted."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

from flower.agents.access import Access
from flower.agents.hooks.call import Call, Guard, Rewrite, inside

_BOOK_NAMES = ("sessions.db", "manifest.json", "lineage.json", "project.json", "live", "aside")
_REASON = "{path} belongs to flower's own records and is none of an agent's business."
_TAKES_PATHS = frozenset(
    {
        "cat",
        "cd",
        "chmod",
        "chown",
        "cp",
        "du",
        "find",
        "head",
        "less",
        "ln",
        "ls",
        "more",
        "mv",
        "pushd",
        "rm",
    }
    | {"rsync", "scp", "sqlite3", "tail", "tar", "touch", "tree", "wc", "zip"}
)
_NOT_LITERAL = re.compile(r"[^A-Za-z0-9_./-]")
_SEGMENT = re.compile(r"\|\|?|&&?|;|\n")


def is_book(path: Path, access: Access) -> bool:
    """Whether a resolved path is one of the books."""
    run_dir = access.run_dir
    if not inside(path, run_dir) or (access.workbench and access.workbench.contains(path)):
        return False
    if inside(access.workspace, run_dir):
        # The workspace is (in) run_dir itself: only what is known to be a book is one.
        top = path.relative_to(run_dir).parts[:1]
        return bool(top) and top[0].startswith(_BOOK_NAMES) and not inside(path, access.workspace / ".flower")
    return True


def books_guard(access: Access) -> Guard:
    """Refuse every path of a tool call that lies in run_dir. For Bash this is best effort.

    A shell can reach a file in more ways than can be read off a command line; what is found are words of the
    command that resolve to a place inside.
    """

    def guard(call: Call) -> str | None:
        paths = _command_paths(call) if call.tool == "Bash" else call.paths()
        hit = next((p for p in paths if is_book(p, access)), None)
        return _REASON.format(path=hit) if hit else None

    return guard


def search_around(access: Access) -> Rewrite:
    """Keep Grep out of the books when it searches a directory around them.

    The `.ignore` file there does that too, but a search with a ``glob`` overrides ignore files.
    """

    def rewrite(call: Call) -> dict[str, Any]:
        bases = [path for path in call.paths() if inside(access.run_dir, path)]
        if call.tool != "Grep" or not bases:
            return {}
        hidden = " ".join(f"!{pattern}" for pattern in _hidden(access, bases[0]))
        return {"glob": f"{call.input.get('glob') or ''} {hidden}".strip()}

    return rewrite


def _hidden(access: Access, base: Path) -> list[str]:
    """Glob patterns of the books, which match below the directory that is searched."""
    if inside(access.workspace, access.run_dir):
        return [pattern for name in _BOOK_NAMES for pattern in (f"{name}*", f"{name}/**")]
    # Patterns are separated by spaces; whatever might be special matches as any one character.
    return [_NOT_LITERAL.sub("?", os.path.relpath(access.run_dir, base)) + "/**"]


def without_books(access: Access, call: Call, response: Any) -> Any:
    """The result of a Glob without the names of books; ``None`` when there are none in it."""
    if call.tool != "Glob" or not isinstance(response, dict):
        return None
    names = response.get("filenames") or []
    kept = [name for name in names if not is_book(call.resolve(name), access)]
    return None if len(kept) == len(names) else {**response, "filenames": kept, "numFiles": len(kept)}


def _command_paths(call: Call) -> list[Path]:
    """The words of a shell command that name places. A bare word counts where a command takes paths."""
    found: list[Path] = []
    for segment in _SEGMENT.split(call.command):
        words = _words(segment)
        program = Path(words[0]).name if words else ""
        for word in words:
            value = word.rpartition("=")[2].lstrip("<>")
            if value and ("/" in value or program in _TAKES_PATHS):
                found.append(call.resolve(value))
    return found


def _words(segment: str) -> list[str]:
    try:
        return shlex.split(segment)
    except ValueError:
        # Unbalanced quotes, for instance around a separator: plain words are enough here.
        return [word.strip("'\"") for word in segment.split()]
