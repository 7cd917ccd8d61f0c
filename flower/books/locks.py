"""Who is at work in these books: one kernel lock for each run and for each session being driven.

A lock ends with the process that holds it, so nothing a crash left can block. What is written inside the lock
file only serves to tell a person who the holder is.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flower.books import files
from flower.locale import _
from flower.model import BooksError
from flower.values import NamedTuple

_PROCESS_STARTED = time.time()
_GRACE_S = 0.2
"""How long to try: somebody who only looks holds a lock for some microseconds."""

_held: dict[tuple[int, int], str] = {}
"""Lock files this process holds, by device and inode."""


class Holder(NamedTuple):
    """Who holds a lock, as it said itself; empty fields if it could not be read.

    Attributes:
        host: name of the machine, or of the container.
        pid: process id over there.
        started: when that process began, epoch seconds.
        run: its run id.
        since: when it took the lock, epoch seconds.
    """

    host: str = ""
    pid: int = 0
    started: float = 0.0
    run: str = ""
    since: float = 0.0

    def __str__(self) -> str:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.since or self.started))
        return _("run {run} (pid {pid} on {host}, since {when})").format(
            run=self.run or "?", pid=self.pid or "?", host=self.host or "?", when=when
        )


def live_directory(run_dir: str | os.PathLike[str]) -> Path:
    """Where live runs and sessions keep their locks and what belongs to them."""
    return Path(run_dir) / "live"


class _Lock:
    """An exclusive lock on a file that its holder removes at the end."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path, self._fd = path, fd
        status = os.fstat(fd)
        self._identity = (status.st_dev, status.st_ino)
        _held[self._identity] = str(path)

    @classmethod
    def take(cls, path: Path, run: str) -> _Lock | Holder:
        end = time.monotonic() + _GRACE_S
        while True:
            files.ops.makedirs(str(path.parent), 0o700)
            try:
                fd = files.ops.open(str(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except FileNotFoundError:
                continue  # The last holder removed the directory in this very moment.
            try:
                files.take_lock(fd, shared=False, timeout=max(0.0, end - time.monotonic()), what=str(path))
            except TimeoutError:
                holder = _read_holder(fd)
                os.close(fd)
                return holder
            except BaseException:
                os.close(fd)
                raise
            if _is_same(fd, path):
                break
            os.close(
                fd
            )  # Locked a file that its last holder had removed meanwhile: nobody else would see it.
        try:
            _write_holder(fd, run)
        except BaseException:
            os.close(fd)
            raise
        return cls(path, fd)

    def release(self) -> None:
        if self._fd >= 0:
            _held.pop(self._identity, None)
            os.close(self._fd)
            self._fd = -1


def _is_same(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False


def _write_holder(fd: int, run: str) -> None:
    holder = Holder(os.uname().nodename, os.getpid(), _PROCESS_STARTED, run, time.time())
    data = json.dumps(holder._asdict()).encode("ascii") + b"\n"
    os.ftruncate(fd, 0)
    os.lseek(fd, 0, os.SEEK_SET)
    while data:
        data = data[files.ops.write(fd, data) :]


def _read_holder(fd: int) -> Holder:
    try:
        found = json.loads(os.pread(fd, 4096, 0))
        return Holder(**{name: type(default)(found[name]) for name, default in Holder()._asdict().items()})
    except (OSError, ValueError, TypeError, KeyError):
        return Holder()  # Being written, or not ours: that it is held is known all the same.


def _probe(path: Path) -> Holder | None:
    """The holder of a lock, None if it is free. Writes nothing and takes the lock, shared, for an instant."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None  # No lock file, or not for our eyes: nobody we could know of.
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_holder(fd)
    except OSError:
        return None  # A file system without locks: then nobody holds one.
    finally:
        os.close(fd)
    return None


class SessionLease:
    """The right to drive one session; at most one process has it.

    Attributes:
        directory: ``run_dir/live/<session id>``, where what belongs to the live session is kept.
        session_id: the session.
    """

    def __init__(self, lock: _Lock, session_id: str) -> None:
        self._lock = lock
        self.session_id = session_id
        self.directory = lock.path.parent

    @classmethod
    def acquire(
        cls, run_dir: str | os.PathLike[str], session_id: str, *, run: str = ""
    ) -> SessionLease | Holder:
        """The lease, or at once who has it.

        Raises:
            BooksError: the lock file cannot be written.
        """
        with _plain(run_dir):
            lock = _Lock.take(_session_lock(run_dir, session_id), run)
        return lock if isinstance(lock, Holder) else cls(lock, session_id)

    def release(self, *, remove: bool = False) -> None:
        """Give the session back; ``remove`` takes the directory along, once all is in good order."""
        if remove:
            _remove_directory(self.directory)
        self._lock.release()

    def __enter__(self) -> SessionLease:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class RunLease:
    """The sign that a run uses these books. Any number may, unless one asks to be alone."""

    def __init__(self, gate: int, lock: _Lock) -> None:
        self._gate, self._lock = gate, lock

    @classmethod
    def acquire(
        cls, run_dir: str | os.PathLike[str], run: str, *, alone: bool = False, timeout: float = 5.0
    ) -> RunLease | Holder:
        """The lease; or, if ``alone`` and others are there, or another is alone for ``timeout`` seconds, who
        it is.

        Raises:
            BooksError: the lock files cannot be written.
        """
        live = live_directory(run_dir)
        with _plain(run_dir):
            files.ops.makedirs(str(live), 0o700)
            gate = files.ops.open(str(live / "runs.gate"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                patience = _GRACE_S if alone else timeout
                files.take_lock(gate, shared=not alone, timeout=patience, what=str(live / "runs.gate"))
                lock = _Lock.take(live / f"run-{run}.lock", run)
            except TimeoutError:
                os.close(gate)
                return next(iter(live_runs(run_dir)), Holder())
            except BaseException:
                os.close(gate)
                raise
        if isinstance(lock, Holder):
            os.close(gate)
            return lock
        _remove_stale(live)
        return cls(gate, lock)

    def share(self) -> None:
        """Let others in again, after what had to be done alone is done."""
        with suppress(
            BlockingIOError
        ):  # Somebody else became alone in between: our own lock file still counts.
            files.ops.flock(self._gate, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def release(self) -> None:
        """The run is over. May be called twice."""
        if self._gate >= 0:
            with suppress(OSError):  # A lock file left behind says nothing; the next run removes it.
                files.ops.unlink(str(self._lock.path))
            self._lock.release()
            os.close(self._gate)
            self._gate = -1

    def __enter__(self) -> RunLease:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _remove_directory(directory: Path) -> None:
    import shutil  # Not at the top: those who only look at locks need not load it.

    # The lock file goes last, and while it is held: the moment it is gone the next holder may put its own
    # things here, and whoever has waited for it finds out and takes a new one.
    with suppress(OSError):  # What cannot be removed now is found by the next start.
        for path in directory.iterdir():
            if path.name != "lock":
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)
        (directory / "lock").unlink(missing_ok=True)
        directory.rmdir()


def _remove_stale(live: Path) -> None:
    for path in live.glob("run-*.lock"):
        if _identity(path) not in _held and _probe(path) is None:
            with suppress(OSError):  # Another run removed it first.
                files.ops.unlink(str(path))


def _identity(path: Path) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return (-1, -1)  # Gone meanwhile.
    return (status.st_dev, status.st_ino)


def _session_lock(run_dir: str | os.PathLike[str], session_id: str) -> Path:
    if not session_id or "/" in session_id or session_id in (".", ".."):
        raise ValueError(f"not a session id: {session_id!r}")
    return live_directory(run_dir) / session_id / "lock"


def live_runs(run_dir: str | os.PathLike[str]) -> list[Holder]:
    """Every run that uses these books now, this process included, oldest first. Writes nothing."""
    found = [_probe(path) for path in live_directory(run_dir).glob("run-*.lock")]
    return sorted((holder for holder in found if holder), key=lambda holder: holder.since)


def holder_of(run_dir: str | os.PathLike[str], session_id: str) -> Holder | None:
    """Who drives this session now, this process included; None if nobody does. Writes nothing."""
    return _probe(_session_lock(run_dir, session_id))


def is_held(run_dir: str | os.PathLike[str], session_id: str) -> bool:
    """Does anybody drive this session now, this process included?"""
    return holder_of(run_dir, session_id) is not None


def is_held_elsewhere(run_dir: str | os.PathLike[str], session_id: str) -> bool:
    """Does another process drive this session now?"""
    return _identity(_session_lock(run_dir, session_id)) not in _held and is_held(run_dir, session_id)


@contextmanager
def _plain(run_dir: str | os.PathLike[str]) -> Iterator[None]:
    """Turns an OSError into one line about the run directory."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno or errno.EIO)
        raise BooksError(
            _("{path} cannot be used as a run directory: {reason}.").format(path=run_dir, reason=reason)
        ) from error
