"""A directory of a person's and the command `flowerbox` typed in an environment of their own."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import clean_environment
from tests.e2e.harness import wait_for

ROOT = Path(__file__).parents[2]
TOKEN = "sk-ant-test-0123456789-never-to-be-seen"
SHELL = ("once", "-t", "Bash", "-p", "bypassPermissions")
LIMIT = 150.0


@dataclass
class Box:
    """Where a person works.

    Attributes:
        base: everything of this person's; other users can reach it.
        dir: the project.
        env: what flowerbox sees.
        uid: who the person is.
    """

    base: Path
    dir: Path
    env: dict[str, str]
    uid: int = 0
    command: list[str] = field(default_factory=list)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @classmethod
    def make(cls, base: Path, docker_host: str, uid: int = 0, **env: str) -> Box:
        home, project, temporary = base / "home", base / "project", base / "tmp"
        for place in (home, project, temporary):
            place.mkdir(parents=True)
            os.chown(place, uid, uid)
        # A copy: the checkout's own .env and .git stay out of it, and any user can read it.
        shutil.copy(ROOT / "flowerbox", base / "flowerbox")
        extra = {"TMPDIR": str(temporary), "TERM": "xterm", "FLOWER_NETWORK": "host", **env}
        if docker_host:
            extra["DOCKER_HOST"] = docker_host
        return cls(base, project, clean_environment(home, **extra), uid, [str(base / "flowerbox")])

    @property
    def home(self) -> Path:
        return Path(self.env["HOME"])

    @property
    def books(self) -> Path:
        return self.dir / "runs" / "box"

    @property
    def rows(self) -> list[dict[str, Any]]:
        path = self.books / "manifest.json"
        return json.loads(path.read_text("utf-8")) if path.exists() else []

    @property
    def lineage(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.books / "lineage.json").read_text("utf-8"))
        return found

    def _popen(self, more: dict[str, Any]) -> dict[str, Any]:
        env = {**self.env, **more.pop("env", {})}
        who: dict[str, Any] = {}
        if self.uid:
            who = {"user": self.uid, "group": self.uid, "extra_groups": [socket_group(self.env)]}
        return {"cwd": self.base, "env": env, "text": True, "stdin": subprocess.DEVNULL, **who, **more}

    def run(self, *words: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
        """Type `flowerbox words…` and wait for its end."""
        words = tuple(map(str, words))
        return subprocess.run(
            [*self.command, *words], capture_output=True, timeout=LIMIT, **self._popen(more)
        )

    def start(self, *words: str | Path, **more: Any) -> subprocess.Popen[str]:
        """Type it and go on at once."""
        quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.started.append(
            subprocess.Popen([*self.command, *map(str, words)], **{**quiet, **self._popen(more)})
        )
        return self.started[-1]

    def close(self) -> None:
        """End what a failed test left."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.communicate()
        for name in self.boxes():
            self.docker("rm", "--force", name, check=False)

    def sh(self, script: str, **more: Any) -> str:
        """What a worker in the box gets to see of a shell command; the box must end well."""
        done = self.run(self.dir, *SHELL, f"sh: {script}", **more)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.partition("it said: ")[2]

    # ---- containers of this person's flowerbox

    def docker(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(["docker", *words], capture_output=True, text=True, env=self.env, timeout=LIMIT)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def boxes(self) -> list[str]:
        """Names of the containers whose workspace is this directory, stopped ones included."""
        names = self.docker("ps", "--all", "--format", "{{.Names}}").split()
        return [name for name in names if str(self.dir) in self.docker("inspect", name, check=False)]

    def leaves_nothing(self) -> None:
        """No container, no secret on disk, no mark in the project: the watch may need a moment."""
        wait_for(lambda: not self.boxes(), 30, lambda: f"no box of {self.dir}: {self.boxes()}")
        temporary = Path(self.env["TMPDIR"])
        wait_for(lambda: not list(temporary.glob("flowerbox.*")), 30, "no private directory is left")
        assert not list(self.dir.glob(".flowerbox-*")) and not list(self.books.glob(".flowerbox-*"))


def socket_group(env: dict[str, str]) -> int:
    """The group that may speak to the engine."""
    path = Path(env.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://"))
    assert stat.S_ISSOCK(path.stat().st_mode)
    return path.stat().st_gid
