"""The process between flower and the CLI: when flower ends, however it ends, nothing the CLI started goes on.

This file is run by itself (``python -IS guard.py …``, or the frozen ``flower`` with ``FLOWER_GUARD`` set), so
it imports nothing of flower's and little of Python's: every session waits for it to start.

It becomes the leader of a session of its own (a terminal's Ctrl-C reaches flower alone) and, on Linux, a
child subreaper: whatever the CLI's descendants do to detach themselves, they stay descendants of it.
Then it waits, without polling where the kernel allows, for one of three ends:

- flower is gone: the CLI and all its descendants are killed. No grace: the CLI would spend it on one more
  paid request;
- SIGTERM, SIGHUP or SIGQUIT to the guard: the same. SIGINT is ignored, it belongs to flower;
- the CLI ended: what it left is killed.

Exit status: the CLI's own, 128 + n when signal n ended it or the guard, 126 when it could not be started, 97
when flower was gone before the CLI could be started.

What it needs comes in the environment, and the CLI sees none of it: ``FLOWER_GUARD_CLAUDE`` (path of the
CLI), ``FLOWER_GUARD_PARENT`` (``pid:start`` of flower, start in clock ticks after boot) and
``FLOWER_GUARD_DROP`` (further names the CLI must not see, separated by colons).
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

ORPHANED = 97
CANNOT_START = 126
KILLING_LIMIT = 10.0  # seconds; only a process of another user or one stuck in the kernel can outlast it
PARENT_POLL_MS = 200  # how often a system without pidfds looks whether flower is still its parent
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
LINUX = sys.platform == "linux"

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def prctl(option: int, value: int) -> None:
    """Linux prctl(2) with one argument; raises OSError."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


# --- the process table ---


def stat(pid: int | str) -> tuple[int, int, int, int, str] | None:
    """(parent, group, session, start in ticks after boot, state letter) of a process; None: it is gone."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
        try:
            text = os.read(fd, 4096)
        finally:
            os.close(fd)
    except OSError:
        return None
    # The command's name comes first, in parentheses, and may itself contain any of ") (".
    fields = text[text.rindex(b")") + 2 :].split()
    return int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]), fields[0].decode()


def table() -> dict[int, tuple[int, int]]:
    """Parent and process group of every process that can be seen."""
    if not LINUX:
        rows = [line.split() for line in os.popen("ps -axo pid=,ppid=,pgid=")]
        return {int(pid): (int(ppid), int(pgid)) for pid, ppid, pgid in rows}
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (row := stat(name)):
            found[int(name)] = row[0], row[1]
    return found


def below(root: int, processes: dict[int, tuple[int, int]]) -> list[int]:
    """Every descendant of ``root``, children before grandchildren."""
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in processes.items():
        children.setdefault(parent, []).append(pid)
    out: list[int] = []
    todo = [root]
    while todo:
        found = children.pop(todo.pop(), [])
        out += found
        todo += found
    return out


def own_children() -> list[int]:
    """This process's children from the kernel's own list: faster than the table, but some kernels lack it."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


# --- what the CLI is given ---


def cli_environment(environ: dict[str, str]) -> dict[str, str]:
    """What the CLI sees: nothing of the guard's, none of the names to drop."""
    dropped = environ.get("FLOWER_GUARD_DROP", "").split(":")
    dropped.append("FLOWER_GUARD")
    return {k: v for k, v in environ.items() if k not in dropped and not k.startswith("FLOWER_GUARD_")}


# --- the guard ---


class Guard:
    """One CLI and everything below it."""

    def __init__(self, parent: int, parent_start: str) -> None:
        self.parent = parent
        self.parent_start = parent_start
        self.cli = 0
        self.status: int | None = None  # as waitpid gives it
        self.signal = 0  # the one that ended the guard
        self.parent_fd = -1
        self.alone = False  # in a session of its own
        self.signals, self.wake = -1, -1

    def prepare(self) -> bool:
        """Everything that must hold before the CLI exists. False: flower is gone."""
        try:
            os.setsid()
            self.alone = True
        except PermissionError:
            # Already a group leader (started by a shell with job control): SIGINT is ignored all the same.
            pass
        self._listen()
        if LINUX:
            prctl(PR_SET_CHILD_SUBREAPER, 1)
            try:
                self.parent_fd = os.pidfd_open(self.parent)
            except (OSError, AttributeError):
                # A kernel before 5.3, or flower is gone: the next line finds out which.
                self.parent_fd = -1
        return self.parent_alive(thorough=True)

    def _listen(self) -> None:
        self.signals, self.wake = os.pipe()
        os.set_blocking(self.signals, False)
        os.set_blocking(self.wake, False)
        signal.set_wakeup_fd(self.wake, warn_on_full_buffer=False)
        for number in (*ENDING, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)  # the number arrives through the pipe
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (*ENDING, signal.SIGCHLD))

    def parent_alive(self, thorough: bool = False) -> bool:
        # A dead parent's children get another parent at once. A reused pid can fool this only if it is that
        # of the process that inherits us, and then the start time tells.
        if os.getppid() != self.parent:
            return False
        if thorough and LINUX and self.parent_start:
            row = stat(self.parent)
            return row is not None and str(row[3]) == self.parent_start
        return True

    def start(self, path: str, arguments: list[str], environ: dict[str, str]) -> None:
        me = os.getpid()
        self.cli = os.fork()
        if self.cli:
            # They are the CLI's: whoever reads must see their end when the CLI ends, not when the guard does.
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 0)
            os.dup2(null, 1)
            os.close(null)
            os.chdir("/")
            return
        try:
            if LINUX:
                prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != me:
                    os._exit(ORPHANED)
            os.setpgid(0, 0)  # so that nothing the CLI sends to its group reaches the guard
            # Python ignores these, and an ignored signal stays ignored across exec.
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            os.execve(path, [path, *arguments], environ)
        except OSError as error:
            os.write(2, f"flower: cannot start {path}: {error.strerror}\n".encode(errors="surrogateescape"))
        finally:
            os._exit(CANNOT_START)

    def wait(self) -> None:
        """Return when flower, the CLI or the guard itself is to end."""
        poller = select.poll()
        poller.register(self.signals, select.POLLIN)
        if self.parent_fd >= 0:
            poller.register(self.parent_fd, select.POLLIN)
        timeout = None if self.parent_fd >= 0 else PARENT_POLL_MS
        while self.parent_alive():
            if any(fd == self.parent_fd for fd, _ in poller.poll(timeout)):
                return
            self.hear()
            if self.signal:
                return
            self.reap()
            if self.status is not None:
                return

    def hear(self) -> None:
        """Take note of the signals that arrived."""
        try:
            numbers = os.read(self.signals, 4096)
        except BlockingIOError:
            return
        for number in numbers:
            if number in ENDING:
                self.signal = number

    def reap(self) -> bool:
        """Collect the dead. False: there is no descendant left at all, alive or dead."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.cli:
                self.status = status

    def end(self) -> None:
        """Kill until the kernel knows no child of ours: for a subreaper that means no descendant either."""
        deadline = time.monotonic() + KILLING_LIMIT
        pause = 1
        poller = select.poll()
        poller.register(self.signals, select.POLLIN)
        self.kill_round()
        while self.reap() and time.monotonic() < deadline:
            self.kill_round()
            if not self.reap():
                return
            poller.poll(pause)  # SIGCHLD ends it early
            self.hear()
            pause = min(pause * 2, 50)

    def kill_round(self) -> None:
        me, group = os.getpid(), os.getpgrp()
        if self.status is None:
            kill(self.cli)
        processes = table()
        for pid in below(me, processes):
            # A whole group dies in one step, forks under way included. Every group below a session of our own
            # holds descendants only.
            if self.alone and processes[pid][1] not in (group, 0):
                kill(-processes[pid][1])
            kill(pid)
        # A chain of processes that fork and exit is further on before the table has been read, and its newest
        # link is our own child by now.
        for _ in range(50):
            if not (children := own_children()):
                break
            for pid in children:
                kill(pid)
            if not self.reap():
                break

    def exit_status(self) -> int:
        if self.signal:
            return 128 + self.signal
        if self.status is None:
            return 128 + signal.SIGKILL
        code = os.waitstatus_to_exitcode(self.status)
        return code if code >= 0 else 128 - code


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return  # gone already, or of another user: the loop around it looks at what is left


def main(argv: list[str] | None = None, environ: dict[str, str] | None = None) -> int:
    """Run the CLI with the arguments ``argv`` under guard; returns the guard's exit status.

    Both default to this process's own. The frozen program calls it before anything else when ``FLOWER_GUARD``
    is set.
    """
    argv = sys.argv[1:] if argv is None else argv
    environ = dict(os.environ) if environ is None else environ
    claude = environ.get("FLOWER_GUARD_CLAUDE", "")
    pid, _, start = environ.get("FLOWER_GUARD_PARENT", "").partition(":")
    if not claude or not pid.isdigit():
        os.write(2, b"flower: the guard is started by flower itself, not by hand\n")
        return CANNOT_START
    guard = Guard(int(pid), start)
    if not guard.prepare():
        return ORPHANED
    guard.hear()
    if not guard.signal:
        guard.start(claude, argv, cli_environment(environ))
        guard.wait()
        guard.end()
    return guard.exit_status()


if __name__ == "__main__":
    # Not sys.exit: nothing is worth the time of a tidy interpreter shutdown.
    os._exit(main())
