"""What the chain's steps are told: in English, naming the language their documents are to be written in."""

from __future__ import annotations

from flower.workflow.plan import Told

LANGUAGE_NAMES = {"en": "English", "zh": "Chinese", "ko": "Korean"}

CLARIFY_RESUME = """\
Go on with the unfinished clarification of the requirements. This is the same conversation, interrupted:
do not start over and do not ask again what has been answered. When nothing that matters is open any more,
reply with the whole brief in its four sections."""
"""What a clarifier is told that a killed run left in the middle."""

CLARIFY_WORDS = """\
{resume}

Meanwhile the person has added, as part of the requirements:

{words}"""

CLARIFY_REQUEST = """\
This is the request, in the person's own words:

{request}

Clarify it as your instructions say, then reply with the whole brief in its four sections, written in
{language}."""

CLARIFY_DRAFT = """\

There is an unfinished draft of the brief from earlier; keep what it settles:

{draft}"""

CLARIFY_AGAIN = """\
The brief is not complete: these sections are missing or empty: {missing}. Ask what you still have to ask,
then reply with the whole brief again, all four sections in one reply: goal, acceptance, boundaries, unknowns
and assumptions."""

SET_GOAL_AGAIN = """\
This cannot be used as the goal: {problem}. Reply with the whole goal again: the statement, then a numbered
list of checks, one line each."""

WORK = """\
Do this, to the end, until every check below passes.

# The brief ({brief_path})

{brief}
{goal}"""

WORK_GOAL = """\

# The goal ({goal_path})

Somebody who has seen nothing of your work will judge the products by these checks:

{goal}
"""

WORDS_FOR_NEW = """\
{work}

# Said just now

{words}"""

WORDS = """\
{words}

(This adds to what you have been doing here; it also stands at the end of {brief_path} now{goal_note}.
Look at the current state of the files before you rely on what you remember.)"""

GOAL_NOTE = ", and the checks in {goal_path} have been derived again"

GO_ON = """\
Carry on from where you stopped; this is the same task. Look at the current state of the files and the
workbench first. The brief is {brief_path}{goal_note}; what has been added at its end is part of the task,
also if you have not heard of it yet. If nothing is left to do, say what is done and how it was checked."""

GO_ON_GOAL = ", the checks are in {goal_path}"

AMENDED = """\
{go_on}

The brief has grown since you last heard of it, and the checks were derived again. It now reads:

{brief}"""


def words_for(
    told: Told,
    *,
    request: str = "",
    words: str = "",
    brief: str = "",
    goal: str = "",
    brief_path: str = "",
    goal_path: str = "",
    language: str = "en",
) -> str:
    """The words that belong to a decision.

    Args:
        told: the decision.
        request, words: what the person asked for; what was typed at this wake.
        brief, goal: the current texts; without a goal nothing is said of checks.
        brief_path, goal_path: where they are, as the agent sees them.
        language: the language new documents are written in: ``en``, ``zh`` or ``ko``.

    Raises:
        ValueError: for a skipped step, and for the goal step, which has its own words.
    """
    goal_part = WORK_GOAL.format(goal_path=goal_path, goal=goal.strip()) if goal.strip() else ""
    if told == "request":
        asked = CLARIFY_REQUEST.format(request=request, language=LANGUAGE_NAMES.get(language, "English"))
        return asked + (CLARIFY_DRAFT.format(draft=brief.strip()) if brief.strip() else "")
    if told == "clarify_on":
        return CLARIFY_RESUME
    if told == "clarify_on_with_words":
        return CLARIFY_WORDS.format(resume=CLARIFY_RESUME, words=words)
    work = WORK.format(brief_path=brief_path, brief=brief.strip(), goal=goal_part).strip()
    if told == "work":
        return work
    if told == "work_with_words":
        return WORDS_FOR_NEW.format(work=work, words=words)
    if told == "words":
        note = GOAL_NOTE.format(goal_path=goal_path) if goal_part else ""
        return WORDS.format(words=words, brief_path=brief_path, goal_note=note)
    go_on = GO_ON.format(
        brief_path=brief_path, goal_note=GO_ON_GOAL.format(goal_path=goal_path) if goal_part else ""
    )
    if told == "go_on":
        return go_on
    if told == "go_on_amended":
        return AMENDED.format(go_on=go_on, brief=brief.strip())
    raise ValueError(f"there are no words here for {told!r}")
