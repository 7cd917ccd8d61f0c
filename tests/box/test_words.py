"""What is typed: paths of every kind, under every shell; and each refusal in one line, before money is spent."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from flower import __version__
from flower.testing import ScriptedEndpoint
from tests.box.box import ROOT, TOKEN, Box
from tests.box.conftest import Person
from tests.box.model import plain_model

SCRIPTS = ("flowerbox", "docker/enter", "tests/box/engine.sh")
SHELLS = (["dash"], ["bash", "--posix"], ["busybox", "sh"])
STRANGE = (
    "two  spaces",
    "-n",
    "a:b,c=d",
    'it\'s "quoted" `here` $HOME \\n',
    "line\nbreak\n",
    "정원 花",
    "*?[x]",
)


@pytest.fixture
def nobody(docker_host: str, image: str, tmp_path: Path) -> Box:
    """A person without credentials."""
    return Box.make(tmp_path, docker_host, FLOWER_IMAGE=image)


def test_the_scripts_are_clean() -> None:
    assert shutil.which("shellcheck"), "install shellcheck"
    subprocess.run(["shellcheck", *SCRIPTS], cwd=ROOT, check=True)


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell[0])
def test_any_path_in_any_shell(nobody: Box, shell: list[str]) -> None:
    """`cache` starts flower without a model. That it starts proves the mounts: the marks were seen inside."""
    nobody.command = [*shell, *nobody.command]
    names = STRANGE if shell == ["dash"] else ("".join(STRANGE),)
    for name in names:
        nobody.dir = nobody.base / name
        nobody.dir.mkdir()
        done = nobody.run(name, "cache")
        assert done.returncode == 0, (name, done.stderr)
        assert (nobody.dir / "runs/box").is_dir() and not list(nobody.dir.glob(".flowerbox-*"))


def test_here_is_the_default_and_words_are_not_directories(nobody: Box) -> None:
    done = nobody.run("cache", cwd=nobody.dir)
    assert done.returncode == 0 and (nobody.dir / "runs/box").is_dir()
    refused = nobody.run("/etc is full, look why", cwd=nobody.dir)
    assert refused.returncode == 5 and "No credential" in refused.stderr


def test_version_and_help(nobody: Box) -> None:
    assert nobody.run(nobody.dir, "--version").stdout == f"flower {__version__}\n"
    said = nobody.run("--help").stdout
    assert said.startswith("Usage: flowerbox") and "Usage: flower " in said
    assert not (nobody.dir / "runs").exists()


def one_line(done: subprocess.CompletedProcess[str], status: int, *words: str) -> None:
    lines = done.stderr.strip().splitlines()
    assert (done.returncode, len(lines)) == (status, 1), done.stderr
    assert lines[0].startswith("flowerbox: ") and all(word in lines[0] for word in words), lines


def test_refusals_that_need_no_engine(nobody: Box) -> None:
    here = nobody.dir
    one_line(nobody.run(here, "hi", env={"FLOWER_ENGINE": "no-such-engine"}), 5, "not installed")
    one_line(nobody.run(here, "hi", env={"DOCKER_HOST": "unix:///nowhere.sock"}), 5, "docker does not answer")
    one_line(nobody.run(here, "hi", env={"FLOWER_IMAGE": "no-such-image"}), 5, "no image no-such-image")
    one_line(nobody.run(here / "gone", "hi"), 2, "no such directory")
    one_line(nobody.run("/", "hi"), 2, "/ itself")
    one_line(nobody.run("hi", cwd=nobody.home), 2, "home directory")
    one_line(nobody.run(here, "-w", "/etc", "hi"), 2, "/etc", "inside the box")
    one_line(nobody.run(here, "hi", "--run-dir=/var/books"), 2, "/var/books")
    assert not list(here.iterdir())
    books = nobody.base / "file"
    books.write_text("")
    one_line(nobody.run(here, "hi", env={"FLOWER_RUNS": str(books / "x")}), 2, "the books cannot be kept")


def test_a_directory_that_the_engine_cannot_see(nobody: Box) -> None:
    """On this machine's own mount, as a path is that another machine's engine also has."""
    script = 'mount -t tmpfs tmpfs "$1" && shift && exec "$@"'
    words = ["unshare", "--mount", "sh", "-c", script, "sh", str(nobody.dir), *nobody.command]
    done = subprocess.run(
        [*words, str(nobody.dir), "hi"],
        env={**nobody.env, "ANTHROPIC_API_KEY": TOKEN, "FLOWER_RUNS": str(nobody.base / "books")},
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60,
    )  # fmt: skip
    one_line(done, 2, "/work is not the directory you named")
    nobody.leaves_nothing()


def test_no_credentials(nobody: Box) -> None:
    done = nobody.run(nobody.dir, "hi")
    assert (done.returncode, done.stdout) == (5, "") and len(done.stderr.splitlines()) <= 4
    nobody.leaves_nothing()


def test_a_read_only_project_and_another_users(person: Person) -> None:
    box = person(uid=1234)
    os.chown(box.dir, 0, 0)
    one_line(box.run(box.dir, "hi"), 2, "cannot be written to")


def test_books_of_another_project(person: Person) -> None:
    with ScriptedEndpoint(plain_model) as endpoint:
        mine = person(endpoint=endpoint)
        assert mine.run(mine.dir, "--no-goal", "say it").returncode == 0
        spent = len(endpoint.requests)
        other = person(endpoint=endpoint, FLOWER_RUNS=str(mine.books))
        (other.dir / ".flower").mkdir()
        (other.dir / ".flower/project.json").write_text('{"id": "11111111-1111-4111-8111-111111111111"}')
        refused = other.run(other.dir, "say it")
        assert refused.returncode == 2 and "another project" in refused.stderr
        assert len(endpoint.requests) == spent
