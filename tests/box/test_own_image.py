"""flower inside somebody's own image: its tools are there, and what it lacks is said in a line."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Iterator

import pytest

from tests.box.box import Box
from tests.box.conftest import Person
from tests.frozen.room import MIRROR

COMPILER = """\
FROM debian:bookworm-slim
RUN apt-get update -qq && apt-get install -y -qq -o Acquire::Retries=5 --no-install-recommends gcc git libc6-dev && rm -rf /var/lib/apt/lists/*
ENV FB_OF_THE_IMAGE=yes
"""
PROGRAM = 'printf "#include <stdio.h>\\nint main(void){puts(\\"compiled\\");}" >a.c && gcc -o a a.c && ./a'


@pytest.fixture
def engine(person: Person) -> Box:
    """Somebody who only gives orders to the engine."""
    return person()


@pytest.fixture
def compiler(engine: Box) -> str:
    """An image with a compiler and git that knows nothing of flower; kept, its layers are slow to make."""
    words = ["docker", "build", "--network", "host", "--quiet", "--tag", "flower-box-test:compiler", "-"]
    done = subprocess.run(words, input=COMPILER, env=engine.env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return "flower-box-test:compiler"


@pytest.fixture
def empty(engine: Box) -> Iterator[str]:
    """An image that holds one directory and nothing to run."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        place = tarfile.TarInfo("etc")
        place.type, place.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(place)
    words = ["docker", "import", "-", "flower-box-test:empty"]
    subprocess.run(words, input=archive.getvalue(), env=engine.env, check=True, capture_output=True)
    yield "flower-box-test:empty"
    engine.docker("image", "rm", "flower-box-test:empty")


@pytest.fixture
def old(engine: Box) -> Iterator[str]:
    """An image with git whose glibc is older than what the binary was built with."""
    name = "flower-box-test:old"
    words = ["mmdebstrap", "--quiet", "--variant=minbase", "--include=git", "bullseye", "-", MIRROR]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as made:
        subprocess.run(["docker", "import", "-", name], stdin=made.stdout, env=engine.env, check=True)
    assert made.returncode == 0
    yield name
    engine.docker("image", "rm", name)


@pytest.mark.parametrize("uid", [1234])
def test_the_worker_compiles_and_runs_with_the_images_tools(person: Person, compiler: str, uid: int) -> None:
    box = person(uid=uid, FLOWER_BASE=compiler)
    said = box.sh(
        f"{PROGRAM} && echo $FB_OF_THE_IMAGE && git init -q r && cd r && git commit -q --allow-empty -m x"
        " && git log --format=%an && touch $HOME/x && touch /flowerbox/flower/x 2>&1 || echo protected"
    )
    assert said.split()[:3] == ["compiled", "yes", "flower"] and "protected" in said
    assert {path.lstat().st_uid for path in box.dir.rglob("*")} == {uid}
    box.leaves_nothing()


def test_what_an_image_lacks(person: Person, empty: str) -> None:
    refused(person, empty, "no /bin/sh")
    refused(person, "debian:bookworm-slim", "no git")


@pytest.mark.soak
def test_an_image_whose_glibc_is_too_old(person: Person, old: str) -> None:
    refused(person, old, "glibc is too old")


def refused(person: Person, base: str, lack: str) -> None:
    box = person(FLOWER_BASE=base)
    done = box.run(box.dir, "hi")
    lines = [line for line in done.stderr.splitlines() if not line.startswith("WARNING: IPv4")]
    assert done.returncode == 5 and len(lines) == 1, done.stderr
    assert base in lines[0] and lack in lines[0]
    box.leaves_nothing()
