"""Who works in the box, what they may do there, and what of the host can be seen."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from flower.testing import ScriptedEndpoint
from tests.box.conftest import Person
from tests.box.model import plain_model

FENCED = "--read-only --tmpfs /tmp:exec,mode=1777 --tmpfs /home/flower:exec,mode=1777"


@pytest.mark.parametrize("uid", [0, 1000, 1234, 70000])
def test_any_user(person: Person, uid: int) -> None:
    box = person(uid=uid)
    said = box.sh(
        "id -u && echo x >$HOME/probe && cat $HOME/probe && git init -q repo && cd repo && echo a >a && git add a"
        " && git commit -q -m first && git log --format=%an,%ae && git config --global core.abbrev 12 && echo done"
    )
    assert said.split()[:2] == [str(uid), "x"] and "flower,flower@localhost" in said and "done" in said
    owners = {path.lstat().st_uid for path in box.dir.rglob("*")}
    assert owners == {uid} and (box.books / "sessions.db").exists()
    box.leaves_nothing()


def test_somebody_elses_repository_and_my_name(person: Person) -> None:
    box = person()
    git = ["git", "-C", str(box.dir), "-c", "safe.directory=*"]
    subprocess.run([*git, "init", "-q"], env=box.env, check=True)
    for path in (box.dir, *box.dir.rglob("*")):
        os.lchown(path, 4321, 4321)
    box.dir.chmod(0o777)
    (box.home / ".gitconfig").write_text('[user]\n\tname = Ada \\"L\\" Byron\n\temail = ada@example.org\n')
    assert 'Ada "L" Byron' in box.sh("git status --short >&2 && git var GIT_AUTHOR_IDENT")


def test_no_privileges_and_nothing_of_the_host(person: Person) -> None:
    box = person()
    (box.home / "secret").write_text("of the host")
    said = box.sh(
        "grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs)' /proc/self/status; grep -v -E"
        " ' (/|/proc.*|/sys.*|/dev.*|/etc/(hosts|hostname|resolv.conf)) ' /proc/self/mounts | cut -d' ' -f2 | sort;"
        f" cat {box.home}/secret {box.base}/flowerbox 2>&1; mount -t tmpfs x /mnt 2>&1; chown 1 /work 2>&1"
    )
    for line in (
        "CapEff:\t0000000000000000",
        "CapPrm:\t0000000000000000",
        "CapBnd:\t0000000000000000",
        "NoNewPrivs:\t1",
    ):
        assert line in said
    mounts = [line for line in said.splitlines() if line.startswith("/")]
    assert mounts == ["/run/flowerbox", "/runs", "/work"]
    assert said.count("No such file") == 2 and "of the host" not in said


def test_read_only_root_without_network_and_an_endpoint_inside(person: Person) -> None:
    box = person(uid=1234, FLOWER_NETWORK="none", FLOWER_BOX_ARGS=FENCED)
    done = box.run(box.dir, "demo")
    assert done.returncode == 0 and (box.dir / "demo/sample.html").stat().st_uid == 1234, done.stderr[-3000:]


def test_without_a_network_nobody_is_reached(person: Person) -> None:
    with ScriptedEndpoint(plain_model) as endpoint:
        box = person(endpoint=endpoint, FLOWER_NETWORK="none")
        started = box.start(box.dir, "once", "sh: true")
        try:
            started.wait(8)
            assert started.returncode != 0
        except subprocess.TimeoutExpired:
            started.terminate()
            assert started.wait(30) == 143
        finally:
            started.kill()
            started.communicate()
        assert endpoint.requests == []


def test_plain_docker_run_as_in_ci(person: Person, image: str) -> None:
    """No flowerbox: the image alone, any user, JSON lines and the exit status."""
    box = person(uid=70000)
    keys = [word for name in box.env if name.startswith("ANTHROPIC_") for word in ("--env", name)]
    words = ["docker", "run", "--rm", "--network", "host", "--user", "70000:70000", *keys]
    mounts = ["--volume", f"{box.dir}:/work"]
    done = subprocess.run(
        [*words, *mounts, image, "--json", "--no-goal", "say it"], env=box.env, capture_output=True, text=True,
        timeout=150,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert '"type":"end"' in done.stdout.splitlines()[-1].replace(" ", "")
    refused = subprocess.run(
        ["docker", "run", "--rm", image], env=box.env, capture_output=True, text=True, timeout=60
    )
    assert refused.returncode == 2 and Path(box.dir, ".flower").is_dir()
