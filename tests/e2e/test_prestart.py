"""The CLI is on its way before the SDK is loaded, and everything is as if the SDK had started it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from flower.testing import Reply, Rule, ScriptedEndpoint, ToolUse
from tests.e2e.harness import Place

ROOT = Path(__file__).parents[2]

WATCH = """
import asyncio, json, sys
starts = []
def watch(event, arguments):
    if event == "subprocess.Popen" and "--session-mirror" in arguments[1]:
        starts.append("claude_agent_sdk" in sys.modules)
sys.addaudithook(watch)
"""
"""Notes at each start of a CLI whether the SDK was being loaded, or there already."""

TWO_COMMANDS = """
from flower.cli.main import run
statuses = [run(["--json", "once", "-t", "Bash", "look"]), run(["--json", "once", "again"])]
print(json.dumps({"starts": starts, "statuses": statuses}))
"""

ONE_ATTEMPT = """
from flower import AgentSpec, Runtime
with Runtime(resilience=False) as runtime:
    row = asyncio.run(runtime.run(AgentSpec("x"), "hi", step_name="s"))
print(json.dumps({"starts": starts, "ok": row.ok, "error": row.error}))
"""


def watched(place: Place, code: str) -> tuple[dict[str, Any], str]:
    """What a Python program prints in its last line, and all it says."""
    env = {**place.env, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", WATCH + code]
    done = subprocess.run(words, cwd=place.dir, env=env, capture_output=True, text=True, timeout=120)
    return json.loads(done.stdout.splitlines()[-1]), done.stdout + done.stderr


def test_the_first_cli_of_a_process_starts_before_the_sdk_is_loaded(tmp_path: Path) -> None:
    script = [
        Rule("look", Reply(blocks=[ToolUse("Bash", {"command": "echo $((6 * 7))"})]), times=1),
        Rule(reply="it is 42", after="Bash"),
        Rule("again", "hello again"),
    ]
    with ScriptedEndpoint(script) as endpoint:
        place = Place.make(tmp_path, endpoint.env())
        told, output = watched(place, TWO_COMMANDS)
        endpoint.check()
    assert told == {"starts": [False, True], "statuses": [0, 0]}, output
    assert [row["text"] for row in place.rows] == ["it is 42", "hello again"]
    kinds = [entry["type"] for entry in place.entries(place.rows[0]["session_id"])]
    assert kinds.count("assistant") >= 2 and "user" in kinds  # the mirror works
    assert not place.tree()


def test_a_cli_that_cannot_work_is_told_in_its_own_words(tmp_path: Path) -> None:
    broken = tmp_path / "claude"
    broken.write_text("#!/bin/sh\necho this machine is too old >&2\nexit 3\n")
    broken.chmod(0o755)
    with ScriptedEndpoint(default=Reply("never")) as endpoint:
        place = Place.make(tmp_path, endpoint.env(), FLOWER_CLAUDE=str(broken))
        told, _output = watched(place, ONE_ATTEMPT)
    assert told["starts"] == [False] and told["ok"] is False
    assert "status 3" in told["error"] and "this machine is too old" in told["error"]
    assert not place.tree()
