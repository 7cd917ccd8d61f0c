"""A small Debian without Python, Node and network, entered as an ordinary user. Needs root and mmdebstrap."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

UID = 4321
USER = "ada"
MIRROR = "http://deb.debian.org/debian"
TRIES = 3


def suite() -> str:
    """This machine's Debian, or the newest stable one: its glibc must be as new as the build's."""
    facts = Path("/etc/os-release").read_text(encoding="utf-8")
    named = [
        line.partition("=")[2].strip('"')
        for line in facts.splitlines()
        if line.startswith("VERSION_CODENAME=")
    ]
    return named[0] if "\nID=debian" in f"\n{facts}" and named else "trixie"


def sources(of: str) -> str:
    """Where that Debian comes from: what this machine uses if it is the same one."""
    places = (Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list"))
    usable = [str(place) for place in places if place.exists() and of in place.read_text("utf-8").split()]
    return usable[0] if usable else MIRROR


def debootstrap(root: Path) -> None:
    """A mirror may be away for a moment; what it had sent is thrown away then."""
    words = ["mmdebstrap", "--quiet", "--variant=essential", "--mode=root", "--aptopt=Acquire::Retries 5"]
    for left in reversed(range(TRIES)):
        made = subprocess.run([*words, suite(), str(root), sources(suite())])
        if made.returncode == 0:
            return
        assert left, "no Debian could be made"
        shutil.rmtree(root, ignore_errors=True)


@dataclass
class Room:
    """The room. /tmp in it is small, in memory and noexec; /few has
    space but room for a few names only, /little has no space, /read-only is what it says.

    Attributes:
        root: its file system, seen from outside.
        keeper: the process that holds its namespaces and serves a scripted endpoint on its loopback.
        endpoint: environment that leads to that endpoint.
    """

    root: Path
    keeper: subprocess.Popen[str]
    endpoint: dict[str, str]
    uid: int = UID

    @classmethod
    def make(cls, root: Path, binary: Path) -> Room:
        debootstrap(root)
        with (root / "etc" / "passwd").open("a", encoding="ascii") as file:
            file.write(f"{USER}:x:{UID}:{UID}::/home/{USER}:/bin/sh\n")
        home = root / "home" / USER
        home.mkdir()
        os.chown(home, UID, UID)
        shutil.copy(binary, root / "usr" / "local" / "bin" / "flower")
        for name in ("few", "little", "read-only"):
            (root / name).mkdir(mode=0o755)
        own = ["unshare", "--net", "--mount", "--propagation", "private", "--"]
        keeper = subprocess.Popen(
            [*own, sys.executable, "-m", "tests.frozen.keeper", str(root), str(UID)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
        )  # fmt: skip
        assert keeper.stdout is not None
        ready = keeper.stdout.readline()
        assert ready, "the room's keeper ended"
        return cls(root, keeper, json.loads(ready))

    def close(self) -> None:
        assert self.keeper.stdin is not None and self.keeper.stdout is not None
        self.keeper.stdin.close()
        self.keeper.wait(20)
        self.keeper.stdout.close()

    @property
    def home(self) -> Path:
        return self.root / "home" / USER

    def words(self, *command: str, where: str = "", **environ: str) -> list[str]:
        """A command line that becomes ``command`` inside; its pid does not change on the way."""
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": f"/home/{USER}", "LANG": "C.UTF-8", **environ}
        given = [f"{name}={value}" for name, value in env.items() if value]
        target = f"/proc/{self.keeper.pid}/ns"
        enter = ["nsenter", f"--net={target}/net", f"--mount={target}/mnt"]
        change = ["chroot", f"--userspec={UID}:{UID}", "--groups=", str(self.root)]
        return [*enter, *change, "env", "-i", f"--chdir={where or f'/home/{USER}'}", *given, *command]

    def run(self, *command: str, timeout: float = 120, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words(*command, **more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def start(self, *command: str, **more: Any) -> subprocess.Popen[str]:
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(self.words(*command, **more), text=True, **quiet)  # type: ignore[call-overload, no-any-return]

    def project(self, name: str) -> Path:
        """A new directory of the user's, seen from outside; inside it is ``/home/ada/<name>``."""
        place = self.home / name
        place.mkdir()
        os.chown(place, UID, UID)
        return place

    def processes(self) -> list[psutil.Process]:
        """Everything that the user of the room runs."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.uids().real == UID and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.NoSuchProcess:
                continue
        return found
