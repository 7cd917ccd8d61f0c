"""Every way of losing the network, before, during and after a tool call, with the real CLI behind a proxy."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from flower import AgentSpec, Event, Resilience, Runtime
from flower.agents import roles
from flower.model import ConfigurationError, HumanInterrupt, NetworkGaveUp, StepResult
from flower.testing import HttpError, Reply, Request, ScriptedEndpoint, ToolUse
from tests.e2e.harness import Place, wait_for
from tests.proxy import Fault, Proxy, untrusted_tls

QUICK = Resilience(base_delay=0.01, max_delay=0.05, probe_interval=0.1, max_offline_wait=60)
ONCE = {"CLAUDE_CODE_MAX_RETRIES": "0", "API_TIMEOUT_MS": "1500"}
"""The CLI itself gives up at once, so that it is flower who waits and resumes."""

FAULTS = [
    Fault("refuse"),
    Fault("reset"),
    Fault("stall", seconds=1.0),
    Fault("drop", after=600),
    Fault("freeze", after=0, seconds=3.0),
    Fault("redirect"),
    Fault("html"),
    Fault("portal"),
]
ERRORS = ("API Error", "ECONN", "Bad Gateway", "HTML page", "malformed", "terminated early", "timed out")


def agents(request: Request) -> Reply | str:
    """A coordinator that hands out one task and a worker that runs one command."""
    if request.agent_id:
        return (
            "worker: two"
            if request.calls
            else Reply(blocks=[ToolUse("Bash", {"command": "echo two", "description": "x"})])
        )
    answers = [call.result or "" for call in request.calls]
    if any("worker: two" in answer for answer in answers):
        return "all done"
    return Reply(
        "on it", blocks=[ToolUse("Agent", {"description": "d", "prompt": "p", "subagent_type": "coder"})]
    )


def coordinator() -> AgentSpec:
    coder = AgentSpec("coder", "You code.", allowed_tools=["Bash"])
    return replace(roles.coordinator({"coder": coder}), env=ONCE)


def run(
    base: Path, env: dict[str, str], spec: AgentSpec, resilience: Resilience = QUICK
) -> tuple[StepResult, list[Event]]:
    os.environ.update(env)
    seen: list[Event] = []
    with Runtime(workspace=base / "ws", run_dir=base / "runs", resilience=resilience) as rt:
        row = asyncio.run(rt.run(spec, "build it", step_name="s", on_event=seen.append))
    return row, seen


def moments(place: str) -> Callable[[bytes], bool]:
    """Chooses the requests to lose: the coordinator's first, its worker's, or the one with the worker's answer."""

    def chosen(raw: bytes) -> bool:
        if place == "during":
            return b"x-claude-code-agent-id" in raw.lower()
        answered = b"worker: two" in raw
        return b"x-claude-code-agent-id" not in raw.lower() and answered == (place == "after")

    return chosen


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.kind)
def test_a_step_survives_a_fault_before_during_and_after_a_tool_call(fault: Fault, tmp_path: Path) -> None:
    with ScriptedEndpoint(agents) as endpoint:
        # What breaks a stream strikes twice: the CLI asks once more by itself, without streaming.
        times = 2 if fault.kind in ("drop", "portal") else 1
        places = ("before", "during", "after")
        proxies = [Proxy(endpoint, [fault] * times, when=moments(place)) for place in places]
        line = Proxy(endpoint)

        def pick(raw: bytes) -> Fault | None:
            return next((found for proxy in proxies if (found := proxy._fault_for(raw))), None)

        line._fault_for = pick  # type: ignore[method-assign]
        with line:
            row, seen = run(tmp_path, line.env(), coordinator())
        assert [len(proxy.hits) for proxy in proxies] == [times] * 3, "every fault has struck"
        assert row.ok and row.text == "all done" and row.attempts > 1, row
        check_requests(endpoint, lost=3 * times if fault.reached else 0)
        assert not [event for event in seen if event.kind == "text" and "API Error" in event.text]


def check_requests(endpoint: ScriptedEndpoint, lost: int = 0) -> None:
    """No request tells the model of an error, and none asks again for an answer that had come through.

    ``lost`` answers left the endpoint and never arrived.
    """
    endpoint.check()
    answered: set[str] = set()
    again = 0
    for record in endpoint.requests:
        text = record.request.all_text
        assert not [word for word in ERRORS if word in text], text[-500:]
        conversation = str(record.request.messages)
        again += conversation in answered
        if record.outcome == "sent":
            answered.add(conversation)
    assert again <= lost, "an answer was asked for twice"


def plain(request: Request) -> Reply | str:
    if request.calls:
        return "done"
    return Reply(blocks=[ToolUse("Bash", {"command": "sleep 0.5; echo one", "description": "x"})])


WORKER = AgentSpec("x", allowed_tools=["Bash"], env=ONCE)


def test_a_link_that_goes_in_a_tool_and_flaps_is_waited_for_without_a_word_in_between(tmp_path: Path) -> None:
    with ScriptedEndpoint(plain) as endpoint, Proxy(endpoint) as line:

        def flap() -> None:
            time.sleep(2.5)
            line.up()
            time.sleep(0.3)
            line.down()
            time.sleep(1.5)
            line.up()

        def on_event(event: Event) -> None:
            if event.kind == "tool_use":
                line.down()
                threading.Thread(target=flap).start()
            seen.append(event)

        seen: list[Event] = []
        os.environ.update(line.env())
        with Runtime(workspace=tmp_path / "ws", run_dir=tmp_path / "runs", resilience=QUICK) as rt:
            row = asyncio.run(rt.run(WORKER, "go", step_name="s", on_event=on_event))
        assert row.ok and row.text == "done" and row.attempts > 1
        waits = [event.data["state"] for event in seen if event.kind == "wait"]
        assert waits and waits == ["begin", "end"] * (len(waits) // 2), (
            "one line when it goes, one when it is back"
        )
        assert sum("echo one" in r.request.all_text for r in endpoint.requests) == len(endpoint.requests) - 1
        check_requests(endpoint)


def test_a_name_that_resolves_while_no_connection_comes_about_is_waited_for_and_given_up(
    tmp_path: Path,
) -> None:
    with ScriptedEndpoint(plain) as endpoint, Proxy(endpoint) as line:
        env = line.env() | {"ANTHROPIC_BASE_URL": f"http://localhost:{line.port}"}
        line.down()
        patience = replace(QUICK, max_offline_wait=0.5)
        with pytest.raises(NetworkGaveUp) as gave_up:
            run(tmp_path, env, WORKER, patience)
        assert gave_up.value.exit_code == 75
        # The same directory goes on once the network is back.
        line.up()
        row, _seen = run(tmp_path, env, WORKER)
        assert row.ok and not endpoint.problems


def test_ctrl_c_ends_the_wait_for_the_network(tmp_path: Path) -> None:
    with ScriptedEndpoint(plain) as endpoint, Proxy(endpoint) as line:
        line.down()
        os.environ.update(line.env())
        with Runtime(workspace=tmp_path / "ws", run_dir=tmp_path / "runs", resilience=QUICK) as rt:

            def on_event(event: Event) -> None:
                if event.kind == "wait":
                    rt.quit()

            with pytest.raises(HumanInterrupt):
                asyncio.run(rt.run(WORKER, "go", step_name="s", on_event=on_event))
            assert rt.manifest.rows()[-1]["error"] == "interrupted-by-human"


def test_words_said_while_the_network_is_away_go_on_in_the_same_session(tmp_path: Path) -> None:
    with ScriptedEndpoint(plain) as endpoint, Proxy(endpoint) as line:
        os.environ.update(line.env())
        with Runtime(workspace=tmp_path / "ws", run_dir=tmp_path / "runs", resilience=QUICK) as rt:

            def on_event(event: Event) -> None:
                if event.kind == "tool_use" and not heard:
                    heard.append(event.session_id)
                    line.down()
                elif event.kind == "wait" and event.data["state"] == "begin":
                    rt.interrupt("and in blue")
                    line.up()

            heard: list[str] = []
            row = asyncio.run(rt.run(WORKER, "go", step_name="s", on_event=on_event))
        assert row.ok and row.session_id == heard[0]
        assert "and in blue" in endpoint.requests[-1].request.all_text
        check_requests(endpoint)


def test_a_machine_that_slept_goes_on(tmp_path: Path) -> None:
    """Everything is stopped in the middle of an answer, and the connection does not survive it."""

    def slow(request: Request) -> Reply | str:
        return replace(Reply("word " * 40), chunk_delay=0.3) if len(endpoint.requests) < 2 else "done"

    with ScriptedEndpoint(slow) as endpoint, Proxy(endpoint) as line:
        place = Place.make(tmp_path, line.env())
        sleeper = place.start("once", "go")
        wait_for(lambda: endpoint.requests, 60.0, "the first request")
        time.sleep(0.5)
        tree = [*psutil.Process(sleeper.pid).children(recursive=True), psutil.Process(sleeper.pid)]
        for process in tree:
            process.send_signal(signal.SIGSTOP)
        line.down()
        line.up()
        time.sleep(1.0)
        for process in tree:
            process.send_signal(signal.SIGCONT)
        out, _err = sleeper.communicate(timeout=120)
        assert sleeper.returncode == 0 and out.strip() == "done"
        assert place.integrity() == "ok"
        check_requests(endpoint)


REFUSED = [
    HttpError(401, message="invalid x-api-key"),
    HttpError(400, message="Your credit balance is too low to access the Anthropic API."),
    HttpError(402, message="billing"),
    HttpError(403, message="OAuth authentication is currently not allowed for this organization."),
    HttpError(400, message="This organization has been disabled."),
    HttpError(404, message="model: claude-nope"),
]


@pytest.mark.parametrize("error", REFUSED, ids=lambda e: f"{e.status} {e.message[:12]}")
def test_a_refusal_stops_at_once(error: HttpError, tmp_path: Path) -> None:
    with (
        ScriptedEndpoint(default=Reply(error=error)) as endpoint,
        pytest.raises(ConfigurationError) as refused,
    ):
        run(tmp_path, endpoint.env(), WORKER)
    assert refused.value.exit_code == 5
    assert len({record.request.session_id for record in endpoint.requests}) == 1, "one CLI start"


@contextmanager
def self_signed(base: Path) -> Iterator[int]:
    pem = base / "both.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-keyout", str(base / "key"), "-out", str(base / "cert")],
        check=True, capture_output=True,
    )  # fmt: skip
    pem.write_bytes((base / "key").read_bytes() + (base / "cert").read_bytes())
    with untrusted_tls(str(pem)) as port:
        yield port


def test_tls_that_is_intercepted_stops_at_once_through_the_command(tmp_path: Path) -> None:
    with self_signed(tmp_path) as port:
        env = {"ANTHROPIC_BASE_URL": f"https://127.0.0.1:{port}", "ANTHROPIC_API_KEY": "sk-test"}
        done = Place.make(tmp_path, env).run("once", "go")
    assert done.returncode == 5, done.stderr
    assert "certificate" in done.stderr.lower() and "Traceback" not in done.stderr


def test_retry_after_is_honoured_and_shown(tmp_path: Path) -> None:
    replies = [Reply(error=HttpError(429, headers={"retry-after": "2"})) for _ in range(3)]
    spec = replace(WORKER, env={"CLAUDE_CODE_MAX_RETRIES": "2"})
    with ScriptedEndpoint(lambda request: replies.pop() if replies else "done") as endpoint:
        row, seen = run(tmp_path, endpoint.env(), spec)
    assert row.ok and row.attempts == 2
    retries = [event.data["delay_s"] for event in seen if event.kind == "retry"]
    assert len(retries) == 3, "two of the CLI, shown as they happen, and flower's own"
    assert min(retries) >= 2.0, "also flower's own wait, whose backoff would be 0.05 s"


def test_a_limit_with_an_end_is_waited_for_and_costs_no_attempt(tmp_path: Path) -> None:
    ends = int(time.time()) + 4
    error = HttpError(429, message=f"usage limit reached|{ends}", headers={"x-should-retry": "false"})
    patience = replace(QUICK, max_attempts=1)
    with ScriptedEndpoint(lambda request: "done" if time.time() >= ends else Reply(error=error)) as endpoint:
        row, _seen = run(tmp_path, endpoint.env(), WORKER, patience)
    assert row.ok and time.time() >= ends


def test_a_limit_that_ends_too_late_gives_up_at_once(tmp_path: Path) -> None:
    error = HttpError(
        429, message=f"usage limit reached|{int(time.time()) + 90_000}", headers={"x-should-retry": "false"}
    )
    with ScriptedEndpoint(default=Reply(error=error)) as endpoint, pytest.raises(NetworkGaveUp):
        run(tmp_path, endpoint.env(), WORKER)
    assert len(endpoint.requests) == 1


def test_a_limit_whose_end_nobody_understands_is_polled_until_it_is_too_long(tmp_path: Path) -> None:
    error = Reply(
        error=HttpError(
            429, message="limit reached, resets at full moon", headers={"x-should-retry": "false"}
        )
    )
    left = [error, error]
    patience = replace(QUICK, max_attempts=1)
    with ScriptedEndpoint(lambda request: left.pop() if left else "done") as endpoint:
        row, _seen = run(tmp_path, endpoint.env(), WORKER, patience)
        assert row.ok and row.attempts == 3
    with ScriptedEndpoint(default=error) as endpoint, pytest.raises(NetworkGaveUp):
        run(tmp_path / "b", endpoint.env(), WORKER, replace(QUICK, max_offline_wait=0.15))
