"""The line that can be typed on while a run works: nothing typed is lost, whatever happens around it."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from flower.scripted.demo import demo_script, role_of
from flower.testing import Reply, Request, ScriptedEndpoint, ToolUse
from tests.conftest import clean_environment
from tests.e2e.harness import FLOWER, Place, wait_for
from tests.e2e.screens import Terminal

ASK = "mcp__human__ask"
PASTED = "\n".join(f"pasted line {n}" for n in range(200))
WIDE_AND_LEFTWARD = "干活שלום" * 6
SIZES = [(40, 12), (120, 40), (20, 6), (80, 24)]
TYPED_ON = "> add a wish, or ?... to ask aside"


class Busy:
    """Asks one question, then talks without end until ``enough`` is set.

    Attributes:
        held: the clarifier's first reply waits until it is cleared.
        told: what the talking session has been told.
    """

    def __init__(self, workspace: Path, *, held: bool = False) -> None:
        self.enough = False
        self.held = held
        self.told = ""
        self._workspace = workspace

    def __call__(self, request: Request) -> Reply:
        role = role_of(request)
        if role == "oracle":
            return Reply("It pours, and all is well.")
        if role == "clarifier" and self.held:
            return self._look()
        if role == "clarifier" and not any(call.name == ASK for call in request.calls):
            return Reply(blocks=[ToolUse(ASK, {"question": "Which colour?", "options": ["red", "green"]})])
        if role == "clarifier":
            return demo_script(request)
        self.told = request.all_text
        turn = len(request.calls)
        if self.enough:
            return Reply("All poured.")
        lines = "\n".join(f"turn {turn} line {n} and a few words more" for n in range(6))
        return Reply(lines, blocks=self._look().blocks, delay=0.05)

    def _look(self) -> Reply:
        return Reply(blocks=[ToolUse("Glob", {"pattern": "*.none"})], delay=0.2)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    here = tmp_path / "project"
    here.mkdir()
    return here


def test_a_person_types_while_output_pours_and_nothing_is_lost(place: Path) -> None:
    model = Busy(place, held=True)
    told = place.parent / "told"
    notify = f'echo "$FLOWER_EVENT|$FLOWER_TEXT|$FLOWER_STATUS|$FLOWER_EXIT_CODE" >>{told}'
    words = ("--no-goal", "--notify", notify, "make it")
    with (
        ScriptedEndpoint(model) as endpoint,
        Terminal(place, *words, env=endpoint.env(), size=(80, 24)) as at,
    ):
        # Before there is a brief.
        at.wait("> Glob: *.none")
        at.enter("it must be early")
        at.wait("++ added: it must be early")
        model.held = False
        at.wait("2) green")
        at.wait(lambda: at.picture().endswith(QUESTION))
        at.enter("2")
        at.wait("answered: green")

        # While output pours.
        at.wait("turn 2 line")
        at.type("use a ta")
        at.wait("> use a ta")
        at.enter("ble")
        at.wait("++ added: use a table")
        at.enter("？how is it going")
        at.wait("?> how is it going")
        at.wait("<? It pours, and all is well.")
        at.paste(PASTED)
        at.wait("\npasted line 192\n")  # the last eight rows of it are shown
        at.enter()
        at.wait("++ added: pasted line 0")
        at.wait("... (194 more lines)")

        # While the window changes its size twenty times a second.
        for n in range(len(WIDE_AND_LEFTWARD)):
            at.type(WIDE_AND_LEFTWARD[n])
            at.resize(*SIZES[n % 4])
            at.pump(0.05)
        at.enter()
        at.wait(f"++ added: {WIDE_AND_LEFTWARD}")
        at.wait(lambda: TYPED_ON in at.rows)
        # What is said in the last turn waits for the next run.
        at.wait(lambda: WIDE_AND_LEFTWARD in model.told)
        model.enough = True
        assert at.end() == 0
        assert at.modes() == at.modes_before
        assert at.raw.count("\x1b[?2004h") >= 1 and at.raw.rstrip().endswith("\x1b[?2004l")
        assert "Traceback" not in at.raw

    # Every line of the model's has been on the screen, once.
    words_shown = (
        r"turn\s+(\d+)\s+line\s+(\d+)\s+and\s+a\s+few\s+words\s+more"  # folded where the window was narrow
    )
    lines = re.findall(words_shown, at.raw)
    turns = int(lines[-1][0]) + 1
    assert lines == [(str(t), str(n)) for t in range(turns) for n in range(6)]
    brief = Place(place, place.parent).note("需求.md")
    typed = ["it must be early", "use a table", *PASTED.split("\n"), WIDE_AND_LEFTWARD]
    assert [line.strip(" -") for line in brief.partition("## Added")[2].split("\n")[1:] if line] == typed
    assert all(words in model.told for words in typed[1:])
    # The side question has books of its own, and the run never hears of it.
    assert "how is it going" not in "".join(
        r.request.all_text for r in endpoint.requests if role_of(r.request) != "oracle"
    )
    assert (place / "runs" / "aside" / "manifest.json").exists()
    assert [r["step"] for r in Place(place, place.parent).rows] == ["确认需求", "干活"]
    wait_for(lambda: told.read_text().count("\n") == 2)
    assert told.read_text().splitlines() == ["question|Which colour?||", "end|All poured.|ok|0"]
    history = place.parent / "home" / ".local" / "state" / "flower" / "history"
    assert history.stat().st_mode & 0o777 == 0o600 and "+use a table\n" in history.read_text("utf-8")


# The line about the tool before it stands above it, not between its options and where it is answered.
QUESTION = """\
?? Which colour?
   1) red
   2) green
?? Which colour?
> a number picks, Enter skips, anything else is your answer
.. 确认需求 1/2 | 0:00 | $0.00 | context 0.0K of 1.0M"""


def test_a_terminal_that_closes_saves_what_was_typed_and_nohup_outlives_it(place: Path) -> None:
    model = Busy(place)
    with ScriptedEndpoint(model) as endpoint:
        env = endpoint.env()
        here = Place(place, place.parent / "home", clean_environment(place.parent / "home", **env))
        with Terminal(place, "--no-goal", "make it", env=env) as at:
            at.wait("2) green")
            at.enter("1")
            at.wait("turn 1 line")
            at.enter("use a table")
            at.wait("++ added: use a table")
            at.type("never sent")
            at.hang_up()
            at.child.wait()
            assert at.child.signalstatus == signal.SIGHUP
        assert [r["error"] for r in here.rows] == ["", "killed-by-signal"]
        assert "use a table" in here.note("需求.md") and "never sent" not in here.note("需求.md")
        wait_for(lambda: not here.tree())

        # Started so that a hangup is ignored, it works on unseen.
        with Terminal(place, "--no-goal", env=env, ignored=[signal.SIGHUP]) as at:
            at.wait("Carry on?")
            at.enter()
            at.wait("<- continued | wake 2")
            at.wait("turn ")
            at.hang_up()
            asked = len(endpoint.requests)
            wait_for(lambda: len(endpoint.requests) > asked + 5)
            model.enough = True
            wait_for(lambda: len(here.rows) == 3 and not here.tree())
        assert here.rows[-1]["ok"] and here.rows[-1]["text"] == "All poured."


def test_ctrl_z_and_back_in_a_shell(place: Path) -> None:
    model = Busy(place)
    with ScriptedEndpoint(model) as endpoint:
        shell = ("--norc", "--noprofile", "-i")
        env = {**endpoint.env(), "PS1": "sh> "}
        with Terminal(place, *shell, env=env, program="/bin/bash") as at:
            at.enter(f"{FLOWER[0]} once 'pour it'")
            at.wait("turn 1 line")
            at.type("half a li")
            at.wait("> half a li")
            at.ctrl("z")
            at.wait("Stopped")
            at.enter("echo al$((1+1))ve")
            at.wait("al2ve")
            at.enter("fg")
            at.wait(lambda: at.rows[-2].startswith("> half a li"))
            at.ctrl("u")
            at.enter("?are you there")
            at.wait("<? It pours, and all is well.")

            # In the background it goes on, and leaves the terminal to the shell even when it ends there.
            at.ctrl("z")
            at.wait(lambda: at.text.count("Stopped") == 2)
            at.enter("bg")
            turns = at.text.count("turn ")
            at.wait(lambda: at.text.count("turn ") > turns + 6)
            model.enough = True
            at.wait("== ad-hoc: done")
            at.enter("wait; jobs; echo al$((1+2))ve")
            at.wait("Done")
            at.wait("al3ve")
            assert "tty output" not in at.text and "Traceback" not in at.text
            at.enter("exit")
            assert at.end() == 0
