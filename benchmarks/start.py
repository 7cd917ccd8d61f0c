"""From the first keystroke to the first request and to the end of one turn: `flower once` beside the bare SDK."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.table import Row, beside
from flower.supervise.locate import find_claude
from flower.testing import Reply, Request, ScriptedEndpoint

ROUNDS = int(os.environ.get("ROUNDS") or 9)
FLOWER = str(Path(sys.executable).with_name("flower"))
BARE = str(Path(__file__).with_name("bare_query.py"))


class Side:
    """A command that asks the endpoint once, run again and again in a place and a HOME of its own."""

    def __init__(self, place: Path, *command: str) -> None:
        self.command = command
        self.place = place
        self.home = place / "home"
        self.home.mkdir(parents=True)
        self.first: list[float] = []
        self.whole: list[float] = []

    def run(self, endpoint: TimedEndpoint) -> None:
        """One run; milliseconds from its start to its first request and to its end."""
        endpoint.arrivals.clear()
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", **endpoint.env()}
        # The bare ones would look for updates otherwise; flower says so itself.
        env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
        begun = time.monotonic()
        subprocess.run(
            self.command,
            env=env,
            cwd=self.place,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=120,
        )
        self.whole.append((time.monotonic() - begun) * 1000)
        self.first.append((endpoint.arrivals[0] - begun) * 1000)


class TimedEndpoint(ScriptedEndpoint):
    """Answers every request at once and remembers when it came."""

    def __init__(self) -> None:
        self.arrivals: list[float] = []
        super().__init__(self._answer)

    def _answer(self, _request: Request) -> Reply:
        self.arrivals.append(time.monotonic())
        return Reply("hello")


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="flower-bench-") as scratch, TimedEndpoint() as endpoint:
        ours = Side(Path(scratch, "flower"), FLOWER, "once", "hi")
        bare = Side(Path(scratch, "bare"), sys.executable, BARE, "hi")
        cli = Side(Path(scratch, "cli"), str(find_claude()), "-p", "hi")
        sides = (ours, bare, cli)
        for number in range(ROUNDS + 1):
            for side in sides:
                side.run(endpoint)
            if number == 0:  # the first run fills caches
                for side in sides:
                    side.first.clear()
                    side.whole.clear()
        return [
            beside("flower once: to the first request", ours.first, "bare query()", bare.first, "ms", 1.15),
            beside("flower once: to the end of the turn", ours.whole, "bare query()", bare.whole, "ms", 1.15),
            beside("flower once: to the first request", ours.first, "claude -p", cli.first, "ms"),
            beside("flower once: to the end of the turn", ours.whole, "claude -p", cli.whole, "ms"),
        ]


if __name__ == "__main__":
    for row in rows():
        print(row)
