"""The first start where something is wrong: it works, or says in one line what to do, and the next is clean."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from flower import __version__
from tests.frozen.room import Room

VERSION = f"flower {__version__}\n"


def start(binary: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(binary), *(words or ("--version",))], env=environ, capture_output=True, text=True
    )


def works(done: subprocess.CompletedProcess[str], said: str = "") -> None:
    assert (done.returncode, done.stdout) == (0, VERSION), done.stderr
    assert done.stderr.count("\n") == (1 if said else 0) and said in done.stderr, done.stderr


def fails(done: subprocess.CompletedProcess[str], *said: str) -> None:
    assert done.returncode == 1 and not done.stdout
    assert done.stderr.startswith("flower: ") and done.stderr.count("\n") == 1, done.stderr
    for words in said:
        assert words in done.stderr


def names(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir() if path.suffix != ".lock")


@pytest.fixture
def own_cache(unpacked: Path, tmp_path: Path) -> Path:
    """A copy of an unpacked cache, to be damaged."""
    cache = tmp_path / "cache"
    subprocess.run(["cp", "-a", "--reflink=auto", str(unpacked.parent), str(cache)], check=True)
    return cache


# ---- the room: /tmp is noexec there, and /few is full before everything is unpacked


def test_without_home_it_goes_to_a_directory_of_ones_own(room: Room) -> None:
    works(room.run("flower", "--version", HOME=""))
    place = room.root / "var" / "tmp" / f"flower-{room.uid}"
    assert place.stat().st_uid == room.uid and place.stat().st_mode & 0o777 == 0o700
    assert room.run("flower", "cache", "--clear", HOME="").returncode == 0
    assert not place.exists()


def test_a_read_only_home(room: Room) -> None:
    works(room.run("flower", "--version", HOME="/read-only"))
    place = room.project("read-only-home")
    words = ("flower", "once", "-t", "Bash", "sh: echo done")
    done = room.run(*words, where=f"/home/ada/{place.name}", **{**room.endpoint, "HOME": "/read-only"})
    assert done.returncode == 0 and "it said: done" in done.stdout, done.stderr[-2000:]
    assert room.run("flower", "cache", "--clear", HOME="/read-only").returncode == 0


def test_a_chosen_place_that_is_noexec(room: Room) -> None:
    fails(room.run("flower", "--version", FLOWER_CACHE="/tmp/c"), "/tmp/c: mounted noexec", "FLOWER_CACHE")


def test_a_directory_that_somebody_else_made_for_us_is_not_used(room: Room) -> None:
    planted = room.root / "var" / "tmp" / f"flower-{room.uid}"
    planted.mkdir()
    planted.chmod(0o777)
    try:
        fails(room.run("flower", "--version", HOME=""), "belongs to somebody else", "noexec")
        assert not names(planted)
    finally:
        shutil.rmtree(planted)


def test_the_disk_is_full_while_it_unpacks(room: Room) -> None:
    fails(room.run("flower", "--version", FLOWER_CACHE="/few/c"), "No space left on device")
    left = room.run("ls", "/few/c").stdout.split()
    assert [name for name in left if not name.endswith(".lock")] == []


def test_where_no_thread_may_be_started(room: Room) -> None:
    assert not room.processes()  # the limit counts all that the user runs
    place = {"FLOWER_CACHE": "/var/tmp/alone"}
    works(room.run("prlimit", "--nproc=1", "flower", "--version", **place))
    assert room.run("flower", "cache", "--clear", **place).returncode == 0


def test_the_disk_is_too_small(room: Room) -> None:
    fails(room.run("flower", "--version", FLOWER_CACHE="/little/c"), "No space left on device", "MB needed")
    assert room.run("ls", "/little/c").stdout == ""


# ---- two starts, bad downloads, bad caches


def test_first_starts_at_once(binary: Path, tmp_path: Path) -> None:
    environ = {"FLOWER_CACHE": str(tmp_path / "c")}
    started = [
        subprocess.Popen([str(binary), "--version"], env=environ, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [(p.communicate(timeout=120)[0], p.returncode) for p in started] == [(VERSION, 0)] * 3
    assert len(names(tmp_path / "c")) == 1


def test_a_killed_first_start(binary: Path, tmp_path: Path) -> None:
    cache = tmp_path / "c"
    started = subprocess.Popen([str(binary), "--version"], env={"FLOWER_CACHE": str(cache)})
    while not (cache.is_dir() and any(".part-" in name for name in names(cache))):
        assert started.poll() is None
    started.kill()
    started.wait()
    works(start(binary, FLOWER_CACHE=str(cache)))
    assert len(names(cache)) == 1


def test_a_truncated_download(binary: Path, tmp_path: Path) -> None:
    short = tmp_path / "flower"
    size = binary.stat().st_size
    with binary.open("rb") as source:
        short.write_bytes(source.read(size // 3))
    short.chmod(0o755)
    fails(start(short, FLOWER_CACHE=str(tmp_path / "c")), f"incomplete: {size // 3} of {size} bytes", "again")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("where", [0.02, 0.999])
def test_a_damaged_download(binary: Path, tmp_path: Path, where: float) -> None:
    bad = tmp_path / "flower"
    shutil.copy(binary, bad)
    at = int(binary.stat().st_size * where)
    with bad.open("r+b") as file:
        file.seek(at)
        block = file.read(64)
        file.seek(at)
        file.write(bytes(byte ^ 0x55 for byte in block))
    fails(start(bad, FLOWER_CACHE=str(tmp_path / "c")), "damaged", "download it again")
    assert names(tmp_path / "c") == []


def cut(tree: Path) -> None:
    (library,) = (tree / "_internal").glob("libpython*.so.*")
    os.truncate(library, library.stat().st_size // 2)


def rewrite(tree: Path) -> None:
    with next((tree / "_internal").glob("claude_agent_sdk/_bundled/claude")).open("r+b") as file:
        file.seek(200_000_000)
        file.write(b"flip")


def delete(tree: Path) -> None:
    (tree / "_internal" / "base_library.zip" / "os.pyc").unlink()


def forget(tree: Path) -> None:
    (tree / ".manifest").write_text("")


def test_a_damaged_cache_is_unpacked_again_and_a_copied_one_is_not(binary: Path, own_cache: Path) -> None:
    (tree,) = (path for path in own_cache.iterdir() if path.is_dir())
    for damage in (cut, rewrite, delete, forget):
        damage(tree)
        works(start(binary, FLOWER_CACHE=str(own_cache)), "was damaged; unpacking it again")
        works(start(binary, FLOWER_CACHE=str(own_cache)))
        assert names(own_cache) == [tree.name]
    for path in tree.rglob("*"):
        if path.is_file():
            os.utime(path)
    inode = tree.stat().st_ino
    works(start(binary, FLOWER_CACHE=str(own_cache)))
    assert tree.stat().st_ino == inode


def test_the_cache_command_shows_and_clears(binary: Path, own_cache: Path) -> None:
    (tree,) = (path for path in own_cache.iterdir() if path.is_dir())
    shown = start(binary, "cache", FLOWER_CACHE=str(own_cache)).stdout
    assert str(tree) in shown and "(this program)" in shown and shown.count("\n") == 1
    cleared = start(binary, "cache", "--clear", FLOWER_CACHE=str(own_cache))
    assert cleared.returncode == 0 and "removed" in cleared.stdout and not cleared.stderr
    assert not own_cache.exists()
