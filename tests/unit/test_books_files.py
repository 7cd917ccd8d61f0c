"""Files are whole at every moment, whatever the disk does."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
from pathlib import Path

import pytest

from flower.books import files
from flower.books.files import create_atomic, dump_json, locked, read_json, set_aside, write_atomic
from flower.books.filesystem import filesystem_type, is_local
from tests.faults import KINDS, Fault, faulty_files


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_failing_disk_leaves_the_old_content_or_the_new(
    tmp_path: Path, kind: str, persistent: bool
) -> None:
    path = tmp_path / "book.json"
    for n in range(1, 100):
        write_atomic(path, "old")
        with faulty_files(Fault(n, kind, persistent)) as fault:
            try:
                write_atomic(path, "new" * 1000)
                written = True
            except OSError:
                written = False
        if not fault.hit:
            assert n > 1
            break
        assert path.read_text() in (["new" * 1000] if written else ["old", "new" * 1000])
        if not persistent:
            assert os.listdir(tmp_path) == ["book.json"]
    else:
        pytest.fail("the loop never passed")
    assert path.read_text() == "new" * 1000


def test_short_writes_alone_never_fail(tmp_path: Path) -> None:
    with faulty_files(Fault(1, "short", persistent=True)) as fault:
        write_atomic(tmp_path / "book", "x" * 500)
    assert (tmp_path / "book").read_text() == "x" * 500
    assert fault.count > 2


def test_a_disk_that_takes_nothing_is_an_error_not_a_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files.Ops, "write", lambda self, fd, data: 0)
    with pytest.raises(OSError):
        write_atomic(tmp_path / "book", "x")
    assert os.listdir(tmp_path) == []


def test_permissions_stay_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    write_atomic(link, "new")
    assert link.is_symlink() and real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    write_atomic(real, "open", mode=0o640)
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_of_many_creators_one_wins_and_all_agree(tmp_path: Path) -> None:
    won: list[str] = []

    def create(name: str) -> None:
        if create_atomic(tmp_path / "id", name):
            won.append(name)

    threads = [threading.Thread(target=create, args=(f"n{i}",)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1 and (tmp_path / "id").read_text() == won[0]
    assert os.listdir(tmp_path) == ["id"]


def test_creation_works_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(self: files.Ops, source: str, target: str) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(files.Ops, "link", no_links)
    assert create_atomic(tmp_path / "id", "a")
    assert not create_atomic(tmp_path / "id", "b")
    assert (tmp_path / "id").read_text() == "a" and os.listdir(tmp_path) == ["id"]


def test_a_lock_excludes_waits_for_no_more_than_told_and_is_never_removed(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    with locked(lock), pytest.raises(TimeoutError), locked(lock, timeout=0.05):
        pass
    with locked(lock, shared=True), locked(lock, shared=True, timeout=0), pytest.raises(TimeoutError):
        locked(lock, timeout=0).__enter__()
    with locked(lock, timeout=0):
        pass
    assert lock.exists()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP])
def test_a_file_system_without_locks_is_said_once_and_used(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: files.Ops, fd: int, how: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files.Ops, "flock", refuse)
    told: list[str] = []
    with locked(tmp_path / "x.lock", notice=told.append):
        pass
    assert len(told) == 1 and str(tmp_path / "x.lock") in told[0] and "\n" not in told[0]


def test_the_kernel_lock_is_a_real_one(tmp_path: Path) -> None:
    with locked(tmp_path / "x.lock"), open(tmp_path / "x.lock") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize("text", ["干活", "\ud800 half", "nul \0", "\u2028"])
def test_any_text_survives_json(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_bytes(dump_json({"t": text}))
    assert read_json(tmp_path / "x") == {"t": text}


def test_nothing_set_aside_is_overwritten(tmp_path: Path) -> None:
    for content in ("a", "b", "c"):
        (tmp_path / "m").write_text(content)
        set_aside(tmp_path / "m", "damaged-now")
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {
        "m.damaged-now": "a",
        "m.damaged-now-2": "b",
        "m.damaged-now-3": "c",
    }


def test_the_file_system_is_recognised(tmp_path: Path) -> None:
    if not os.path.exists("/proc/self/mountinfo"):
        pytest.skip("no table of mounts")
    assert filesystem_type("/proc/self") == "proc"
    assert is_local(tmp_path)
