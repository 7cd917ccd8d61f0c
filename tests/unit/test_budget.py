"""What a run has spent: counters that reset or accumulate, estimates from tokens, the account across processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from claude_agent_sdk import AssistantMessage, TextBlock

from flower.books.ledger import Ledger
from flower.runtime.budget import Budget
from flower.runtime.meter import Counter, Meter, share_of
from flower.runtime.prices import PRICES, UNKNOWN_MODEL, cost_of, price_of
from tests.faults import Fault, faulty_files

MODEL = "claude-opus-4-8"
READ = {"input_tokens": 100_000}


def answer(
    message_id: str, text: str = "x", usage: dict[str, int] | None = None, agent: str | None = None
) -> AssistantMessage:
    return AssistantMessage(
        [TextBlock(text)],
        MODEL,
        parent_tool_use_id=agent,
        usage=READ if usage is None else usage,
        message_id=message_id,
    )


@pytest.mark.parametrize(
    ("readings", "total"),
    [
        ([], 0.0),
        ([0.5], 0.5),
        ([0.5, 0.8], 0.8),
        ([0.5, 0.2], 0.7),
        ([0.5, 0.8, 0.1, 0.4], 1.2),
        ([0.5, None, 0.6], 0.6),
    ],
)
def test_a_counter_that_starts_again_is_summed(readings: list[float | None], total: float) -> None:
    counter = Counter()
    for reading in readings:
        counter.note(reading)
    assert counter.total == pytest.approx(total) and counter.read == bool(readings)


@pytest.mark.parametrize(
    ("reading", "before", "estimate", "cost"),
    [
        (0.5, 0.0, 0.5, 0.5),  # nothing before
        (0.5, 2.0, 0.5, 0.5),  # less than before: it has begun at zero
        (2.5, 2.0, 0.5, 0.5),  # the whole session's
        (2.5, 2.0, 2.4, 2.5),  # this process's
        (2.0, 2.0, 0.0, 0.0),  # nothing was asked
        (2.5, 2.0, 0.6, 0.5),  # an estimate need not be exact
    ],
)
def test_a_counter_of_the_whole_session_is_told_from_one_of_the_process(
    reading: float, before: float, estimate: float, cost: float
) -> None:
    assert share_of(reading, before, estimate) == pytest.approx(cost)


def test_the_parts_of_one_answer_cost_once_and_those_of_subagents_too() -> None:
    told: list[float] = []
    meter = Meter(told.append)
    for message in (
        answer("a"),
        answer("a"),
        answer("b", agent="t1"),
        answer("c", agent="t2"),
        answer("b", agent="t1"),
    ):
        meter.note(message)
    assert meter.estimate == pytest.approx(1.5, rel=0.001)
    meter.note(answer("d"))
    assert meter.estimate == pytest.approx(2.0, rel=0.001) and told == sorted(told)


def test_what_is_written_counts_before_the_endpoint_has_counted_it() -> None:
    meter = Meter()
    for _part in range(3):
        meter.note(answer("a", "word " * 30_000, usage={"input_tokens": 0, "output_tokens": 1}))
    assert meter.estimate == pytest.approx(3 * 150_000 / 3 * 25 / 1e6)


def test_errors_of_the_connection_cost_nothing() -> None:
    meter = Meter()
    meter.note(
        AssistantMessage([TextBlock("API Error: 529")], "<synthetic>", error="server_error", usage=READ)
    )
    assert meter.estimate == 0 and meter.cost() == (0.0, False)


def test_without_a_counter_the_estimate_is_the_cost_and_says_so() -> None:
    meter = Meter()
    meter.note(answer("a"))
    cost, estimated = meter.cost()
    assert estimated and cost == pytest.approx(0.5, rel=0.001)
    meter.counter.note(0.47)
    assert meter.cost() == (0.47, False)


def test_names_of_models() -> None:
    assert (
        price_of("claude-opus-4-8-20260101")
        == price_of("us.anthropic.claude-opus-4-8-v1:0")
        == PRICES["claude-opus-4-8"]
    )
    assert price_of("gateway/claude-sonnet-5-5[1m]") == PRICES["claude-sonnet-5-5"]
    assert price_of("something else") == UNKNOWN_MODEL
    assert cost_of({"cache_read_input_tokens": 1_000_000}, "claude-opus-5-5") == pytest.approx(0.2)


def test_an_account_outlives_the_process_and_is_settled_at_the_end(tmp_path: Path) -> None:
    notices: list[str] = []
    ledger = Ledger(tmp_path, notice=notices.append)
    first = Budget(1.0, ledger, "run1")
    first.charge("step", 0.25)
    first.charge("step", 0.5)  # an amount replaces the one before
    first.charge("judge", 0.25)
    assert first.spent == 0.75 and first.remaining == 0.25
    second = Budget(2.0, Ledger(tmp_path, notice=notices.append), "run2")
    assert second.spent == 0.75 and second.remaining == 1.25
    second.charge("step", 1.25)
    assert second.remaining == 0.0
    assert json.loads((tmp_path / "ledger.json").read_text())["runs"] == {"run1": 0.75, "run2": 1.25}
    second.settle()
    second.settle()
    assert Budget(1.0, ledger, "run3").spent == 0.0 and not notices


def test_two_runs_under_one_account_lose_nothing_of_each_other(tmp_path: Path) -> None:
    one = Budget(9.0, Ledger(tmp_path, notice=print), "a")
    two = Budget(9.0, Ledger(tmp_path, notice=print), "b")
    for amount in range(1, 4):
        one.charge("x", amount)
        two.charge("x", amount)
    assert Budget(9.0, Ledger(tmp_path, notice=print), "c").spent == 6.0


def test_a_damaged_account_is_set_aside_and_said(tmp_path: Path) -> None:
    (tmp_path / "ledger.json").write_bytes(b'{"runs": {"a"')
    notices: list[str] = []
    assert Ledger(tmp_path, notice=notices.append).spent_by_others("x") == 0.0
    assert len(notices) == 1 and len(list(tmp_path.glob("ledger.json.damaged-*"))) == 1


@pytest.mark.parametrize("persistent", [False, True])
def test_a_failing_disk_ends_no_run_and_leaves_no_half_account(tmp_path: Path, persistent: bool) -> None:
    for kind in ("EIO", "ENOSPC", "EROFS"):
        for n in range(1, 40):
            place = tmp_path / f"{kind}{n}{persistent}"
            place.mkdir()
            Budget(5.0, Ledger(place, notice=print), "old").charge("x", 1.0)
            notices: list[str] = []
            with faulty_files(Fault(n, kind, persistent)) as fault:
                budget = Budget(5.0, Ledger(place, notice=notices.append), "new")
                budget.charge("x", 1.0)
                budget.charge("x", 2.0)
            assert budget.spent == 3.0, "in memory it is kept whatever the disk does"
            runs = json.loads((place / "ledger.json").read_text())["runs"]
            assert runs["old"] == 1.0 and runs.get("new", 0.0) in (0.0, 1.0, 2.0)
            if not fault.hit:
                assert runs["new"] == 2.0 and not notices
                break
            if persistent:
                assert len(notices) == 1, notices
        else:
            pytest.fail("the loop over n never came to its end")
