"""Commands that only look, from a cold start, beside the quickest command there is."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.table import Row, beside, in_turns

ROUNDS = 15
FLOWER = str(Path(sys.executable).with_name("flower"))
LOOK = "import flower; flower.wake_state()"
WORDS = ("--version", "--help", "demo --help", "status", "steps", "sessions")


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="flower-bench-") as scratch:
        place = Path(scratch, "project")
        place.mkdir()
        env = {"PATH": os.environ["PATH"], "HOME": scratch, "LANG": "C.UTF-8"}

        def side(*command: str) -> float:
            begun = time.perf_counter()
            subprocess.run(
                command, cwd=place, env=env, check=True, capture_output=True, stdin=subprocess.DEVNULL
            )
            return (time.perf_counter() - begun) * 1000

        from flower.cli.arguments import COMMANDS

        known = [w for w in WORDS if w.startswith("-") or w.split()[0] in COMMANDS]
        commands = {f"flower {words}": [FLOWER, *words.split()] for words in known}
        commands["wake_state()"] = [sys.executable, "-c", LOOK]
        sides = [lambda command=command: side(*command) for command in commands.values()]  # type: ignore[misc]
        times = dict(zip(commands, in_turns(ROUNDS, *sides), strict=True))
        base = times.pop("flower --version")
        bounds = {"flower --help": None, "flower demo --help": None}
        return [
            beside(name, took, "--version", base, "ms", bounds.get(name, 2.0)) for name, took in times.items()
        ]


if __name__ == "__main__":
    for row in rows():
        print(row)
