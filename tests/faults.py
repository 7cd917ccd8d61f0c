"""Make the n-th operation of a disk fail: for files through ``flower.books.files``, for SQLite as a VFS."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import apsw

from flower.books import files

KINDS = ("EIO", "ENOSPC", "EROFS", "short")
"""What can go wrong: the device fails, is full, turns read-only, or takes only a part. Besides these ``KILL``: the process
ends in the middle of the operation, by SIGKILL."""


@dataclass
class Fault:
    """Fails the ``n``-th operation, and with ``persistent`` all that follow.

    A failing write has written a half. With ``kind="short"`` writes are cut and say so; other operations are whole.
    """

    n: int
    kind: str = "EIO"
    persistent: bool = False
    count: int = 0
    seen: list[str] = field(default_factory=list)

    def strikes(self, operation: str) -> bool:
        if self.kind == "short" and operation != "write":
            return False
        self.count += 1
        self.seen.append(operation)
        return self.count == self.n or (self.persistent and self.count > self.n)

    @property
    def hit(self) -> bool:
        """Has it struck at all? When not, n was beyond the last operation and a loop over n is done."""
        return self.count >= self.n

    def error(self) -> OSError:
        if self.kind == "KILL":
            os.kill(os.getpid(), signal.SIGKILL)
        number = getattr(errno, self.kind)
        return OSError(number, os.strerror(number))


class FaultyOps(files.Ops):
    """The operating system with a fault in it."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault

    def _check(self, operation: str) -> None:
        if self.fault.strikes(operation):
            raise self.fault.error()

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        if flags & os.O_CREAT:
            self._check("open")
        return super().open(path, flags, mode)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if not self.fault.strikes("write"):
            return super().write(fd, data)
        written = super().write(fd, data[: max(1, len(data) // 2)])
        if self.fault.kind != "short":
            raise self.fault.error()
        return written

    def fsync(self, fd: int) -> None:
        self._check("fsync")
        super().fsync(fd)

    def replace(self, source: str, target: str) -> None:
        self._check("replace")
        super().replace(source, target)

    def link(self, source: str, target: str) -> None:
        self._check("link")
        super().link(source, target)

    def unlink(self, path: str) -> None:
        self._check("unlink")
        super().unlink(path)

    def makedirs(self, path: str, mode: int = 0o777) -> None:
        if not os.path.isdir(path):
            self._check("makedirs")
        super().makedirs(path, mode)


@contextmanager
def faulty_files(fault: Fault) -> Iterator[Fault]:
    """All that books do to files meets this fault."""
    before, files.ops = files.ops, FaultyOps(fault)
    try:
        yield fault
    finally:
        files.ops = before


class FaultyVFS(apsw.VFS):
    """An SQLite VFS over the system's own; ``fault`` may change at any time, None is a sound disk.

    It has no shared memory, so a database opened through it stays with a rollback journal, unless its locking mode
    is exclusive. ``default``: databases opened without naming a VFS meet it as well.
    """

    def __init__(self, name: str, *, default: bool = False) -> None:
        self.vfs_name = name
        self.fault: Fault | None = None
        # Named, because an empty name means the default, which may be this one from here on.
        self.below = apsw.vfs_names()[0]
        super().__init__(name, self.below, makedefault=default)

    def xOpen(self, name: Any, flags: list[int]) -> FaultyFile:
        if flags[0] & apsw.SQLITE_OPEN_CREATE:
            self.check("open", apsw.SQLITE_CANTOPEN)
        return FaultyFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.check("unlink", apsw.SQLITE_IOERR_DELETE)
        super().xDelete(filename, syncdir)

    def check(self, operation: str, code: int) -> None:
        if self.fault and self.fault.strikes(operation):
            raise self.failure(code)

    def failure(self, code: int) -> Exception:
        assert self.fault
        if self.fault.kind == "KILL":
            self.fault.error()
        kinds = {"ENOSPC": apsw.SQLITE_FULL, "short": apsw.SQLITE_FULL, "EROFS": apsw.SQLITE_READONLY}
        return apsw.exception_for(kinds.get(self.fault.kind, code))


class FaultyFile(apsw.VFSFile):
    def __init__(self, vfs: FaultyVFS, name: Any, flags: list[int]) -> None:
        self._vfs = vfs
        super().__init__(vfs.below, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        fault = self._vfs.fault
        if fault and fault.strikes("write"):
            super().xWrite(data[: len(data) // 2], offset)
            raise self._vfs.failure(apsw.SQLITE_IOERR_WRITE)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._vfs.check("fsync", apsw.SQLITE_IOERR_FSYNC)
        super().xSync(flags)

    def xTruncate(self, size: int) -> None:
        self._vfs.check("truncate", apsw.SQLITE_IOERR_TRUNCATE)
        super().xTruncate(size)


@contextmanager
def faulty_sqlite(name: str) -> Iterator[FaultyVFS]:
    """Registers a VFS under ``name``; give that name to the store."""
    vfs = FaultyVFS(name)
    try:
        yield vfs
    finally:
        vfs.unregister()
