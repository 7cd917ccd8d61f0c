"""A directory moved: its sessions, lineage and project id follow it to the new path, all of them or none.

A journal is written first; from that moment on the adoption happens. The sessions move in one transaction, the two
files are replaced atomically, each of these can be done twice. Whoever opens the lineage next completes what a kill
cut off.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from flower.books import files
from flower.locale import _
from flower.model import BooksError
from flower.values import NamedTuple

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any

JOURNAL = "adopt.json"
DATABASE = "sessions.db"
_LINEAGE = "lineage.json"
_PROJECT = "project.json"


class Adoption(NamedTuple):
    """What is to become of the books.

    Attributes:
        old, new: workspaces, as canonical paths.
        new_key: the project key of the new path.
        sessions: ``[project key, session id]`` of each main transcript that moves; subagents' go with it.
        lineage: what the lineage will be; None leaves the file alone.
        taken_from: name of the file put aside that the lineage comes from, empty if it is the one in place.
        displaced: name that the lineage in place is kept under, empty if it is the one that moves.
        project: the project's id; empty leaves project.json alone.
    """

    old: str
    new: str
    new_key: str
    sessions: Sequence[Sequence[str]] = ()
    lineage: Mapping[str, Any] | None = None
    taken_from: str = ""
    displaced: str = ""
    project: str = ""
    version: int = 1


def adopt(run_dir: str | os.PathLike[str], adoption: Adoption) -> None:
    """Carry it out. The caller is alone in these books.

    Raises:
        BooksError: nothing has changed.
        OSError: a file could not be written; the next start completes what was begun.
    """
    books = Path(run_dir)
    with files.locked(books / "lineage.lock"):
        complete_adoption(books)
        files.write_atomic(books / JOURNAL, files.dump_json(adoption._asdict()))
        try:
            _move_sessions(books, adoption)
        except BooksError:
            # The transaction was rolled back: without the journal nothing has happened.
            files.ops.unlink(str(books / JOURNAL))
            raise
        complete_adoption(books)


def pending_adoption(run_dir: str | os.PathLike[str]) -> dict[str, Any] | None:
    """An adoption that was cut off; None without one. Writes nothing."""
    try:
        found = files.read_json(Path(run_dir) / JOURNAL)
        Adoption(**found)
    except (OSError, ValueError, TypeError):
        return None  # None there, or nothing that came from here: it was written atomically.
    return dict(found)


def complete_adoption(run_dir: Path) -> bool:
    """Finish an adoption that was begun; True if there was one. Call it under the lineage's lock.

    Raises:
        BooksError, OSError: it is still unfinished.
    """
    found = pending_adoption(run_dir)
    if found is None:
        return False
    adoption = Adoption(**found)
    _move_sessions(run_dir, adoption)
    _replace_lineage(run_dir, adoption)
    _rename_project(run_dir, adoption)
    files.ops.unlink(str(run_dir / JOURNAL))
    files.sync_directory(str(run_dir))
    return True


def _move_sessions(run_dir: Path, adoption: Adoption) -> None:
    path = run_dir / DATABASE
    if not adoption.sessions or not path.exists():
        return
    # Imported here: every start opens the lineage, and few of them have an adoption to complete.
    from flower.books.database import Patience, open_database, plain_errors

    connection = open_database(path, patience=Patience(path, None))
    try:
        with plain_errors(path):
            connection.execute("BEGIN IMMEDIATE")
            try:
                for key, session in adoption.sessions:
                    _rekey(connection, key, adoption.new_key, session)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
    finally:
        connection.close(True)


def _rekey(connection: Any, old_key: str, new_key: str, session: str) -> None:
    old, new = f"{old_key}/{session}", f"{new_key}/{session}"
    there = connection.execute("SELECT 1 FROM meta WHERE store_key = ?", (new,)).fetchone()
    here = connection.execute("SELECT 1 FROM meta WHERE store_key = ?", (old,)).fetchone()
    if here and there:
        raise BooksError(
            _("session {id} is in the books under both paths; nothing was changed.").format(id=session)
        )
    values = {"new": new, "cut": len(old) + 1, "old": old, "first": old + "/", "end": old + "0"}
    for table in ("entries", "meta"):
        connection.execute(
            f"UPDATE {table} SET store_key = :new || substr(store_key, :cut)"
            " WHERE store_key = :old OR (store_key >= :first AND store_key < :end)",
            values,
        )
    connection.execute(
        "UPDATE summaries SET project_key = ? WHERE project_key = ? AND session_id = ?",
        (new_key, old_key, session),
    )


def _replace_lineage(run_dir: Path, adoption: Adoption) -> None:
    if adoption.lineage is None:
        return
    path, content = run_dir / _LINEAGE, files.dump_json(dict(adoption.lineage))
    if adoption.displaced and path.exists() and path.read_bytes() != content:
        files.ops.replace(str(path), str(run_dir / adoption.displaced))
    files.write_atomic(path, content)
    if adoption.taken_from and (run_dir / adoption.taken_from).exists():
        files.ops.unlink(str(run_dir / adoption.taken_from))
    files.sync_directory(str(run_dir))


def _rename_project(run_dir: Path, adoption: Adoption) -> None:
    if not adoption.project:
        return
    path = run_dir / _PROJECT
    with files.locked(run_dir / "project.lock"):
        try:
            found = files.read_json(path)
        except (FileNotFoundError, ValueError):
            found = {}  # Learnt again, as after any damage.
        known = found if isinstance(found, dict) else {}
        workspaces = known.get("workspaces")
        workspaces = dict(workspaces) if isinstance(workspaces, dict) else {}
        if adoption.old != adoption.new:
            workspaces.pop(adoption.old, None)
        workspaces[adoption.new] = adoption.project
        files.write_atomic(path, files.dump_json({**known, "workspaces": workspaces}))
