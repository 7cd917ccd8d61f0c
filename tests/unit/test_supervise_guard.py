"""The guard with real processes: a stand-in CLI that starts, detaches and hides children in every way."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from flower.supervise import MARKER, Launch, find_claude, guard, launch
from tests.unit.supervise_tools import ROOT, alive, carriers, python_environment, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and a child subreaper")
LIMIT = 2.0  # seconds: the contract

# A shell that becomes a tree: each process writes its pid to the directory $PIDS under a name of its own.
TREE = r"""
cat > "$PIDS/../note" <<'END'
echo $$ > "$PIDS/$1.new"
mv "$PIDS/$1.new" "$PIDS/$1"
END
note="$PIDS/../note"
set -- cli; . "$note"
sh -c '. "$0"; exec sleep 600' "$note" plain &
setsid nohup sh -c '. "$0"; exec sleep 600' "$note" detached >/dev/null 2>&1 </dev/null &
(setsid sh -c 'sh -c ". \"\$0\"; exec sleep 600" "$0" "$1" &' "$note" twice &)
sh -c 'trap "" TERM INT HUP; . "$0"; while :; do sleep 1; done' "$note" deaf &
env -i PIDS="$PIDS" setsid sh -c '. "$0"; exec /bin/sleep 600' "$note" clean &
"""
NAMES = ("cli", "plain", "detached", "twice", "deaf", "clean")


class Tree:
    """A stand-in CLI under guard, below a parent of its own that a test may kill."""

    def __init__(self, directory: Path, marker: str) -> None:
        self.pids = directory / "pids"
        self.pids.mkdir()
        self.marker = marker
        self.script = directory / "cli.sh"

    def write(self, body: str) -> Path:
        self.script.write_text("#!/bin/sh\n" + body)
        self.script.chmod(0o755)
        return self.script

    def environment(self, started: Launch) -> dict[str, str]:
        return {**os.environ, **started.env, "PIDS": str(self.pids)}

    def start(self, body: str, **options: object) -> subprocess.Popen[bytes]:
        """The guard as this process's child."""
        started = launch(self.write(body), marker=self.marker)
        return subprocess.Popen([started.cli_path], env=self.environment(started), **options)  # type: ignore[call-overload,no-any-return]

    def start_below_parent(self, body: str, before: str = "") -> subprocess.Popen[bytes]:
        """The guard as the child of another Python, which plays flower."""
        program = f"""
import os, subprocess, sys, time
from flower.supervise import become_subreaper, end_orphans, end_strays, launch
{before}
started = launch({str(self.write(body))!r}, marker={self.marker!r})
child = subprocess.Popen([started.cli_path], env={{**os.environ, **started.env}}, stdin=subprocess.PIPE)
open(os.environ["PIDS"] + "/guard", "w").write(str(child.pid))
if sys.stdin.read(1):
    child.wait()
    print(end_strays({self.marker!r}), end_orphans(), flush=True)
time.sleep(600)
"""
        env = python_environment(PIDS=str(self.pids))
        return subprocess.Popen(
            [sys.executable, "-c", program], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def pid(self, name: str) -> int:
        until(lambda: (self.pids / name).exists() and (self.pids / name).read_text().strip() != "", name)
        return int((self.pids / name).read_text())

    def all(self) -> list[int]:
        found = [self.pid(name) for name in NAMES]
        assert all(alive(pid) for pid in found)
        return found

    def gone(self, pids: list[int]) -> None:
        until(
            lambda: not any(map(alive, pids)) and not [p for p in carriers(self.marker) if alive(p)],
            "the whole tree is gone",
            LIMIT,
        )

    def clean_up(self) -> None:
        for pid in {*carriers(self.marker), *(int(p.read_text() or 0) for p in self.pids.iterdir())}:
            row = guard.stat(pid) if pid > 1 else None
            if row:
                guard.kill(pid)


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    made = Tree(tmp_path, f"test-{uuid.uuid4()}")
    yield made
    made.clean_up()


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def test_the_whole_tree_ends_when_flower_is_killed(tree: Tree) -> None:
    parent = tree.start_below_parent(TREE + "wait")
    pids = [*tree.all(), tree.pid("guard")]
    parent.kill()
    parent.wait()
    tree.gone(pids)
    end(parent)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_to_the_guard_ends_the_whole_tree(tree: Tree, number: signal.Signals) -> None:
    process = tree.start(TREE + "wait")
    pids = tree.all()
    process.send_signal(number)
    assert process.wait(LIMIT) == 128 + number
    assert not any(map(alive, pids))


def test_sigint_to_the_guard_changes_nothing(tree: Tree) -> None:
    process = tree.start(TREE + "wait")
    pids = tree.all()
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    assert process.poll() is None and all(map(alive, pids))
    process.terminate()
    process.wait()


def test_what_the_cli_leaves_ends_with_it(tree: Tree) -> None:
    process = tree.start(TREE + 'while [ ! -e "$PIDS/go" ]; do sleep 0.01; done; exit 7')
    pids = tree.all()
    (tree.pids / "go").write_text("0")
    assert process.wait(LIMIT) == 7
    assert not any(map(alive, pids))
    assert carriers(tree.marker) == []


def test_a_killed_guard_takes_the_cli_with_it_and_its_parent_ends_the_rest(tree: Tree) -> None:
    parent = tree.start_below_parent(TREE + "wait", before="become_subreaper()")
    pids = tree.all()
    os.kill(tree.pid("guard"), signal.SIGKILL)
    until(lambda: not alive(tree.pid("cli")), "the CLI dies with its guard", LIMIT)
    assert alive(tree.pid("detached")) and alive(tree.pid("clean"))
    parent.stdin.write(b"!")  # type: ignore[union-attr]
    parent.stdin.flush()  # type: ignore[union-attr]
    marked, orphans = map(int, parent.stdout.readline().split())  # type: ignore[union-attr]
    assert marked >= 4 and orphans >= 1  # the one with the clean environment is found by its parent alone
    assert not any(map(alive, pids))
    assert guard.below(parent.pid, guard.table()) == []  # and no zombie is left
    end(parent)


@pytest.mark.parametrize(
    ("end_of_cli", "status"), [("exit 0", 0), ("exit 3", 3), ("kill -SEGV $$", 128 + 11)]
)
def test_the_exit_status_is_the_clis(tree: Tree, end_of_cli: str, status: int) -> None:
    assert tree.start(end_of_cli).wait(LIMIT) == status


def test_a_cli_that_cannot_be_started_is_said(tree: Tree) -> None:
    started = launch(tree.pids / "nothing", marker=tree.marker)
    done = subprocess.run([started.cli_path], env=tree.environment(started), capture_output=True, text=True)
    assert done.returncode == guard.CANNOT_START
    assert f"cannot start {tree.pids / 'nothing'}: No such file" in done.stderr


def test_nothing_is_started_for_a_parent_that_is_gone(tree: Tree) -> None:
    started = launch(tree.write("echo $$ > $PIDS/cli"), marker=tree.marker)
    # The shell forks the shim and waits: the guard's parent is not the one that the launch was made for.
    done = subprocess.run(
        ["/bin/sh", "-c", '"$0"; exit $?', started.cli_path], env=tree.environment(started), check=False
    )
    assert done.returncode == guard.ORPHANED
    assert not (tree.pids / "cli").exists()


def test_a_reused_pid_is_not_taken_for_flower(tree: Tree) -> None:
    started = launch(tree.write("echo $$ > $PIDS/cli"), marker=tree.marker)
    pid, _, start = started.env["FLOWER_GUARD_PARENT"].partition(":")
    assert int(pid) == os.getpid()
    started.env["FLOWER_GUARD_PARENT"] = f"{pid}:{int(start) - 1}"
    assert subprocess.run([started.cli_path], env=tree.environment(started)).returncode == guard.ORPHANED
    assert not (tree.pids / "cli").exists()


def test_the_reader_sees_the_end_while_the_guard_still_lives(tree: Tree) -> None:
    process = tree.start("cat; exec 0<&- 1>&-; sleep 600", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin and process.stdout
    process.stdin.write(b"to the CLI and back\n")
    process.stdin.close()
    assert process.stdout.readline() == b"to the CLI and back\n"
    assert select.select([process.stdout], [], [], 10)[0], "no end of file"
    assert process.stdout.read() == b"" and process.poll() is None  # the end, with everybody alive
    process.terminate()
    process.wait()
    process.stdout.close()


def test_the_cli_sees_its_marker_and_nothing_of_the_guards(tree: Tree) -> None:
    # Not of $$: a shell blocks signals while it forks.
    body = 'env > "$PIDS/../env"; cat /proc/self/status > "$PIDS/../status"'
    started = launch(tree.write(body), marker=tree.marker, drop=["SECRET_TRAIL", "OTHER"])
    env = {**tree.environment(started), "SECRET_TRAIL": "x", "KEPT": "y"}
    assert subprocess.run([started.cli_path], env=env).returncode == 0
    seen = (tree.pids.parent / "env").read_text().splitlines()
    assert f"{MARKER}={tree.marker}" in seen and "KEPT=y" in seen
    assert not [line for line in seen if line.startswith(("FLOWER_GUARD", "SECRET_TRAIL"))]
    lines = (tree.pids.parent / "status").read_text().splitlines()
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    # Neither Python's SIGPIPE nor the shim's SIGINT. 32 and 33 are libc's own: what started the tests may have left
    # them ignored, and no program can set them through libc.
    libc_own = 1 << 31 | 1 << 32
    assert int(status["SigIgn"], 16) & ~libc_own == 0
    assert int(status["SigBlk"], 16) & ~libc_own == 0


@pytest.mark.parametrize("name", ["a b", "q'u\"o`te$HOME", "new\nline", "-dash", "汉字 한글"])
def test_any_path_and_argument_passes(tree: Tree, tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    for room in ("supervise", "model", "locale"):
        shutil.copytree(ROOT / "flower" / room, place / "flower" / room)
    (place / "flower" / "__init__.py").touch()
    (place / "cli").write_text('#!/bin/sh\nprintf "%s|" "$0" "$@"\n')
    (place / "cli").chmod(0o755)
    program = """
import os, subprocess, sys
from flower.supervise import launch
started = launch(os.path.join(sys.argv[1], "cli"), marker="m")
assert started.cli_path.startswith(sys.argv[1])
subprocess.run([started.cli_path, os.path.basename(sys.argv[1]), "", "*"], env={**os.environ, **started.env})
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(place)],
        cwd=place,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{place / 'cli'}|{name}||*|", done.stderr


def test_twenty_guards_at_once(tree: Tree) -> None:
    body = """
import os, subprocess, sys, time
from flower.supervise import launch
for n in range(20):
    started = launch({script!r}, marker={marker!r})
    subprocess.Popen([started.cli_path, str(n)], env={{**os.environ, **started.env}})
time.sleep(600)
""".format(script=str(tree.write('setsid sleep 600 & echo $! > "$PIDS/$1"; wait')), marker=tree.marker)
    env = python_environment(PIDS=str(tree.pids))
    parent = subprocess.Popen([sys.executable, "-c", body], env=env)
    pids = [tree.pid(str(n)) for n in range(20)]
    parent.kill()
    parent.wait()
    tree.gone(pids)


@pytest.mark.parametrize("escape", ["", "os.setsid()"])
def test_a_chain_that_forks_and_exits_does_not_get_away(tree: Tree, escape: str) -> None:
    script = tree.pids.parent / "chain.py"
    script.write_text(
        "import os\n"
        "open(os.environ['PIDS'] + '/started', 'w').write('0')\n"
        f"while True:\n    if os.fork(): os._exit(0)\n    {escape or 'pass'}\n"
    )
    process = tree.start(f'"{sys.executable}" -IS "{script}" & wait; sleep 600')
    tree.pid("started")
    process.terminate()
    assert process.wait(LIMIT) == 128 + signal.SIGTERM
    assert carriers(tree.marker) == []


def test_ctrl_c_on_a_terminal_reaches_flower_alone(tree: Tree) -> None:
    tree.write(TREE + "wait")
    program = f"""
import os, signal, subprocess
from flower.supervise import launch
signal.signal(signal.SIGINT, lambda *_: os.write(1, b"flower heard it "))
started = launch({str(tree.script)!r}, marker={tree.marker!r})
child = subprocess.Popen([started.cli_path], env={{**os.environ, **started.env}})
while True:
    signal.pause()
"""
    env = python_environment(PIDS=str(tree.pids))
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [sys.executable, "-c", program], env)
    try:
        pids = tree.all()
        os.write(terminal, b"\x03")
        said = b""
        while b"heard it" not in said:
            assert select.select([terminal], [], [], 10)[0], said
            said += os.read(terminal, 1024)
        time.sleep(0.1)
        assert all(map(alive, pids))
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
    tree.gone(pids)


def test_the_real_cli_runs_under_guard(tree: Tree, tmp_path: Path) -> None:
    started = launch(find_claude(), marker=tree.marker)
    env = {**tree.environment(started), "CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    done = subprocess.run(
        [started.cli_path, "--version"], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and "Claude Code" in done.stdout, done.stderr


def test_without_pidfds_the_parents_end_is_noticed_all_the_same(tree: Tree) -> None:
    copy = tree.pids.parent / "old_kernel.py"
    code = Path(guard.__file__).read_text()
    copy.write_text(code.replace("\nORPHANED", "\ndel os.pidfd_open\nORPHANED", 1))
    swap = f"from flower.supervise import guard; guard.__file__ = {str(copy)!r}"
    parent = tree.start_below_parent(TREE + "wait", before=swap)
    pids = [*tree.all(), tree.pid("guard")]
    parent.kill()
    parent.wait()
    tree.gone(pids)
    end(parent)
