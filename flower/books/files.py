"""Files that are whole at every moment: atomic replacement, kernel locks, setting damaged ones aside.

Every call to the operating system that changes something goes through ``ops``, the one place where a test can
make the n-th write, fsync or rename fail.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flower.locale import _

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any

Notice = Callable[[str], None]
"""Takes one plain line meant for the person."""

_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
_POLL_S = 0.02


class Ops:
    """The operating system as the books use it."""

    def open(self, path: str, flags: int, mode: int = 0o666) -> int:
        return os.open(path, flags, mode)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        os.fsync(fd)

    def replace(self, source: str, target: str) -> None:
        os.replace(source, target)

    def link(self, source: str, target: str) -> None:
        os.link(source, target, follow_symlinks=False)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def makedirs(self, path: str, mode: int = 0o777) -> None:
        while True:
            try:
                os.makedirs(path, mode, exist_ok=True)
                return
            except FileExistsError as taken:
                # Another process may have removed it between "it exists" and "is it a directory?": then once more.
                if os.path.lexists(taken.filename) and not os.path.isdir(taken.filename):
                    raise

    def flock(self, fd: int, how: int) -> None:
        fcntl.flock(fd, how)


ops: Ops = Ops()
"""The seam. Looked up at each call, so a test may replace it."""


def write_atomic(path: str | os.PathLike[str], data: bytes | str, mode: int | None = None) -> None:
    """Replace a file so that every reader, and every kill, finds either the old or the new content.

    A symbolic link is followed, so that a linked file stays a link. The directory must exist.

    Args:
        path: the file.
        data: its new content; text is written as UTF-8.
        mode: permissions, exactly. None keeps those of the file being replaced, and gives a new one 0o644
            less the umask.

    Raises:
        OSError: nothing has changed, and no temporary file is left.
    """
    target = os.path.realpath(path)
    temporary = _write_beside(target, data, mode)
    try:
        ops.replace(temporary, target)
    except BaseException:
        _unlink_quietly(temporary)
        raise
    sync_directory(os.path.dirname(target))


def create_atomic(path: str | os.PathLike[str], data: bytes | str) -> bool:
    """Like ``write_atomic``, but only if there is no such file yet; False if somebody else was first."""
    target = os.path.realpath(path)
    temporary = _write_beside(target, data, None)
    try:
        ops.link(temporary, target)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        # A file system without hard links cannot decide who was first; the caller's lock has to.
        if os.path.exists(target):
            return False
        ops.replace(temporary, target)
    finally:
        _unlink_quietly(temporary)
    sync_directory(os.path.dirname(target))
    return True


def _write_beside(target: str, data: bytes | str, mode: int | None) -> str:
    content = data.encode("utf-8") if isinstance(data, str) else data
    if mode is None:
        with suppress(OSError):  # No such file yet: the default below applies.
            mode = os.stat(target).st_mode & 0o7777
    temporary = f"{target}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    fd = ops.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644 if mode is None else 0o600
    )
    try:
        try:
            if mode is not None:
                os.fchmod(fd, mode)
            _write_all(fd, content)
            ops.fsync(fd)
        finally:
            os.close(fd)
    except BaseException:
        _unlink_quietly(temporary)
        raise
    return temporary


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        written = ops.write(fd, view)
        if written <= 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        view = view[written:]


def sync_directory(path: str) -> None:
    """Make the names in a directory durable."""
    fd = ops.open(path or ".", os.O_RDONLY | os.O_CLOEXEC)
    try:
        ops.fsync(fd)
    except OSError as error:
        # Some network file systems have no fsync for directories: there the rename itself is all one can get.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
    finally:
        os.close(fd)


def _unlink_quietly(path: str) -> None:
    # The temporary file is rubbish already; the error that led here is the one worth telling.
    with suppress(OSError):
        ops.unlink(path)


def sweep_temporaries(path: str | os.PathLike[str]) -> None:
    """Remove what writers of this file left when they were killed. Call it only under the file's lock."""
    target = Path(os.path.realpath(path))
    for left in target.parent.glob(f"{target.name}.*-*.tmp"):
        _unlink_quietly(str(left))


@contextmanager
def locked(
    path: str | os.PathLike[str],
    shared: bool = False,
    timeout: float | None = None,
    notice: Notice | None = None,
) -> Iterator[int]:
    """Hold a kernel lock on a lock file, which is made if missing and never removed.

    The kernel ends the lock with its holder, so a dead process, a reused pid or another host's name cannot
    block.

    Args:
        path: the lock file; never the file that it protects, because that one gets replaced.
        shared: many may hold it together, but none with an exclusive holder.
        timeout: seconds to wait; None waits as long as it takes.
        notice: told once if the file system knows no locks; then the body runs without one.

    Raises:
        TimeoutError: somebody else still holds it.
        OSError: the lock file cannot be opened.
    """
    fd = _open_to_lock(os.fspath(path))
    try:
        take_lock(fd, shared=shared, timeout=timeout, what=os.fspath(path), notice=notice)
        yield fd
    finally:
        os.close(fd)


def _open_to_lock(path: str) -> int:
    # Making a file locks its directory, where another thread may be syncing: only where there is none.
    try:
        return ops.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return ops.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def take_lock(
    fd: int, *, shared: bool, timeout: float | None, what: str, notice: Notice | None = None
) -> None:
    """Lock an open file as ``locked`` does."""
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        try:
            ops.flock(fd, how if end is None else how | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if end is None or time.monotonic() >= end:
                raise TimeoutError(_("{path} is locked by another process").format(path=what)) from None
            time.sleep(_POLL_S)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            if notice:
                notice(
                    _("{path}: this file system has no locks; do not start two runs at once here").format(
                        path=what
                    )
                )
            return


def dump_json(value: Any) -> bytes:
    """JSON that a person can read and that any text survives, lone surrogates included."""
    try:
        return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8")
    except UnicodeEncodeError:
        return (json.dumps(value, indent=2) + "\n").encode("ascii")


def read_json(path: str | os.PathLike[str]) -> Any:
    """The value in a JSON file.

    Raises:
        FileNotFoundError: there is none.
        OSError: it cannot be read just now, which says nothing about its content.
        ValueError: it holds no JSON.
    """
    data = Path(path).read_bytes()
    try:
        return json.loads(data.decode("utf-8"))
    except RecursionError as error:
        raise ValueError(str(error)) from error


def set_aside(path: str | os.PathLike[str], suffix: str) -> Path:
    """Rename a file to ``<name>.<suffix>``, or ``<name>.<suffix>-2`` … if that is taken; the new path."""
    source = Path(path)
    target = source.with_name(f"{source.name}.{suffix}")
    n = 1
    while os.path.lexists(target):
        n += 1
        target = source.with_name(f"{source.name}.{suffix}-{n}")
    ops.replace(str(source), str(target))
    sync_directory(str(source.parent))
    return target


def timestamp() -> str:
    """Local time as it appears in names of files: ``YYYYmmdd-HHMMSS``."""
    return time.strftime("%Y%m%d-%H%M%S")


def same_path(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Do both name one directory, as the agent SDK sees it (real path, NFC)?"""
    return canonical(one) == canonical(other)


def canonical(path: str | os.PathLike[str]) -> str:
    """The real path in Unicode form C: what the agent SDK derives a project's key from."""
    return unicodedata.normalize("NFC", os.path.realpath(path))
