"""Drives the installed command with the real CLI against a scripted endpoint, in an environment of its own."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.conftest import clean_environment

FLOWER = [str(Path(sys.executable).with_name("flower"))]


def wait_for(
    condition: Callable[[], Any], timeout: float = 30.0, what: str | Callable[[], str] = "it"
) -> Any:
    """The first true value of ``condition``; an AssertionError after ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what if isinstance(what, str) else what()} did not come true within {timeout} s")


@dataclass
class Place:
    """One directory that a person works in, with a HOME of its own.

    Attributes:
        dir: where the command is typed; the workspace and the books are below it.
        env: what the command sees; credentials included.
    """

    dir: Path
    home: Path
    env: dict[str, str] = field(default_factory=dict)

    @classmethod
    def make(cls, base: Path, endpoint_env: dict[str, str] | None = None, **extra: str) -> Place:
        home, here = base / "home", base / "project"
        home.mkdir(parents=True, exist_ok=True)
        here.mkdir(parents=True, exist_ok=True)
        return cls(here, home, clean_environment(home, **(endpoint_env or {}), **extra))

    def run(self, *arguments: str, timeout: float = 300.0, **popen: Any) -> subprocess.CompletedProcess[str]:
        """Type a command and wait for its end."""
        popen.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(
            [*FLOWER, *arguments],
            cwd=self.dir,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=timeout,
            **popen,
        )

    def start(self, *arguments: str, **popen: Any) -> subprocess.Popen[str]:
        """Type a command and go on at once."""
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen([*FLOWER, *arguments], cwd=self.dir, env=self.env, text=True, **popen)

    # ---- the books, read as a stranger would

    @property
    def runs(self) -> Path:
        return self.dir / "runs"

    @property
    def rows(self) -> list[dict[str, Any]]:
        path = self.runs / "manifest.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []

    @property
    def lineage(self) -> dict[str, Any]:
        path = self.runs / "lineage.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def note(self, name: str) -> str:
        path = self.dir / ".flower" / "notes" / name
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def entries(self, session_id: str, subpath: str = "") -> list[dict[str, Any]]:
        """The stored entries of a session, in order."""
        database = sqlite3.connect(f"file:{self.runs / 'sessions.db'}?mode=ro", uri=True)
        try:
            wanted = f"%/{session_id}" + (f"/{subpath}" if subpath else "")
            query = "SELECT payload FROM entries WHERE store_key LIKE ? ORDER BY seq"
            return [json.loads(p) for (p,) in database.execute(query, (wanted,))]
        finally:
            database.close()

    def integrity(self) -> str:
        database = sqlite3.connect(self.runs / "sessions.db")
        try:
            return str(database.execute("PRAGMA integrity_check").fetchone()[0])
        finally:
            database.close()

    # ---- processes

    def tree(self) -> list[psutil.Process]:
        """Every living process that works for this place, detached ones included: HOME tells them apart."""
        found = []
        for process in psutil.process_iter():
            try:
                mine = process.environ().get("HOME") == str(self.home)
                if mine and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found
