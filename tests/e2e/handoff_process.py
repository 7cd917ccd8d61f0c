"""One run of a one-step workflow that kills itself at a chosen point of a handoff: ``BASE LABEL NTH``.

Points are counted from the moment the threshold is seen: before and after every rename in the books and on the
workbench, and before and after every batch of entries. Each is written to ``BASE/points``; the NTH whose label contains
LABEL is the end.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flower import Event, Runtime, Step, Workflow
from flower.books import files
from flower.runtime.mirror import Mirror
from tests.e2e.handing import POLICY, SPEC

REQUEST = "port  the parser 移植\n\nall of it"
WORDS = "carry on"
MARKS = {
    "You take over": "inheritance",
    "It ends here": "rules",
    "yacc is too slow": "document",
    "worked": "result",
}
"""What a batch of entries is called by a text that is in it."""


class Failpoint:
    """Ends the process without warning."""

    def __init__(self, log: Path, label: str, nth: int) -> None:
        self._log, self._label, self._left, self.armed = log, label, nth, False

    def pass_by(self, label: str) -> None:
        if not self.armed:
            return
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"{label}\n")
        self._left -= self._label in label
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def hear(self, event: Event) -> None:
        if event.kind == "usage" and event.data["context"] >= POLICY.at:
            self.armed = True
        if event.kind in ("usage", "handoff"):
            self.pass_by(f"event {event.kind} {event.data.get('state', '')}")


def arm(point: Failpoint) -> None:
    """Let every rename and every batch of entries pass by the failpoint."""

    class Ops(files.Ops):
        def replace(self, source: str, target: str) -> None:
            name = f"{Path(source).suffix}>{Path(target).parent.name}/{Path(target).name}"
            point.pass_by(f"before {name}")
            super().replace(source, target)
            point.pass_by(f"after {name}")

    files.ops = Ops()
    append = Mirror.append

    async def watched(self: Mirror, key: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> None:
        text = json.dumps(entries)
        what = next((name for mark, name in MARKS.items() if mark in text), "entries")
        point.pass_by(f"before {what}")
        await append(self, dict(key), [dict(e) for e in entries])
        point.pass_by(f"after {what}")

    Mirror.append = watched  # type: ignore[method-assign, assignment]


def flow() -> Workflow:
    """The workflow, the same in the process that is killed and in the next."""
    return Workflow([Step("work", SPEC, REQUEST, resume_prompt=WORDS)])


def runtime(base: Path) -> Runtime:
    return Runtime(
        workspace=base / "ws", run_dir=base / "runs", handoff=POLICY, workbench=True, resilience=False
    )


def main(base: Path, label: str, nth: int) -> None:
    point = Failpoint(base / "points", label, nth)
    arm(point)
    asyncio.run(flow().run(runtime(base), on_event=point.hear))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
