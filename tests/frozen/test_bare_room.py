"""The one file on a machine that has nothing: no Python, no Node, no network, a noexec /tmp, an ordinary user."""

from __future__ import annotations

import json
import signal

import pytest

from flower import __version__
from tests.e2e.harness import wait_for
from tests.frozen.room import Room

DEMO_STEPS = ["确认需求", "设定目标", "干活", "干活·判定#1", "干活#round2", "干活·判定#2"]


def test_the_room_is_bare(room: Room) -> None:
    for name in ("python3", "python", "node", "git", "curl"):
        assert room.run("sh", "-c", f"command -v {name}").returncode != 0, name
    devices = room.run("cat", "/proc/net/dev").stdout.splitlines()[2:]
    assert [line.split(":")[0].strip() for line in devices] == ["lo"]
    assert room.run("id", "-u").stdout.strip() != "0"


def test_the_version_and_what_it_needs(room: Room) -> None:
    assert room.run("flower", "--version").stdout == f"flower {__version__}\n"
    assert "needs glibc 2." in room.run("flower", "--version", "-v").stdout


def test_the_demo_and_its_continuation(room: Room) -> None:
    place = room.project("first")
    inside = f"/home/ada/{place.name}"
    done = room.run("flower", "demo", where=inside)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = json.loads((place / "demo" / "runs" / "manifest.json").read_text("utf-8"))
    assert [row["step"] for row in rows] == DEMO_STEPS
    assert (place / "demo" / "md2html.sh").stat().st_uid == room.uid
    again = room.run("flower", "demo", where=inside)
    assert again.returncode == 0, again.stderr[-2000:]
    assert "this conversation has sent out 2 task(s) before" in again.stderr
    looked_at(room, f"{inside}/demo")


def looked_at(room: Room, where: str) -> None:
    """Every command that looks finds its own parts inside too."""

    def said(*words: str) -> str:
        done = room.run("flower", *words, where=where)
        assert done.returncode == 0, (words, done.stderr[-2000:])
        return done.stdout

    for words in (["status"], ["steps"], ["sessions"]):
        assert "干活" in said(*words), words
    lineage = json.loads((room.root / where.lstrip("/") / "runs" / "lineage.json").read_text("utf-8"))
    session = lineage["steps"]["干活"]
    assert "md2html" in said("show", session)
    assert all(json.loads(line)["sessionId"] == session for line in said("export", session).splitlines())
    assert "claude" in room.run("flower", "doctor", where=where).stdout


@pytest.mark.parametrize(("language", "word"), [("zh", "工作流"), ("ko", "워크플로")])
def test_the_catalogues_are_inside(room: Room, language: str, word: str) -> None:
    assert word in room.run("flower", "--lang", language, "--help").stdout
    assert word not in room.run("flower", "--lang", "en", "--help").stdout


def test_once_against_an_endpoint_on_loopback(room: Room) -> None:
    place = room.project("once")
    words = ("flower", "once", "-t", "Bash", "sh: echo forty-$((40 + 2)) | tee made.txt")
    done = room.run(*words, where=f"/home/ada/{place.name}", **room.endpoint)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "it said: forty-42" in done.stdout
    assert (place / "made.txt").read_text() == "forty-42\n"


FLOW = """
import concurrent.futures, csv, dataclasses, decimal, multiprocessing, sqlite3, tomllib_or_json as data, zoneinfo
from flower import AgentSpec, Step, Workflow

def square(n):
    return n * n

async def main(runtime):
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        number = pool.submit(square, 12).result()
    spec = AgentSpec(name="hand", allowed_tools=["Bash"])
    flow = Workflow([Step("hand", spec, f"sh: echo {number} {data.KIND}")])
    return (await flow.run(runtime))["hand"]
"""


def test_a_workflow_of_ones_own_with_the_standard_library_and_a_neighbour(room: Room) -> None:
    place = room.project("flow")
    (place / "flows.py").write_text(FLOW)
    (place / "tomllib_or_json.py").write_text("import json\nKIND = json.dumps('neighbour')\n")
    done = room.run("flower", "run", "flows.py:main", where=f"/home/ada/{place.name}", **room.endpoint)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "144 neighbour" in done.stdout


def test_a_missing_module_is_named_in_one_line(room: Room) -> None:
    place = room.project("missing")
    (place / "flows.py").write_text("import numpy\n")
    done = room.run("flower", "run", "flows.py:main", where=f"/home/ada/{place.name}", **room.endpoint)
    assert done.returncode == 1
    first = done.stderr.splitlines()
    assert "'numpy'" in first[0] and len(first) == 2 and "pip" in first[1], done.stderr


def test_kill_9_of_the_pid_the_person_sees_leaves_nothing(room: Room) -> None:
    place = room.project("killed")
    words = ("flower", "once", "-t", "Bash", "sh: (setsid nohup sleep 311 &) ; touch begun; sleep 300")
    started = room.start(*words, where=f"/home/ada/{place.name}", **room.endpoint)
    wait_for((place / "begun").exists, 60)
    assert any("claude" in process.name() for process in room.processes())
    seen = {process.pid for process in room.processes()}
    assert started.pid in seen and len(seen) >= 5
    started.send_signal(signal.SIGKILL)
    assert started.wait(10) == -signal.SIGKILL
    wait_for(lambda: not room.processes(), 2, lambda: f"the end of {room.processes()}")
