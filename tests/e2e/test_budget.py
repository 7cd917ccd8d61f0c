"""One limit for a whole run, with the real CLI: never exceeded by more than one request, and not forgotten by a kill."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flower import AgentSpec, Runtime
from flower.agents import roles
from flower.model import BudgetSpent
from flower.runtime.prices import PRICES, cost_of
from flower.scripted.demo import demo_script
from flower.testing import Reply, Request, ScriptedEndpoint, ToolUse
from tests.e2e.harness import Place, wait_for

DIME = {
    "input_tokens": 25_000,
    "output_tokens": 0,
    "cache_read_input_tokens": 0,
    "cache_creation_input_tokens": 0,
}
"""A request of ten cents with the CLI's default model."""


def busy(request: Request) -> Reply:
    """Runs one command after another, at ten cents each, until told that it is enough."""
    if len(request.calls) >= 8:
        return Reply("done", usage=DIME)
    return Reply(
        blocks=[ToolUse("Bash", {"command": f"echo {len(request.calls)}", "description": "x"})], usage=DIME
    )


def runtime(base: Path, endpoint: ScriptedEndpoint, **options: Any) -> Runtime:
    os.environ.update(endpoint.env())
    return Runtime(workspace=base / "ws", run_dir=base / "runs", handoff=False, **options)


WORKER = AgentSpec("x", allowed_tools=["Bash"])


def test_a_step_ends_within_one_request_of_the_limit_and_goes_on_with_a_larger_one(tmp_path: Path) -> None:
    with ScriptedEndpoint(busy) as endpoint:
        with (
            runtime(tmp_path, endpoint, budget_usd=0.35) as rt,
            pytest.raises(BudgetSpent, match=r"\$0\.40 of \$0\.35"),
        ):
            asyncio.run(rt.run(WORKER, "go", step_name="s"))
        assert len(endpoint.requests) == 4
        row = rt.results[-1]
        assert not row.ok and row.cost_usd == pytest.approx(0.4) and "budget spent" in row.error
        with runtime(tmp_path, endpoint, budget_usd=0.4) as rt, pytest.raises(BudgetSpent):
            asyncio.run(rt.run(WORKER, "more", step_name="s", resume=row.session_id))
        assert len(endpoint.requests) == 4, "an account that is spent pays no request"
        with runtime(tmp_path, endpoint, budget_usd=9.0) as rt:
            last = asyncio.run(rt.run(WORKER, "more", step_name="s", resume=row.session_id))
            assert rt.budget is not None and rt.budget.spent == pytest.approx(0.4 + last.cost_usd)
        assert last.ok and last.cost_usd == pytest.approx(0.1 * (len(endpoint.requests) - 4))
        with runtime(tmp_path, endpoint, budget_usd=0.05) as rt:
            assert rt.budget is not None and rt.budget.spent == 0.0, "an end settles the account"
        endpoint.check()


def test_subagents_count_while_they_work(tmp_path: Path) -> None:
    def script(request: Request) -> Reply:
        if request.agent_id:
            return busy(request)
        done = Reply("done", usage=DIME)
        return (
            done
            if request.calls
            else Reply(
                blocks=[ToolUse("Agent", {"description": "d", "prompt": "p", "subagent_type": "w"})],
                usage=DIME,
            )
        )

    spec = roles.coordinator({"w": AgentSpec("w", "Work.", allowed_tools=["Bash"])})
    with ScriptedEndpoint(script) as endpoint, runtime(tmp_path, endpoint, budget_usd=0.45) as rt:
        with pytest.raises(BudgetSpent):
            asyncio.run(rt.run(spec, "go", step_name="s"))
        assert rt.total_cost == pytest.approx(0.1 * len(endpoint.requests)) and rt.total_cost < 0.56


def test_all_steps_of_a_run_share_the_limit(tmp_path: Path) -> None:
    with (
        ScriptedEndpoint(default=Reply("fine", usage=DIME)) as endpoint,
        runtime(tmp_path, endpoint, budget_usd=0.2) as rt,
    ):
        for _n in range(2):
            assert asyncio.run(rt.run(WORKER, "go", step_name="s")).ok
        with pytest.raises(BudgetSpent):
            asyncio.run(rt.run(WORKER, "go", step_name="s"))
        assert len(endpoint.requests) == 2


def test_an_agents_own_limit_fails_its_step_alone(tmp_path: Path) -> None:
    with ScriptedEndpoint(busy) as endpoint, runtime(tmp_path, endpoint, budget_usd=9.0) as rt:
        row = asyncio.run(rt.run(replace(WORKER, max_budget_usd=0.25), "go", step_name="s"))
        assert not row.ok and "alone" in row.error and row.attempts == 1
        assert 0.25 <= row.cost_usd <= 0.36


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-sonnet-4-6"])
def test_the_prices_are_those_of_the_clis_counter(model: str, tmp_path: Path) -> None:
    usage = {
        "input_tokens": 1000,
        "output_tokens": 100,
        "cache_read_input_tokens": 5000,
        "cache_creation_input_tokens": 700,
    }
    with ScriptedEndpoint(default=Reply("x", usage=usage)) as endpoint, runtime(tmp_path, endpoint) as rt:
        row = asyncio.run(rt.run(AgentSpec("x", model=model), "go", step_name="s"))
    assert model in PRICES and row.cost_usd == pytest.approx(cost_of(usage, model))
    assert not row.cost_estimated and "cost_estimated" not in row.as_row("r")


def stuck(request: Request) -> Reply:
    """Two requests of ten cents, then silence."""
    return busy(request) if len(request.calls) < 2 else Reply("late", delay=60)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_run_is_costed_and_the_next_one_counts_it(number: signal.Signals, tmp_path: Path) -> None:
    with ScriptedEndpoint(stuck) as endpoint:
        place = Place.make(tmp_path, endpoint.env())
        run = place.start("--no-goal", "--budget", "5", "do it")
        wait_for(lambda: len(endpoint.requests) >= 3, 60.0, "the request that hangs")
        wait_for(lambda: '"runs"' in ledger(place), 10.0, "the ledger")
        run.send_signal(number)
        run.communicate(timeout=30)
        assert run.returncode == -number
        if number == signal.SIGTERM:
            row = place.rows[-1]
            assert row["error"] == "killed-by-signal" and row["cost_estimated"] is True
            assert row["cost_usd"] == pytest.approx(0.2, rel=0.05)
        done = place.run("--no-goal", "--budget", "0.15")
        assert done.returncode == 4, done.stderr
        assert "$0.20 of $0.15" in done.stderr and "Traceback" not in done.stderr
        assert len(endpoint.requests) == 3


def ledger(place: Place) -> str:
    path = place.runs / "ledger.json"
    return path.read_text() if path.exists() else ""


def paid_demo(request: Request) -> Reply:
    return replace(demo_script(request), usage=DIME)


def test_exit_4_says_what_is_left_and_a_larger_limit_goes_on_to_the_end(tmp_path: Path) -> None:
    with ScriptedEndpoint(paid_demo) as endpoint:
        place = Place.make(tmp_path, endpoint.env())
        stopped = place.run("--json", "--budget", "0.75", "make a md -> html script")
        assert stopped.returncode == 4, stopped.stderr
        assert "Left to do: " in stopped.stderr and "干活" in stopped.stderr and "--budget" in stopped.stderr
        spent = 0.1 * len(endpoint.requests)
        assert spent < 0.75 + 0.11, "never more than one request over"
        assert '"status": "budget-spent"' in stopped.stdout.replace('":"', '": "')
        first = {row["session_id"] for row in place.rows}
        done = place.run("--budget", "50")
        assert done.returncode == 0, done.stderr
        assert sum(row["cost_usd"] for row in place.rows) == pytest.approx(0.1 * len(endpoint.requests))
        assert first & {row["session_id"] for row in place.rows[len(first) :]}, "the same session went on"
        assert not ledger(place), "the end of the chain settles the account"
        endpoint.check()
