"""Waiting: how long, for what, until when, and what ends it."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from claude_agent_sdk import AssistantMessage, RateLimitEvent, RateLimitInfo, SystemMessage, TextBlock

from flower.model import Event, NetworkGaveUp, StepResult
from flower.runtime import recovery
from flower.runtime.attempt import Outcome
from flower.runtime.flight import Flight
from flower.runtime.resilience import Resilience
from flower.runtime.signs import LOST_AGENT, Signs

QUICK = Resilience(base_delay=0.01, max_delay=0.02, probe_interval=0.05, max_offline_wait=5.0)


def retry(attempt: int, milliseconds: float) -> SystemMessage:
    return SystemMessage("api_retry", {"attempt": attempt, "retry_delay_ms": milliseconds})


def answer(**fields: Any) -> AssistantMessage:
    return AssistantMessage([TextBlock("x")], "claude-x", **fields)


def flight(seen: list[Event] | None = None) -> Flight:
    made = Flight(StepResult("s", attempts=1), None if seen is None else seen.append)
    made.bind()
    return made


def failed(error: str = "socket hang up", **fields: Any) -> Outcome:
    return Outcome("failed", error, **fields)


@pytest.mark.parametrize(("attempt", "middle"), [(1, 4), (2, 8), (5, 64), (6, 120), (60, 120)])
def test_the_backoff(attempt: int, middle: float) -> None:
    delays = [Resilience().delay(attempt) for _ in range(200)]
    assert middle * 0.75 <= min(delays) < max(delays) <= middle * 1.25


def test_only_a_wait_that_was_asked_for_counts_as_one() -> None:
    signs = Signs()
    signs.note(retry(1, 620))
    signs.note(retry(2, 1200))
    assert (signs.retries, signs.retry_after) == (2, 0.0)
    signs.note(retry(2, 20_500))
    assert signs.retry_after == 20.5
    signs.note(answer())
    assert signs.answered and (signs.retries, signs.retry_after) == (0, 0.0)


def test_a_subagents_answer_and_an_error_are_no_answer() -> None:
    signs = Signs()
    signs.note(answer(parent_tool_use_id="toolu_1"))
    signs.note(answer(error="rate_limit"))
    assert not signs.answered and signs.kind == "rate_limit"


def test_a_reported_limit() -> None:
    signs = Signs()
    for status, resets_at in (("rejected", 1764604800.0), ("allowed", None)):
        signs.note(RateLimitEvent(RateLimitInfo(status, resets_at=1764604800), "u", "s"))  # type: ignore[arg-type]
        assert signs.resets_at == resets_at


@pytest.mark.parametrize(
    "shape", [str, lambda t: [{"type": "text", "text": t}], lambda t: {"content": [{"text": t}]}]
)
def test_a_lost_subagent_is_seen_whatever_the_shape_of_its_result(shape: Any) -> None:
    signs, text = Signs(), f"{LOST_AGENT}: API Error: Connection dropped"
    signs.note_results([{"tool_name": "Agent", "tool_response": shape(f"Error: {text}")}])
    assert signs.lost == text
    for name, said in (("Bash", text), ("Agent", "I have read about: " + "x" * 100 + LOST_AGENT)):
        other = Signs()
        other.note_results([{"tool_name": name, "tool_response": shape(said)}])
        assert not other.lost, "prose that mentions it is no error"


def test_an_answer_restores_the_attempts_and_an_unknown_error_does_not() -> None:
    async def scenario(outcomes: list[Outcome]) -> list[bool]:
        step, went_on = flight(), []
        os.environ["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{port}"
        runtime = SimpleNamespace(resilience=replace(QUICK, max_attempts=3), has_session=lambda sid: True)
        for outcome in outcomes:
            following = await recovery.after_failure(runtime, step, outcome, LAUNCH)  # type: ignore[arg-type]
            went_on.append(following is not None)
        return went_on

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        fails, works = failed(), failed(answered=True)
        assert asyncio.run(scenario([fails, fails, fails])) == [True, True, False]
        assert asyncio.run(scenario([fails, fails, works, fails, fails])) == [True, True, True, True, False]
        odd = failed("something odd", answered=True)
        assert asyncio.run(scenario([odd, odd, odd])) == [True, True, False]


LAUNCH = recovery.Launch("p", "p")


class Clock:
    """The time of day of a machine that sleeps for an hour while somebody waits."""

    def __init__(self) -> None:
        self.slept = 0.0

    def time(self) -> float:
        return time.time() + self.slept


def test_a_wait_for_a_time_of_day_ends_when_the_machine_has_slept_through_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(recovery, "time", clock)
    monkeypatch.setattr(recovery, "LOOK_AT_THE_CLOCK_SECONDS", 0.02)

    async def scenario() -> None:
        asyncio.get_running_loop().call_later(0.05, setattr, clock, "slept", 3600.0)
        ends = clock.time() + 1800
        await asyncio.wait_for(recovery._until(flight(), Resilience(), ends, "limit"), 30)

    asyncio.run(scenario())


def test_the_same_limit_named_again_at_its_end_is_polled_not_waited_for_a_day() -> None:
    async def scenario() -> None:
        step, text = flight(), f"usage limit reached|{time.time() - 1:.0f}"
        await recovery._wait(step, QUICK, failed(text))
        assert step.patience.limit == text and step.patience.polled == 0.0
        await recovery._wait(step, QUICK, failed(text))
        assert step.patience.polled == QUICK.probe_interval
        with pytest.raises(NetworkGaveUp):
            await recovery._wait(step, replace(QUICK, max_offline_wait=0.06), failed(text))

    asyncio.run(scenario())


def test_a_stop_ends_every_kind_of_wait() -> None:
    async def scenario(outcome: Outcome) -> None:
        step = flight()
        threading.Timer(0.1, step.stop).start()
        await asyncio.wait_for(recovery._wait(step, patient, outcome), 30)
        assert step.stopping

    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        os.environ["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        patient = replace(QUICK, base_delay=60, max_delay=60, probe_interval=60, max_offline_wait=600)
        for outcome in (
            failed(),
            failed("limit reached, resets at full moon"),
            failed(f"usage limit reached|{time.time() + 300:.0f}"),
        ):
            asyncio.run(scenario(outcome))


def test_after_one_whole_wait_in_vain_one_attempt_is_left() -> None:
    async def scenario() -> list[Event]:
        seen: list[Event] = []
        step = flight(seen)
        short = replace(QUICK, max_offline_wait=0.06)
        assert await recovery._wait(step, short, failed())
        with pytest.raises(NetworkGaveUp):
            await recovery._wait(step, short, failed())
        return [event for event in seen if event.kind == "wait"]

    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        os.environ["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        assert [event.data["state"] for event in asyncio.run(scenario())] == ["begin"], "said once"
