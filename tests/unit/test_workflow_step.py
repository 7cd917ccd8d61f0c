"""A step that cannot work says so when it is written down, not after an hour of work."""

from __future__ import annotations

import pytest

from flower.agents.spec import AgentSpec
from flower.model import UsageError
from flower.workflow.step import Step, attempt_name, plain_name, say

SPEC = AgentSpec(name="s", instructions="x")


async def later(result, ctx):
    return ""


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"name": " "}, "must be a text that is not empty"),
        ({"name": "_woke"}, "begins with '_'"),
        ({"name": "A#round2"}, "kept for the names"),
        ({"name": "A·判定#1"}, "kept for the names"),
        ({"prompt": ""}, "the prompt is empty"),
        ({"prompt": 3}, "prompt must be a text or a function"),
        ({"resume_from": "A"}, "names the step itself"),
        ({"fork": True}, "needs resume_from"),
        ({"retries": -1}, "0 or more, not -1"),
        ({"retries": True}, "0 or more"),
        ({"on_fail": "ignore"}, "stop, skip or continue, not 'ignore'"),
        ({"gate": "yes"}, "gate must be a function, not str"),
        ({"reduce": later}, "reduce may not be async"),
        ({"on_reject": later}, "on_reject needs a gate"),
    ],
)
def test_a_value_that_cannot_be_is_named(fields, says):
    with pytest.raises(ValueError, match=says) as caught:
        Step(**{"name": "A", "spec": SPEC, "prompt": "do", **fields})
    assert isinstance(caught.value, UsageError)
    assert "step " in str(caught.value)


def test_attempts_are_told_apart_and_lead_back_to_the_step():
    assert [attempt_name("X", n, rejected=True) for n in (1, 2, 3)] == ["X", "X#round2", "X#round3"]
    assert [attempt_name("X", n, rejected=False) for n in (1, 2, 3)] == ["X", "X#retry1", "X#retry2"]
    assert {plain_name(n) for n in ("X", "X#round2", "X#retry1", "X·判定#3")} == {"X"}


def test_a_prompt_function_must_return_words():
    assert say(lambda ctx: ctx["a"], {"a": "hello"}) == "hello"
    with pytest.raises(UsageError, match="returned None"):
        say(lambda ctx: None, {})
