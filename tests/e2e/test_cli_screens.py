"""What a run looks like, line by line: a narrow terminal, and one without colours that cannot move its cursor."""

from __future__ import annotations

from pathlib import Path

import pytest

from flower.scripted.demo import role_of
from flower.testing import HttpError, Reply, Request, ScriptedEndpoint, ToolUse
from tests.e2e.chain_model import BRIEF
from tests.e2e.handing import DOCUMENT, asked_for_handoff, generation
from tests.e2e.screens import Terminal

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[6n\x1b]52;c;cm0=\x07\x9b31m\x1b[?1049h\u202e"
# It lasts long enough for the status line to be seen with it.
COMMAND = "printf '\\033[2J\\033]0;owned\\007clear\\n'; sleep 1.5"


class Eventful:
    """Overloaded once, sends a worker, fills its context, is handed off, and speaks in three directions."""

    def __init__(self) -> None:
        self.overloaded = False

    def __call__(self, request: Request) -> Reply:
        role = role_of(request)
        if role == "worker":
            call = ToolUse("Bash", {"command": COMMAND, "description": HOSTILE})
            return Reply(
                "The part is done." if request.last_tool_results else "",
                blocks=() if request.last_tool_results else [call],
            )
        if role != "coordinator":
            return Reply(BRIEF, usage={"input_tokens": 500})
        if asked_for_handoff(request):
            return Reply(DOCUMENT["en"], usage={"input_tokens": 21_000})
        if generation(request):
            text = f"{HOSTILE}It is finished. 全部完成了，没有剩下的事情。 " + "שלום עולם " * 4
            return Reply(text, usage={"input_tokens": 900})
        if not self.overloaded:
            self.overloaded = True
            return Reply(error=HttpError(529, headers={"retry-after": "1"}))
        if not request.calls:
            task = {"description": "the first part", "prompt": "do a part", "subagent_type": "worker"}
            return Reply("I send somebody.", blocks=[ToolUse("Agent", task)], usage={"input_tokens": 12_000})
        return Reply(
            "Nearly there.", blocks=[ToolUse("Bash", {"command": "ls"})], usage={"input_tokens": 21_000}
        )


NARROW = """\

== 确认需求 ======================  1/2
## Goal
A file that says hello.

## Acceptance
- It is there and greets.

## Boundaries
No network.

## Unknowns and assumptions
none
== 确认需求: done  0:00 | $0.00 |
   context 500

== 干活 ==========================  2/2
-- trying again (1 of 2) in 1 s: over...
-- the context is nearly full
I send somebody.
> Agent: the first part
    > Bash: printf '\\033[2J\\033]0;own...
Nearly there.
> Bash: ls
-- the context is full: writing a han...
## Doing
part one is done

## Decided
regex stays

## Dead ends
yacc is too slow

## Next
part two
-- handed off to a new session: .flow...
It is finished.
全部完成了，没有剩下的事情。 שלום עולם
שלום עולם שלום עולם שלום עולם
== 干活: done  0:00 | $0.00 | context
   900"""
WIDE = (
    NARROW.replace(" ======================  1", " ==========================  1")
    .replace(" ==========================  2", " ==============================  2")
    .replace(" |\n   context 500", " | context 500")
    .replace("context\n   900", "context 900")
    .replace("over...", "overloaded")
    .replace("own...", "owned\\007clear\\n'; sleep 1.5")
    .replace("writing a han...", "writing a handoff")
    .replace(".flow...", ".flower/notes/交接-干活.md")
    .replace(
        "It is finished.\n全部完成了，没有剩下的事情。 שלום עולם\n",
        "It is finished. 全部完成了，没有剩下的事情。 שלום עולם ",
    )
)


@pytest.mark.parametrize(
    ("size", "env", "expected"),
    [((40, 50), {}, NARROW), ((100, 50), {"TERM": "dumb", "NO_COLOR": "1"}, WIDE)],
    ids=["narrow", "dumb"],
)
def test_a_run_as_it_is_read(
    tmp_path: Path, size: tuple[int, int], env: dict[str, str], expected: str
) -> None:
    place = tmp_path / "project"
    place.mkdir()
    words = ("--no-goal", "--window", "70000", "make it")
    with (
        ScriptedEndpoint(Eventful()) as endpoint,
        Terminal(place, *words, env={**endpoint.env(), **env}, size=size) as at,
    ):
        seen = []
        while at.pump():
            seen.append(at.picture())
        assert at.end() == 0
        assert at.picture() == expected
        endpoint.check()
    # It lives: who is at work, on what, for how long, for how much.
    assert any(".. 确认需求 1/2 | 0:00" in picture for picture in seen)
    if not env:
        assert any("\n.. 干活 2/2 | 0:00 | Bash" in picture or "| 1 subagent" in picture for picture in seen)
        assert any("\n.. 干活 2/2 | 0:00 | $0.00" in picture for picture in seen)
    # Nothing of what the model and its tool said has driven the terminal.
    for sequence in ("\x1b]0", "\x1b[2J", "\x1b[6n", "\x1b]52", "\x9b", "\x1b[?1049", "\u202e"):
        assert sequence not in at.raw
    assert ("\x1b[1m" in at.raw) is (not env)
    assert "\x1b" not in at.raw or not env
