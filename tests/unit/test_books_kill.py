"""SIGKILL at any moment: every book is readable, and what was acknowledged is in it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import apsw

from flower.books.lineage import Lineage
from flower.books.manifest import read_rows
from flower.books.sqlite import SqliteSessionStore

WRITER = """
import os, sys
from flower.books.lineage import Lineage
from flower.books.manifest import Manifest
from flower.books.sqlite import SqliteSessionStore
import claude_agent_sdk
books = sys.argv[1]
for round_ in range(40):
    # A child for each kill: the imports are paid for once.
    sys.stdin.readline()
    child = os.fork()
    if child:
        print(child, flush=True)
        os.waitpid(child, 0)
        continue
    store = SqliteSessionStore(books + "/sessions.db")
    lineage = Lineage.open(books, books, notice=lambda line: None)
    manifest = Manifest(books, f"{sys.argv[2]}-{round_}", notice=lambda line: None)
    n = 0
    while True:
        n += 1
        sid = f"{sys.argv[2]}-{round_}-{n}"
        key = {"project_key": "-p", "session_id": "s"}
        store.append_now(key, [{"type": "x", "uuid": f"{sid}-{i}"} for i in "ab"])
        lineage.remember(f"step{n % 7}", sid, exists=lambda s: False, held=lambda s: False)
        manifest.record({"step": str(n), "started_at": n, "text": "x" * 2000})
        os.write(1, (sid + "\\n").encode())
"""


def test_forty_kills_leave_every_book_whole(tmp_path: Path) -> None:
    chance, killed, shown = random.Random(1), 0, set()
    for writer in range(1):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(writer)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin and process.stdout
        for _ in range(40):
            process.stdin.write("\n")
            process.stdin.flush()
            child = int(process.stdout.readline())
            shown.add(process.stdout.readline().strip())  # At work now.
            time.sleep(chance.uniform(0, 0.03))
            os.kill(child, signal.SIGKILL)
            killed += 1
            content = json.loads((tmp_path / "lineage.json").read_text())
            assert content["workspace"] == str(tmp_path) and content["steps"]
            assert json.loads((tmp_path / "manifest.json").read_text())
            process.stdin.flush()
            # What it had acknowledged before the kill.
            os.set_blocking(process.stdout.fileno(), False)
            time.sleep(0.01)
            shown |= {line.strip() for line in process.stdout.readlines() if line.endswith("\n")}
            os.set_blocking(process.stdout.fileno(), True)
        process.communicate()
    assert killed == 40
    rows = {f"{r['run']}-{r['step']}" for r in read_rows(tmp_path)}
    store = SqliteSessionStore(tmp_path / "sessions.db")
    stored = [e["uuid"] for e in asyncio.run(store.load({"project_key": "-p", "session_id": "s"})) or []]
    store.close()
    assert len(shown) >= 40 and shown <= rows
    assert {f"{sid}-{i}" for sid in shown for i in "ab"} <= set(stored)
    assert len(stored) == len(set(stored)) and len(stored) % 2 == 0
    check = apsw.Connection(str(tmp_path / "sessions.db"))
    assert check.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    check.close()
    assert not list(tmp_path.glob("*damaged*"))
    Lineage.open(tmp_path, tmp_path, notice=print).wake()
    assert not list(tmp_path.glob("lineage.json.*.tmp"))
