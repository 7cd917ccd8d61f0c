"""What a resumed session sends first, beside `claude --resume` of the same transcript; how soon after a kill."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import transcript
from benchmarks.table import Row
from flower.books.rewriting import PruningSessionStore
from flower.supervise.locate import find_claude
from flower.testing import Reply, Request, ScriptedEndpoint

FLOWER = str(Path(sys.executable).with_name("flower"))
MEGABYTES = 6.0
HISTORY_MB = float(os.environ.get("FLOWER_BENCH_HISTORY") or 85)
TOOLS = "Read,Bash,Edit,Write"
BOUNDS = {"mixed": 0.25}
SHAPES = {"small": "many small results", "mixed": "mixed results", "huge": "few huge results"}


class Place:
    """A directory with one long session in its books, and the same transcript as the CLI itself would keep it."""

    def __init__(self, root: Path, shape: str, megabytes: float) -> None:
        from claude_agent_sdk import project_key_for_directory

        self.work = root / "project"
        self.home = root / "home"
        (self.work / "runs").mkdir(parents=True)
        self.key = project_key_for_directory(str(self.work))
        source = root / "sessions.db"
        transcript.fill(source, shape, megabytes)
        self.plain = self.home / ".claude" / "projects" / self.key / f"{transcript.SESSION}.jsonl"
        self.plain.parent.mkdir(parents=True)
        asyncio.run(self._move(source))

    async def _move(self, source: Path) -> None:
        store = PruningSessionStore(source, self.work)
        entries = await store.load_raw(transcript.KEY) or []
        store.close()
        whole = [{**e, "sessionId": transcript.SESSION, "cwd": str(self.work)} for e in entries]
        with self.plain.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in whole)
        books = PruningSessionStore(self.work / "runs" / "sessions.db", self.work)
        key = {"project_key": self.key, "session_id": transcript.SESSION}
        for start in range(0, len(whole), 500):
            await books.append(key, whole[start : start + 500])
        books.close()

    def start(self, endpoint: ScriptedEndpoint, *command: str) -> subprocess.Popen[bytes]:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", **endpoint.env()}
        env |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1"}
        quiet: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        return subprocess.Popen(command, cwd=self.work, env=env, **quiet)


def rows() -> list[Row]:
    out: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="flower-bench-") as scratch:
        for shape, name in SHAPES.items():
            out += _shape(Place(Path(scratch, shape), shape, MEGABYTES), shape, name)
        out.append(_after_a_kill(Place(Path(scratch, "kill"), "mixed", HISTORY_MB)))
    return out


def _shape(place: Place, shape: str, name: str) -> list[Row]:
    cli = [str(find_claude()), "-p", "--tools", TOOLS, "--resume", transcript.SESSION]
    plain = _first_request(place, [*cli, "go on"])
    resume = [FLOWER, "once", "-T", "-t", TOOLS, "--resume", transcript.SESSION]
    ours = _first_request(place, [*resume, "go on"])
    again = _first_request(place, [*resume, "and on"])
    sizes = [len(_bytes(body)) for body in (ours, plain)]
    kept = _common(_cached(ours), _cached(again)) / len(_cached(ours))
    beside = f"claude --resume: {sizes[1] / 1024:,.0f}"
    return [
        Row(f"resume, {name}", sizes[0] / 1024, "KB", beside, sizes[0] / sizes[1], BOUNDS.get(shape)),
        Row(f"resume, {name}: prefix kept", kept, "", "of the last request's messages"),
    ]


def _first_request(place: Place, command: list[str]) -> dict[str, Any]:
    with ScriptedEndpoint(default=Reply("fine")) as endpoint:
        status = place.start(endpoint, *command).wait(timeout=300)
        if status or not endpoint.requests:
            raise RuntimeError(f"{command[0]} ended with {status} after {len(endpoint.requests)} requests")
        return dict(endpoint.requests[0].body or {})


def _bytes(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass")


def _cached(body: dict[str, Any]) -> bytes:
    """What the endpoint's cache compares, in its order: the marks for it move with the end and are no content."""
    history = body["messages"]
    while history and history[-1]["role"] != "assistant":  # the new words, and what the CLI says beside them
        history = history[:-1]
    return _bytes(_unmarked([body.get("tools"), body.get("system"), history]))


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _unmarked(v) for k, v in value.items() if k != "cache_control"}
    return [_unmarked(v) for v in value] if isinstance(value, list) else value


def _common(one: bytes, other: bytes) -> int:
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _after_a_kill(place: Place) -> Row:
    arrivals: list[float] = []

    def answer(_request: Request) -> Reply:
        arrivals.append(time.monotonic())
        return Reply("fine", delay=60.0)

    resume = [FLOWER, "once", "-T", "--resume", transcript.SESSION, "go on"]
    with ScriptedEndpoint(answer) as endpoint:
        first = place.start(endpoint, *resume)
        _wait_for(arrivals, 1)
        first.send_signal(signal.SIGKILL)
        first.wait()
        killed = time.monotonic()
        second = place.start(endpoint, *resume)
        _wait_for(arrivals, 2)
        second.kill()
        second.wait()
    took = arrivals[1] - killed
    return Row(f"from kill -9 to the next request, {HISTORY_MB:.0f} MB", took, "s")


def _wait_for(arrivals: list[float], count: int) -> None:
    deadline = time.monotonic() + 300
    while len(arrivals) < count:
        if time.monotonic() > deadline:
            raise TimeoutError("no request came within 300 s")
        time.sleep(0.005)


if __name__ == "__main__":
    for row in rows():
        print(row)
