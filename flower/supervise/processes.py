"""Finding and ending what a session left behind. Linux only: elsewhere nothing is found."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from flower.supervise import guard
from flower.supervise.shim import MARKER

ENDING_LIMIT = 5.0  # seconds after which a process that does not die (stuck in the kernel) is left alone
_children_before: set[int] = set()


def become_subreaper() -> None:
    """Make this process the parent of every orphan below it: even a guard killed by SIGKILL leaves nothing.

    The children it has at this moment are remembered as somebody else's. Off Linux, and where the kernel
    refuses, nothing happens: the guard alone then does the work.
    """
    if not guard.LINUX:
        return
    _children_before.update(_children())
    # A second line of defence: its absence (a sandbox that filters prctl) is no reason not to work.
    with suppress(OSError):
        guard.prctl(guard.PR_SET_CHILD_SUBREAPER, 1)


def strays(marker: str) -> list[int]:
    """The processes of this user that carry ``marker``, without this process and its ancestors."""
    if not marker:
        raise ValueError("an empty marker")
    if not guard.LINUX:
        return []
    spared = _lineage()
    wanted = f"{MARKER}={marker}".encode(errors="surrogateescape")
    return [pid for pid in _processes() if pid not in spared and _carries(pid, wanted)]


def end_strays(marker: str) -> int:
    """Kill every process of the session ``marker`` and their descendants; returns how many there were.

    For the next start after a crash, and for flower itself after its guard was killed. Not while the session
    is running: its guard and its CLI carry the marker too.
    """
    return _end(lambda: strays(marker))


def end_orphans(known: Iterable[int] = ()) -> int:
    """Kill and reap the children that this process inherited from a killed guard; returns how many.

    Finds those too that cleaned their environment. Spared are ``known``, the children there were before
    ``become_subreaper``, every child in this process's own session (what it started itself) and guards.
    """
    if not guard.LINUX:
        return 0
    spared = _children_before | set(known)
    ended = _end(lambda: [pid for pid in _children() if pid not in spared and _inherited(pid, dead=False)])
    _reap(pid for pid in _children() if pid not in spared and _inherited(pid, dead=True))
    return ended


def _end(find: Callable[[], list[int]]) -> int:
    ended: set[int] = set()
    inherited: set[int] = set()  # nobody else waits for these
    deadline = time.monotonic() + ENDING_LIMIT
    while (roots := find()) and time.monotonic() < deadline:
        processes = guard.table()
        spared = _lineage()
        for root in roots:
            for pid in (root, *guard.below(root, processes)):
                if pid not in spared:
                    if _inherited(pid, dead=False):
                        inherited.add(pid)
                    guard.kill(pid)
                    ended.add(pid)
        time.sleep(0.005)
        _reap(inherited)
    return len(ended)


def _reap(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ChildProcessError):  # it is, or has become, another process's child
            os.waitpid(pid, os.WNOHANG)


def _processes() -> list[int]:
    uid = os.getuid()
    out = []
    for name in os.listdir("/proc"):
        with suppress(OSError):  # it ended meanwhile
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == uid:
                out.append(int(name))
    return out


def _environment(pid: int) -> list[bytes]:
    """The environment a process was started with; empty for a dead one or one that cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def _carries(pid: int, assignment: bytes) -> bool:
    return assignment in _environment(pid)


def _children() -> list[int]:
    me = os.getpid()
    return [pid for pid, (parent, _) in guard.table().items() if parent == me]


def _inherited(pid: int, *, dead: bool) -> bool:
    """Whether a child of this process, living or a zombie, is an orphan that came from a guard's session."""
    row = guard.stat(pid)
    if row is None or row[2] == os.getsid(0) or (row[4] == "Z") != dead:
        return False
    if dead:
        return row[2] != pid  # a zombie shows no environment: it might be a guard, which leads its session
    mine = f"FLOWER_GUARD_PARENT={os.getpid()}:".encode()
    return not any(line.startswith(mine) for line in _environment(pid))


def _lineage() -> set[int]:
    """This process and its ancestors."""
    out: set[int] = set()
    pid = os.getpid()
    while pid and pid not in out:
        out.add(pid)
        row = guard.stat(pid)
        pid = row[0] if row else 0
    return out
