"""Keeps a directory out of commits and out of an agent's own searches."""

from __future__ import annotations

import os
from pathlib import Path

from flower.books import files
from flower.locale import _
from flower.model import BooksError


def hide(directory: str | os.PathLike[str]) -> None:
    """Write ``.gitignore`` and ``.ignore`` with ``*`` where they are missing; the directory is made if need
    be.

    Both, because outside of a repository search tools only heed the second.

    Raises:
        BooksError: they cannot be written. Transcripts that could slip into a commit are worth stopping for.
    """
    try:
        files.ops.makedirs(os.fspath(directory))
        for name in (".gitignore", ".ignore"):
            if not os.path.lexists(Path(directory, name)):
                files.create_atomic(Path(directory, name), "*\n")
    except OSError as error:
        raise BooksError(
            _("{path} cannot be written: {reason}.").format(path=directory, reason=error.strerror)
        ) from error
