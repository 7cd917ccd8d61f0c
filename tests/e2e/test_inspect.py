"""The commands that look, through the installed command, on recorded books: small, large, live, damaged, foreign."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from flower.books.sqlite import SqliteSessionStore
from flower.scripted.demo import demo_script
from flower.supervise import find_claude
from flower.testing import Reply, Request, ScriptedEndpoint
from tests.e2e.harness import FLOWER, Place
from tests.recorded import AGENT, LATER, fill, row, snapshot, write_books
from tests.unit.test_books_seed import SESSION, build_seed_books

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
TOKEN = "tok-0123456789abcdef"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A directory with two recorded sessions and the books that name them."""
    place = Place.make(tmp_path)
    sessions = fill(place.runs, place.dir, ["subagent", "tools"])
    rows = [
        row("干活", sessions["tools"]),
        row("干活#retry1", sessions["subagent"], ok=False, error="lost", attempts=3),
    ]
    write_books(place.runs, place.dir, {"干活": sessions["subagent"]}, rows)
    return place


def ok(done: subprocess.CompletedProcess[str], status: int = 0) -> str:
    assert done.returncode == status, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    return done.stdout


def records(text: str) -> list[dict[str, Any]]:
    """The JSON lines of a command, without the last one, which every command has."""
    found = [json.loads(line) for line in text.splitlines()]
    assert found[0].pop("schema_version") == 1 and found[-1]["type"] == "end"
    return found[:-1]


def documented(command: str) -> set[str]:
    """The names in the paragraph about `--json` of a command."""
    section = PAGE.split(f"\n## {command}\n")[1].split("<!-- help")[0]
    return set(re.findall(r"[\"`](\w+)[\"`]", section.split("`--json`")[1]))


def test_status_steps_and_sessions_say_what_is_in_the_books(place: Place) -> None:
    before = snapshot(place.dir)
    status = ok(place.run("status"))
    assert "woke 2 times" in status and "2 sessions" in status and "$1.00" in status
    steps = ok(place.run("steps"))
    assert "干活#retry1" in steps and "lost, 3 attempts" in steps and "2 rows, $1.00" in steps
    sessions = ok(place.run("sessions"))
    assert sessions.count("current") == 1 and "delegate" in sessions
    page = place.home / "page.html"
    assert "2 steps in ~/page.html" in ok(place.run("report", "-o", str(page)))
    assert "干活#retry1" in page.read_text("utf-8") and page.stat().st_mode & 0o777 == 0o600
    assert ok(place.run("report", "-o", "-")) == page.read_text("utf-8")
    assert snapshot(place.dir) == before


def test_every_field_of_the_json_is_documented(place: Place, tmp_path: Path) -> None:
    exported = str(tmp_path / "exported.jsonl")
    for words, status in {
        "status": 0,
        "steps": 0,
        "sessions": 0,
        "show 干活": 0,
        f"report -o {tmp_path / 'page.html'}": 0,
        "export 干活": 0,
        f"export 干活 -o {exported}": 0,
        "doctor": 1,
        f"import {exported}": 0,
        f"adopt --dry-run {place.dir}": 2,
    }.items():
        found = records(ok(place.run(*words.split(), "--json"), status))
        assert found or status == 2
        names = {name for record in found for name in record}
        command = words.split()[0]
        assert names <= documented(command) | {"type"}, (command, names - documented(command))
    moved = Place(place.dir.rename(place.dir.with_name("moved")), place.home, place.env)
    for words in ("--dry-run", "--yes"):
        [record] = records(ok(moved.run("adopt", words, "--json")))
        assert record.keys() <= documented("adopt") | {"type"} and record["carried_out"] is (words == "--yes")


def test_a_session_is_found_by_id_by_its_beginning_and_by_its_step(place: Place) -> None:
    ident = place.lineage["steps"]["干活"]
    shown = {ok(place.run("show", name)) for name in (ident, ident[:8], "干活")}
    assert len(shown) == 1
    text = shown.pop()
    assert text.index("* Agent") < text.index("== subagent helper") < text.index("-> Agent: result")
    gone = place.run("show", "nothing")
    assert gone.returncode == 2 and "flower sessions" in gone.stderr


def test_what_the_last_resume_left_out_is_marked(place: Place) -> None:
    [session] = fill(place.runs, place.dir, ["hook_denials"]).values()
    write_books(place.runs, place.dir, {"干活": session}, [row("干活", session, started_at=LATER)])
    shown = ok(place.run("show", "干活"))
    assert "refused  (not fed back at the last resume)" in shown
    fed = [record.get("fed") for record in records(ok(place.run("show", "干活", "--json")))[1:]]
    assert {"yes", "no"} <= set(fed)


def test_a_reader_that_goes_away_is_no_error(place: Place) -> None:
    command = subprocess.Popen(
        [*FLOWER, "show", "干活"],
        cwd=place.dir,
        env=place.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert command.stdout is not None and command.stderr is not None
    command.stdout.close()
    assert command.stderr.read() == b"" and command.wait(60) == 0
    command.stderr.close()


class Held:
    """The demo's model, which stops at one request until it is let go on."""

    def __init__(self, at: int) -> None:
        self._left = at
        self.reached, self.go_on = threading.Event(), threading.Event()

    def __call__(self, request: Request) -> Reply:
        self._left -= 1
        if self._left == 0:
            self.reached.set()
            assert self.go_on.wait(120)
        return demo_script(request)


def test_looking_works_while_a_run_is_live(tmp_path: Path) -> None:
    place, model = Place.make(tmp_path), Held(at=4)
    with ScriptedEndpoint(model) as endpoint:
        place.env |= endpoint.env()
        with place.start("go", "--no-goal", "make a md -> html script") as run:
            try:
                assert model.reached.wait(100)
                status = records(ok(place.run("status", "--json")))[0]
                [holder] = status["live"]
                [driven] = [step for step in status["steps"] if step["driven_by"]]
                assert holder["pid"] == run.pid and driven["driven_by"] == holder["run"]
                assert driven["stored"] and "at work in" in ok(place.run("status"))
                assert "确认需求" in ok(place.run("steps")) and "at work" in ok(place.run("sessions"))
                for words in (["show"], ["export"], ["show", "--json"]):
                    assert "md" in ok(place.run(*words, driven["step"]))
                assert "</html>" in ok(place.run("report", "-o", "-"))
                found = {r["name"]: r for r in records(ok(place.run("doctor", "--json")))}
                assert found["leftovers"]["ok"] and holder["run"] in found["runs"]["found"]
                refused = place.run("adopt", "/somewhere/else")
                assert refused.returncode == 6 and holder["run"] in refused.stderr
            finally:
                model.go_on.set()
                run.communicate(timeout=200)
        assert run.returncode == 0 and place.integrity() == "ok"
        endpoint.check()
    assert records(ok(place.run("status", "--json")))[0]["live"] == []


def test_damaged_books_are_named_and_what_can_be_read_is_shown(place: Place) -> None:
    (place.runs / "manifest.json").write_text('[{"step": "x"')
    status = records(ok(place.run("status", "--json")))[0]
    assert [Path(p["file"]).name for p in status["problems"]] == ["manifest.json"] and status["steps"][0][
        "stored"
    ]
    assert "manifest.json" in place.run("steps").stderr

    database = place.runs / "sessions.db"
    data = bytearray(database.read_bytes())
    data[:100] = b"x" * 100
    for path in place.runs.glob("sessions.db*"):
        path.unlink()
    database.write_bytes(data)
    before = snapshot(place.dir)
    assert "sessions.db" in ok(place.run("status")) and "sessions.db" in place.run("sessions").stderr
    shown = place.run("show", "干活")
    assert shown.returncode == 1 and "sessions.db" in shown.stderr and "Traceback" not in shown.stderr
    found = {r["name"]: r for r in records(ok(place.run("doctor", "--json"), 1)) if not r["ok"]}
    assert {"database", "lineage"} <= set(found) and all(r["todo"] for r in found.values())
    assert snapshot(place.dir) == before


def test_books_of_an_older_system(tmp_path: Path) -> None:
    place = Place.make(tmp_path)
    build_seed_books(place.runs, place.dir)
    assert SESSION in ok(place.run("status")) and "$1.50" in ok(place.run("steps"))
    [session] = records(ok(place.run("sessions", "--json")))
    assert session["steps"] == ["干活"] and session["subagents"] == 1 and session["current"]
    ok(place.run("show", "干活"))
    assert "$1.50" in ok(place.run("report", "-o", "-"))
    assert len(ok(place.run("export", "干活")).splitlines()) == 3
    database = {r["name"]: r for r in records(ok(place.run("doctor", "--json"), 1))}["database"]
    assert database["ok"] and "1 conversation" in database["found"]


def test_a_directory_that_was_never_used(tmp_path: Path) -> None:
    place = Place.make(tmp_path)
    for command in ("status", "steps", "sessions"):
        assert ok(place.run(command)).strip()
    assert place.run("show", "x").returncode == 1 and place.run("adopt").returncode == 2
    assert not list(place.dir.iterdir()), "a look makes nothing"


def test_a_large_session_is_read_page_by_page(tmp_path: Path) -> None:
    """72 MB in a process that may not have that much."""
    place = Place.make(tmp_path)
    store = SqliteSessionStore(place.runs / "sessions.db")
    key = {"project_key": "-p", "session_id": "large"}
    for n in range(72):
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"{n} " + "x " * 500_000}
        message = {"role": "user", "content": [result]}
        entry = {"type": "user", "uuid": f"u{n}", "isSidechain": True, "message": message}
        store.append_now({**key, "subpath": "subagents/agent-a"}, [entry])
    store.append_now(key, [{"type": "user", "uuid": "u"}])
    store.close()
    write_books(place.runs, place.dir, {}, [row("work", "large")])

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (60 << 20, 60 << 20))

    for words in ("sessions", "show large", "export large -o out.jsonl", "report -o page.html"):
        done = subprocess.run(
            [*FLOWER, *words.split()],
            cwd=place.dir,
            env=place.env,
            capture_output=True,
            preexec_fn=bound,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr[-2000:]
    assert (place.dir / "out" / "subagents" / "agent-a.jsonl").stat().st_size > 72_000_000


def test_tokens_are_masked_unless_asked_for(place: Place) -> None:
    key = {"project_key": "-p", "session_id": "secret-session"}
    store = SqliteSessionStore(place.runs / "sessions.db")
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": f"curl -H {TOKEN}"}}
    said = [{"type": "text", "text": f"the token is {TOKEN}"}, call]
    store.append_now(
        key, [{"type": "assistant", "uuid": "u", "message": {"role": "assistant", "content": said}}]
    )
    store.close()
    place.env["ANTHROPIC_AUTH_TOKEN"] = TOKEN
    for words in (
        ["show", "secret-session"],
        ["show", "secret-session", "--json"],
        ["export", "secret-session"],
    ):
        masked = ok(place.run(*words))
        assert TOKEN not in masked and "cdef" in masked
        assert ok(place.run(*words, "--raw")).count(TOKEN) == 2
    assert TOKEN not in place.run("doctor").stdout


def test_doctor_finds_what_a_killed_run_left(place: Place, tmp_path: Path) -> None:
    with ScriptedEndpoint(demo_script) as endpoint:
        place.env |= endpoint.env()
        healthy = place.run("doctor")
        assert healthy.returncode == 0, healthy.stdout
        left = place.runs / "live" / "00000000-0000-4000-8000-000000000000" / "config"
        left.mkdir(parents=True)
        found = {r["name"]: r for r in records(ok(place.run("doctor", "--json"), 1)) if not r["ok"]}
        assert set(found) == {"leftovers"} and not endpoint.requests, "nothing is sent"


def claude(
    place: Place, endpoint: ScriptedEndpoint, config: Path, *words: str
) -> subprocess.CompletedProcess[str]:
    """The real CLI, knowing nothing of flower."""
    env = {**place.env, **endpoint.env(), "CLAUDE_CONFIG_DIR": str(config), "IS_SANDBOX": "1"}
    env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
    words = (str(find_claude()), "-p", *words)
    return subprocess.run(words, cwd=place.dir, env=env, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)  # fmt: skip


@pytest.mark.parametrize("form", ["stdout", "file"])
def test_an_export_goes_on_in_plain_claude_code_and_comes_back(
    place: Place, tmp_path: Path, form: str
) -> None:
    source = tmp_path / "exported.jsonl"
    if form == "stdout":
        source.write_text(ok(place.run("export", "干活")))
    else:
        ok(place.run("export", "干活", "-o", str(source)))
        assert (tmp_path / "exported" / f"{AGENT}.jsonl").exists()
    with ScriptedEndpoint(lambda request: "Gone on.") as endpoint:
        done = claude(place, endpoint, place.home / "config", "--resume", str(source), "go on, please")
        assert done.returncode == 0 and "Gone on." in done.stdout, done.stderr + done.stdout
        sent = json.dumps([m for m in endpoint.requests[-1].request.body["messages"]])
        assert "delegate" in sent and "That went well." in sent and "go on, please" in sent

    other = Place.make(tmp_path / "other")
    brought = records(ok(other.run("import", str(source), "--json")))[0]
    assert brought["session_id"] == place.lineage["steps"]["干活"] and brought["subagents"] == 1
    assert other.lineage["steps"] == {"干活": brought["session_id"]}
    assert ok(other.run("show", "干活")).count("== subagent") == 1
    again = records(ok(other.run("import", str(source), "--json")))[0]
    assert again["session_id"] != brought["session_id"], "a second conversation is not mixed into the first"
    assert other.run("import", os.devnull).returncode == 2


def test_a_conversation_of_plain_claude_code_goes_on_as_the_work_step(tmp_path: Path) -> None:
    place, config = Place.make(tmp_path), tmp_path / "config"
    with ScriptedEndpoint(lambda request: "Marigold it is.") as endpoint:
        assert claude(place, endpoint, config, "The word is marigold.").returncode == 0
    [source] = config.glob("projects/*/*.jsonl")
    assert source.stem in ok(place.run("import", str(source)))
    with ScriptedEndpoint(demo_script) as endpoint:
        place.env |= endpoint.env()
        assert ok(place.run("go", "--no-goal", "make a md -> html script"))
        heard = [r.request.all_text for r in endpoint.requests if r.request.session_id == source.stem]
        assert heard and "The word is marigold." in heard[0] and "Marigold it is." in heard[0]
        endpoint.check()
    assert place.lineage["steps"]["干活"] == source.stem
