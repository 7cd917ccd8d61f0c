"""When a handoff is due, and how large a window is thought to be."""

from __future__ import annotations

import pytest

from flower import HandoffPolicy
from flower.runtime.handoff import Windows, default_window, policy_of, reported_window


@pytest.mark.parametrize(
    ("main", "opus", "window"),
    [
        ("", "", 1_000_000),
        ("claude-opus-5-5[1m]", "", 1_000_000),
        ("", "claude-opus-5-5-1M", 1_000_000),
        ("claude-haiku-5", "claude-opus-5-5[1m]", 200_000),
        ("claude-sonnet-5", "", 200_000),
        ("llama-31m", "", 200_000),
        ("1million", "", 200_000),
    ],
)
def test_the_guess(monkeypatch: pytest.MonkeyPatch, main: str, opus: str, window: int) -> None:
    monkeypatch.setenv("ANTHROPIC_MODEL", main)
    monkeypatch.setenv("ANTHROPIC_DEFAULT_OPUS_MODEL", opus)
    assert default_window() == HandoffPolicy().window == Windows(HandoffPolicy()).of(None) == window


def test_the_thresholds() -> None:
    policy = HandoffPolicy()
    assert (policy.enabled, policy.window, policy.headroom, policy.max_generations) == (
        True,
        1_000_000,
        50_000,
        8,
    )
    assert (policy.at, policy.warn_at) == (950_000, 930_000)
    small = HandoffPolicy(window=60_000)
    assert (small.at, small.warn_at) == (10_000, 1_000)
    # What the CLI reports can be smaller than what may be asked for.
    assert (policy.threshold(32_000), policy.warning(32_000)) == (10_000, 1_000)


@pytest.mark.parametrize(
    "bad", [{"window": 59_999}, {"window": 200_000, "headroom": 195_000}, {"max_generations": 0}]
)
def test_what_cannot_be_is_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="handoff"):
        HandoffPolicy(**bad)


def test_a_report_beats_a_guess_and_a_person_beats_both() -> None:
    guessing, told = Windows(HandoffPolicy()), Windows(HandoffPolicy(window=300_000))
    for windows in (guessing, told):
        windows.report(None, 500_000)
        windows.report("claude-haiku-5", 0)
    assert (guessing.of(None), guessing.of("claude-haiku-5"), guessing.of("x-1m")) == (
        500_000,
        200_000,
        1_000_000,
    )
    assert told.of(None) == told.of("claude-haiku-5") == 300_000


def test_a_report_lists_the_subagents_models_too() -> None:
    usage = {"big[1m]": {"contextWindow": 1_000_000}, "small": {"contextWindow": 200_000}}
    assert reported_window(usage, "big") == 1_000_000
    assert reported_window(usage, "small") == 200_000
    assert reported_window(usage, "other") == 0
    assert reported_window({"alias": {"contextWindow": 7}}, "other") == 7
    assert reported_window(None, "x") == reported_window({}, "x") == 0


def test_what_a_runtime_takes() -> None:
    policy = HandoffPolicy(window=100_000)
    assert policy_of(policy) is policy and policy.given
    assert policy_of(True).enabled and not policy_of(True).given and not policy_of(False).enabled
    with pytest.raises(TypeError):
        policy_of("yes")  # type: ignore[arg-type]
