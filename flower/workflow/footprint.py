"""What the products look like: enough of every file to see that a round of work changed none of them."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SKIPPED = (".git", ".flower")
FILES_MAX = 100_000
"""A workspace with more files is not looked at: every round then counts as one that changed something."""
HASHED_MAX = 64 << 20
"""Bytes read in one look; a file beyond that is told apart by size and time alone."""

Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Footprint:
    """The files of a workspace: path → digest of the content, and the stamps that save reading it again."""

    digests: dict[str, str] = field(default_factory=dict)
    stamps: dict[str, Stamp] = field(default_factory=dict)
    whole: bool = True

    def same_as(self, other: Footprint) -> bool:
        """Whether no file differs. Two that could not be taken in whole are never the same."""
        return self.whole and other.whole and self.digests == other.digests


def take(workspace: Path, *, without: Collection[Path] = (), before: Footprint | None = None) -> Footprint:
    """Look at every file under ``workspace``.

    Args:
        workspace: where the products are.
        without: directories that are no products: the books, a workbench elsewhere. ``.git`` and ``.flower``
            never are.
        before: an earlier look; files whose size and times are as then are not read again.
    """
    known = before or Footprint()
    found = Footprint()
    left = HASHED_MAX
    for name, path in _files(workspace, {p.resolve() for p in without}):
        if len(found.digests) >= FILES_MAX:
            return Footprint(whole=False)
        try:
            status = path.lstat()
            # The change time cannot be set from outside: equal stamps mean the same content.
            stamp = (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            found.stamps[name] = stamp
            if known.stamps.get(name) == stamp:
                found.digests[name] = known.digests[name]
            elif stat.S_ISLNK(status.st_mode):
                found.digests[name] = f"-> {os.readlink(path)}"
            elif not stat.S_ISREG(status.st_mode) or status.st_size > left:
                found.digests[name] = f"{status.st_mode:o} {stamp[:2]}"
            else:
                left -= status.st_size
                found.digests[name] = f"{status.st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        except OSError as error:
            # Gone or unreadable while we look: part of what there is to see, no reason to stop.
            found.digests[name] = f"unreadable {error.errno}"
    return found


def _files(workspace: Path, without: Collection[Path]) -> Iterator[tuple[str, Path]]:
    root = workspace.resolve()
    for directory, below, names in os.walk(root):
        here = Path(directory)
        below[:] = sorted(d for d in below if d not in SKIPPED and here / d not in without)
        # os.walk lists links to directories among the directories and does not enter them.
        links = [d for d in below if (here / d).is_symlink()]
        for name in sorted([*names, *links]):
            path = here / name
            yield str(path.relative_to(root)), path
