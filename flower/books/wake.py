"""What would happen if flower were started here: a look that changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

from flower.books import files
from flower.books.adoption import pending_adoption
from flower.books.archive import pending_moves
from flower.books.lineage import NAME, find_put_aside, parse
from flower.documents.brief_sections import SECTIONS, sections_of
from flower.documents.goal_parts import parts_of

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any

BRIEF = "需求.md"
GOAL = "目标.md"
REQUEST = "请求.md"
"""Names of the frozen documents in ``notes/``: every directory that was ever used has them under these."""


def notes_directory(workspace: str | os.PathLike[str], isolate: bool = False) -> Path:
    """Where brief and goal are: in ``.flower``, or beside the workspace where each worker has a worktree."""
    root = Path(workspace).resolve()
    return (root.parent / f".flower-{root.name}" if isolate else root / ".flower") / "notes"


def wake_state(
    workspace: str | os.PathLike[str] = ".",
    *,
    run_dir: str | os.PathLike[str] = "runs",
    isolate: bool = False,
) -> dict[str, Any]:
    """What this directory remembers. Writes not one byte, opens no database and loads no SDK.

    Args:
        workspace: the agent's directory.
        run_dir: where the books are, relative to the current directory.
        isolate: look for the documents beside the workspace, where ``--isolate`` keeps them.

    Returns:
        ``waking``: the brief is there with all four sections. ``brief``, ``goal``: paths, None where there is
        no such file. ``checks``: how many checks the goal has. ``woke``: how often a run began here.
        ``steps``: step name to session id, not verified. A lineage that is missing, damaged or another
        workspace's counts as none: 0 and {}.
    """
    books = Path(run_dir)
    leaving = {source for source, _target in pending_moves_quietly(books)}
    notes = notes_directory(workspace, isolate)
    brief, brief_text = _document(notes / BRIEF, leaving)
    goal, goal_text = _document(notes / GOAL, leaving)
    lineage = _lineage(books, files.canonical(workspace), leaving)
    return {
        "waking": brief is not None and len(sections_of(brief_text)) == len(SECTIONS),
        "brief": brief,
        "goal": goal,
        "checks": len(parts_of(goal_text).checks) if goal is not None else 0,
        "woke": lineage.get("woke", 0),
        "steps": dict(lineage.get("steps", {})),
    }


def pending_moves_quietly(books: Path) -> list[tuple[str, str]]:
    """What an archive that was cut in half will still move away at the next start."""
    try:
        return pending_moves(books) or []
    except OSError:
        return []  # Not for our eyes; then neither is the rest.


def _document(path: Path, leaving: set[str]) -> tuple[Path | None, str]:
    if os.path.abspath(path) in leaving:
        return None, ""
    try:
        return path, path.read_text("utf-8", "replace")
    except OSError:
        return None, ""  # None there, or none that this person may read.


def _lineage(books: Path, workspace: str, leaving: set[str]) -> dict[str, Any]:
    path = books / NAME
    if (adoption := pending_adoption(books)) and adoption["new"] == workspace and adoption["lineage"]:
        return dict(adoption["lineage"])  # A kill cut it off; the next start completes it.
    try:
        if os.path.abspath(path) not in leaving:
            content = parse(path)
            if files.canonical(content["workspace"]) == workspace:
                return content
    except (OSError, ValueError):
        pass  # Missing or damaged: the next run says so, a look does not.
    waiting = find_put_aside(books, workspace)
    return waiting[1] if waiting else {}
