"""Moving several files away together, so that a kill in between is made good by the next start."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from flower.books import files

JOURNAL = "archive.json"
"""In the run directory while an archive is being made: where to, and what moves."""


def archive_files(run_dir: Path, into: Path, sources: Iterable[Path]) -> Path:
    """Move files into a new directory ``into/<YYYYmmdd-HHMMSS>/``; those that do not exist are passed over.

    Raises:
        OSError: what was not moved will be by ``complete_archive``, unless not even the intention could be
        noted.
    """
    directory = _new_directory(into)
    moves = [[os.path.abspath(source), str(directory / source.name)] for source in sources if source.exists()]
    files.write_atomic(run_dir / JOURNAL, files.dump_json({"moves": moves}))
    complete_archive(run_dir)
    return directory


def complete_archive(run_dir: Path) -> bool:
    """Finish an archive that was begun; True if there was one. Call it under the lineage's lock.

    Raises:
        OSError: it is still unfinished.
    """
    moves = pending_moves(run_dir)
    if moves is None:
        return False
    for source, target in moves:
        _move(source, target)
    files.ops.unlink(str(run_dir / JOURNAL))
    files.sync_directory(str(run_dir))
    return True


def pending_moves(run_dir: Path) -> list[tuple[str, str]] | None:
    """What an unfinished archive still means to move; None without one. Writes nothing.

    A journal that cannot be parsed never came from here (it is written atomically) and moves nothing.
    """
    try:
        found = files.read_json(run_dir / JOURNAL)
        return [(str(source), str(target)) for source, target in found["moves"]]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, KeyError):
        return []


def _new_directory(into: Path) -> Path:
    stamp = files.timestamp()
    directory, n = into / stamp, 1
    while directory.exists():
        n += 1
        directory = into / f"{stamp}-{n}"
    files.ops.makedirs(str(directory))
    files.sync_directory(str(into))
    return directory


def _move(source: str, target: str) -> None:
    if not os.path.exists(source):
        return  # Moved before the kill.
    files.ops.makedirs(os.path.dirname(target))
    try:
        if os.path.exists(target):
            # Copied before the kill but not yet removed, if it is the same; otherwise something new in its
            # place.
            if _same_content(source, target):
                files.ops.unlink(source)
        else:
            files.ops.replace(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with open(source, "rb") as content:
            files.write_atomic(target, content.read())
        import shutil  # Only where an archive is on another file system.

        shutil.copystat(source, target)
        files.ops.unlink(source)
    for path in (target, source):
        files.sync_directory(os.path.dirname(path))


def _same_content(one: str, other: str) -> bool:
    with open(one, "rb") as a, open(other, "rb") as b:
        return a.read() == b.read()
