"""The model of ``flower demo``: plays every role of the chain, as a function of the request alone.

It keeps nothing between requests: killed and started again, or asked a second time, it goes on from what the
conversation and the tool results in it say. The judge decides from the files it has read, so a product broken
by hand is rejected.
"""

from __future__ import annotations

import re

from flower.scripted import product, verdict
from flower.scripted.request import Request
from flower.scripted.script import Reply, ToolUse
from flower.scripted.worker import work

ASK = "mcp__human__ask"
QUESTION = "Should the HTML be a complete page, or a fragment to paste into one?"
PAGE, FRAGMENT = "A complete page", "A fragment"

_ROLE = re.compile(r"You are flower's (\w+)")
_ANSWER = re.compile(r"The person answered[^:]*:(.*)", re.DOTALL)
_SENT_BACK = re.compile(r"(The goal is not reached yet|A judge called the goal unreachable).*", re.DOTALL)
_WORDS_ADDED = "This adds to what you have been doing here"


def demo_script(request: Request) -> Reply:
    """The reply to any request of the chain."""
    role = role_of(request)
    if role == "worker":
        return work(request)
    if role == "clarifier":
        return _clarify(request)
    if role == "judge":
        judging = any("Judge the goal." in text for text in request.user_texts)
        return verdict.judge(request) if judging else Reply(verdict.goal(page=wants_page(request)))
    if role == "coordinator":
        return _coordinate(request)
    return Reply(
        "This is the scripted model of flower's demo: it only knows how to play the demo's own chain."
    )


def role_of(request: Request) -> str:
    """Who is asked: ``clarifier``, ``coordinator``, ``worker``, ``judge``, ``oracle``, or nothing."""
    if request.agent_id is not None:
        return "worker"
    found = _ROLE.search(request.system_text)
    return found[1] if found else ""


def wants_page(request: Request) -> bool:
    """Whether the conversation settles on a complete page: the assumption when nobody answers."""
    return "a fragment without" not in request.all_text


def _clarify(request: Request) -> Reply:
    asked = [c for c in request.calls if c.name == ASK]
    settled = [c for c in asked if c.result and not c.is_error and "interrupted" not in c.result.lower()]
    # A question cut off by a kill is asked again, once: somebody may be there by now.
    if not settled and len(asked) < 2:
        ask = {"question": QUESTION, "options": [PAGE, FRAGMENT], "why": "It decides what the script prints."}
        return Reply("One thing decides how it is built, so I ask.", blocks=[ToolUse(ASK, ask)])
    said = _ANSWER.search(settled[-1].result or "") if settled else None
    fragment = said is not None and re.search(r"\bfragment\b", said[1], re.IGNORECASE)
    return Reply(_brief(page=not fragment, known=said is not None))


def _brief(*, page: bool, known: bool) -> str:
    shape = "a complete HTML page" if page else "a fragment without <html> around it"
    source = "as answered" if known else "assumed, nobody answered"
    return f"""\
## Goal

A shell script `{product.SCRIPT}` that turns a markdown file into {shape}.

## Acceptance

- `sh {product.SCRIPT} {product.SAMPLE} > {product.OUTPUT}` works, and the sample and its output are kept.
- Headings, paragraphs, lists and fenced code come out as HTML.
- Special characters in the text stay text.

## Boundaries

- POSIX sh and awk only; nothing to install, no network.
- Links, tables and inline emphasis are left out.

## Unknowns and assumptions

- The output is {shape} ({source}).
"""


def _coordinate(request: Request) -> Reply:
    results = request.last_tool_results.by_name.get("Agent")
    said = request.prompt
    if results and not said:
        return _report("\n".join(results))
    tasks = [c for c in request.calls if c.name == "Agent"]
    if not tasks:
        return _send(request, "write", "I send a worker to write the converter and to run it.")
    sent_back = _SENT_BACK.search(said)
    if sent_back:
        return _send(request, "fix", "The work was sent back. I pass on what is missing.", sent_back[0])
    text = (
        f"Continuing where we left off: this conversation has sent out {len(tasks)} task(s) before. "
        "I have the product run again before I say anything about it."
    )
    if _WORDS_ADDED in said:
        text += " What was added now is beyond a scripted model; a real one would do it."
    return _send(request, "check", text)


def _send(request: Request, task: str, text: str, missing: str = "") -> Reply:
    shape = "a complete page" if wants_page(request) else "a fragment without <html>"
    script, sample, output = product.SCRIPT, product.SAMPLE, product.OUTPUT
    what = {
        "write": f"write {script}, a markdown to HTML converter in POSIX sh and awk that makes {shape}; "
        f"write {sample} with headings, text, a list and code; run it into {output}.",
        "fix": f"repair {script} (it makes {shape}) and run it into {output} again.",
        "check": f"run {script} (it makes {shape}) into {output} again; repair what fails.",
    }[task]
    prompt = f"Task: {task}\n\nIn the workspace: {what}"
    if missing:
        prompt += f"\n\nThis is missing:\n\n{missing}"
    call = {
        "description": f"{task} {script}",
        "prompt": prompt + "\n\nReply with conclusion, evidence, output, unverified.",
        "subagent_type": "worker",
        "run_in_background": False,
    }
    return Reply(text, blocks=[ToolUse("Agent", call)])


def _report(worker_said: str) -> Reply:
    if "Conclusion: done" not in worker_said:
        return Reply(f"The worker could not finish it. It says:\n\n{worker_said}")
    return Reply(
        f"`{product.SCRIPT}` is there and has run: `{product.OUTPUT}` is what it made of `{product.SAMPLE}`."
    )
