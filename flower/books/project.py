"""Whose books are these? An id in the workspace and the same id in the books.

A path alone proves nothing: inside a container every project is ``/work``. So the workspace carries an id,
and the books map each path they have served to one.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

from flower.books import files
from flower.books.files import Notice
from flower.locale import _
from flower.model import BooksError, BooksForeign

NAME = "project.json"


def bind_project(
    workspace: str | os.PathLike[str], run_dir: str | os.PathLike[str], *, notice: Notice | None = None
) -> str:
    """Check that the books serve this workspace, or begin to; the project's id.

    ====================  ===================  =========================================
    workspace has an id   books know the path  then
    ====================  ===================  =========================================
    yes                   under the same id    fine
    yes                   under another id     refused: another project's books
    yes                   no                   the books learn the path
    no                    yes                  the workspace (a fresh checkout) takes it
    no                    no                   a new id for both
    ====================  ===================  =========================================

    Raises:
        BooksForeign: the books know this path as another project; nothing was changed.
        BooksError: the run directory cannot be written.
    """
    tell = notice or (lambda line: None)
    path = files.canonical(workspace)
    book = Path(run_dir) / NAME
    mark = Path(workspace) / ".flower" / NAME
    try:
        files.ops.makedirs(os.fspath(run_dir))
        with files.locked(Path(run_dir) / "project.lock", notice=tell):
            return _bind(path, mark, book, tell)
    except OSError as error:
        raise BooksError(
            _("{path} cannot be written: {reason}.").format(path=book, reason=error.strerror or error)
        ) from error


def _bind(path: str, mark: Path, book: Path, tell: Notice) -> str:
    known = _read_book(book, tell)
    mine = project_id(mark.parent.parent)
    theirs = known["workspaces"].get(path)
    if mine and theirs and mine != theirs:
        raise BooksForeign(
            _("{run_dir} holds the books of another project that was also at {path}.").format(
                run_dir=book.parent, path=path
            ),
            hint=_("Choose another run directory with -r."),
        )
    chosen = mine or theirs or str(uuid.uuid4())
    if not mine:
        chosen = _mark_workspace(mark, chosen, must_be=theirs, tell=tell)
    if not theirs:
        known["workspaces"][path] = chosen
        files.write_atomic(book, files.dump_json(known))
    return chosen


def _mark_workspace(mark: Path, chosen: str, *, must_be: str | None, tell: Notice) -> str:
    content = files.dump_json({"id": chosen})
    try:
        files.ops.makedirs(str(mark.parent))
        if mark.exists():  # There, but without an id in it.
            files.set_aside(mark, f"damaged-{files.timestamp()}")
        if files.create_atomic(mark, content):
            return chosen
    except OSError as error:
        # A workspace that cannot be written is still a workspace; the books remember it by its path.
        tell(_("{path} could not be written: {reason}").format(path=mark, reason=error.strerror or error))
        return chosen
    # A run with other books was faster: its id is the workspace's.
    other = project_id(mark.parent.parent)
    if other and must_be and other != must_be:
        raise BooksForeign(_("{path} belongs to another project.").format(path=mark))
    return other or chosen


def project_id(workspace: str | os.PathLike[str]) -> str | None:
    """The id a workspace carries, None without one. Writes nothing."""
    try:
        found = files.read_json(Path(workspace) / ".flower" / NAME)
        return str(uuid.UUID(found["id"]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None  # None yet, or not readable as one: the same to us.


def known_paths(run_dir: str | os.PathLike[str]) -> dict[str, str]:
    """Workspace path to project id, as the books have it; none in a missing or damaged file. Writes nothing."""
    try:
        workspaces = files.read_json(Path(run_dir) / NAME)["workspaces"]
        return {str(path): str(ident) for path, ident in workspaces.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}  # Whoever writes next sets a damaged file aside and says so.


def _read_book(book: Path, tell: Notice) -> dict[str, Any]:
    try:
        found = files.read_json(book)
        if not isinstance(found, dict) or not isinstance(found.get("workspaces"), dict):
            raise ValueError("not a map of workspaces")
        return found
    except FileNotFoundError:
        return {"workspaces": {}}
    except ValueError:
        kept = files.set_aside(book, f"damaged-{files.timestamp()}")
        tell(
            _("{path} was damaged; it is kept as {kept} and a new one begins").format(
                path=book, kept=kept.name
            )
        )
        return {"workspaces": {}}
