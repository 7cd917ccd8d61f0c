"""One named stage of a workflow: who does it, what they are told, when it counts as done."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from flower.locale import _
from flower.model import StepResult, UsageError
from flower.workflow.protocol import Context

OnFail = Literal["stop", "skip", "continue"]
Prompt = str | Callable[[Context], str]
Gate = Callable[[StepResult, Context], "bool | Awaitable[bool]"]
When = Callable[[Context], "bool | Awaitable[bool]"]
OnReject = Callable[[StepResult, Context], "str | Awaitable[str]"]
Reduce = Callable[[StepResult, Context], str]

JUDGE_MARK = "·判定#"
_SUFFIX = re.compile(r"(#retry\d+|#round\d+|·判定#\d+)$")


@dataclass(frozen=True)
class Step:
    """A stage. Its name is the key under which the next process finds the session again.

    Attributes:
        name: unique in the workflow. A renamed step is cut off from its past: the next run starts it afresh.
        spec: the ``AgentSpec`` of the agent that does it.
        prompt: what a new session is told, or a function of the context that makes it.
        resume_from: the step whose session this one goes on with; ``None`` means a session of its own, which
            a continuous workflow takes up again in the next process.
        fork: go on in a branch of that session and leave the original as it is.
        retries: further attempts after the first one failed or was rejected.
        gate: looks at an ``ok`` result, once an attempt, and says whether it counts. May be async.
        on_fail: when the attempts are used up: ``stop`` ends the workflow, ``skip`` goes on without
            ``ctx[name]``, ``continue`` goes on with the text there is.
        when: whether the step runs at all. May be async.
        on_reject: what the same session is told after the gate said no; without it a retry starts over.
            May be async.
        resume_prompt: what a session continued from an earlier process is told instead of the full prompt.
        reduce: what goes into ``ctx[name]`` instead of the result's text. Not async.

    Raises:
        UsageError: (a ValueError) for a value that cannot be, naming it.
    """

    name: str
    spec: Any
    prompt: Prompt
    resume_from: str | None = None
    fork: bool = False
    retries: int = 0
    gate: Gate | None = None
    on_fail: OnFail = "stop"
    when: When | None = None
    on_reject: OnReject | None = None
    resume_prompt: Prompt | None = None
    reduce: Reduce | None = None

    def __post_init__(self) -> None:
        for problem in self._problems():
            raise UsageError(_("step {name!r}: {problem}").format(name=self.name, problem=problem))

    def _problems(self) -> list[str]:
        found: list[str] = []
        if not isinstance(self.name, str) or not self.name.strip():
            found.append(_("the name must be a text that is not empty"))
        elif self.name.startswith("_"):
            found.append(_("a name that begins with '_' would hide one of the workflow's own keys"))
        elif _SUFFIX.search(self.name):
            found.append(_("'#retryN', '#roundN' and '·判定#N' are kept for the names of its attempts"))
        if isinstance(self.prompt, str) and not self.prompt.strip():
            found.append(_("the prompt is empty"))
        found.extend(
            _("{field} must be a text or a function of the context, not {type}").format(
                field=field, type=type(value).__name__
            )
            for field, value in (("prompt", self.prompt), ("resume_prompt", self.resume_prompt or ""))
            if not (isinstance(value, str) or callable(value))
        )
        if self.resume_from == self.name:
            found.append(_("resume_from names the step itself; a continuous workflow needs no such hint"))
        if self.fork and self.resume_from is None:
            found.append(_("fork=True needs resume_from: there is nothing to branch off"))
        if isinstance(self.retries, bool) or not isinstance(self.retries, int) or self.retries < 0:
            found.append(_("retries must be 0 or more, not {value!r}").format(value=self.retries))
        if self.on_fail not in get_args(OnFail):
            problem = _("on_fail must be stop, skip or continue, not {value!r}")
            found.append(problem.format(value=self.on_fail))
        found.extend(
            _("{field} must be a function, not {type}").format(field=field, type=type(value).__name__)
            for field in ("gate", "when", "on_reject", "reduce")
            if (value := getattr(self, field)) is not None and not callable(value)
        )
        if inspect.iscoroutinefunction(self.reduce):
            found.append(_("reduce may not be async: it only shortens a text"))
        if self.on_reject is not None and self.gate is None:
            found.append(_("on_reject needs a gate: nothing else rejects a result"))
        return found


def say(prompt: Prompt, ctx: Context) -> str:
    """The words of a prompt in this context."""
    words = prompt if isinstance(prompt, str) else prompt(ctx)
    if not isinstance(words, str) or not words.strip():
        raise UsageError(_("a prompt function returned {value!r} instead of a text").format(value=words))
    return words


def attempt_name(step: str, attempt: int, *, rejected: bool) -> str:
    """The manifest's name of the n-th attempt: ``X``, ``X#round2`` (sent back) or ``X#retry1`` (anew)."""
    if attempt == 1:
        return step
    return f"{step}#round{attempt}" if rejected else f"{step}#retry{attempt - 1}"


def plain_name(name: str) -> str:
    """The step's own name without the suffix of an attempt or of a judge's round."""
    while (shorter := _SUFFIX.sub("", name)) != name:
        name = shorter
    return name
