"""The first step: ask until the requirements are clear, then freeze them as the brief."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flower.agents import roles
from flower.agents.channel import HumanChannel
from flower.documents.brief import HEADINGS, Brief
from flower.locale import _, current
from flower.model import Event, StepResult
from flower.workflow.documents import freeze_brief, read
from flower.workflow.plan import CLARIFY
from flower.workflow.protocol import Context
from flower.workflow.step import Prompt, Step, When
from flower.workflow.told import CLARIFY_AGAIN, CLARIFY_RESUME, words_for
from flower.workflow.workflow import emit

__all__ = ["CLARIFY_RESUME", "clarify_step"]


def clarify_step(
    channel: HumanChannel | None,
    brief_path: str | Path,
    request: str = "",
    *,
    spec: Any = None,
    prompt: Prompt | None = None,
    resume_prompt: Prompt = CLARIFY_RESUME,
    retries: int = 2,
    when: When | None = None,
) -> Step:
    """The step ``确认需求``: a clarifier asks through ``channel`` and replies with the brief.

    The brief is written to ``brief_path`` only when all four sections are there; until then the same session
    is told what is missing, at most ``retries`` times, and then the step fails.

    Args:
        channel: the ``HumanChannel`` that puts its questions; the runtime must have the same one. ``None``:
            nobody is asked and everything open is assumed.
        brief_path: where the brief is frozen; the directory is made.
        request: what the person asked for; needed unless ``prompt`` says it.
        spec: another agent than ``roles.clarify``.
        prompt: other words for a new session.
        resume_prompt: what a session is told that an earlier process left unfinished.
        retries: how often an incomplete brief is sent back.
        when: whether the step runs; by default while the brief is not complete.
    """
    path = Path(brief_path)

    def asked(ctx: Context) -> str:
        return words_for("request", request=request, brief=read(path), language=current())

    def complete(result: StepResult, ctx: Context) -> bool:
        lacking = Brief.parse(result.text).lacking
        if not lacking:
            freeze_brief(path, result.text)
            return True
        names = ", ".join(HEADINGS[current()][key] for key in lacking)
        ctx["_why"] = _("the clarification ended without a complete brief; missing: {names}").format(
            names=names
        )
        emit(ctx, Event("notice", ctx["_why"], step=result.step, session_id=result.session_id))
        return False

    def again(result: StepResult, ctx: Context) -> str:
        lacking = Brief.parse(result.text).lacking
        return CLARIFY_AGAIN.format(missing=", ".join(HEADINGS["en"][key] for key in lacking))

    return Step(
        CLARIFY,
        spec or roles.clarify(),
        prompt or asked,
        retries=retries,
        gate=complete,
        when=when or (lambda ctx: not Brief.parse(read(path)).complete),
        on_reject=again,
        resume_prompt=resume_prompt,
        reduce=lambda result, ctx: read(path),
    )
