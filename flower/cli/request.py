"""What is to be done: from the command line, else asked, else what the directory remembers."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from flower.books.wake import REQUEST, notes_directory, wake_state
from flower.cli.keyboard import Keyboard, Typed
from flower.cli.options import Settings
from flower.cli.screen import PROMPT
from flower.locale import _
from flower.model import HumanInterrupt, UsageError

CLARIFY = "确认需求"
NEW = "/new"


@dataclass(frozen=True)
class Wish:
    """What a person wants.

    Attributes:
        words: the request; empty = carry on.
        new: archive what the directory remembers first.
    """

    words: str
    new: bool = False


def ask_for_request(wish: Wish, settings: Settings, keyboard: Typed | None, *, isolate: bool) -> Wish:
    """Complete the wish; asks only on a terminal.

    Raises:
        UsageError: no request, nothing to carry on and nobody to ask.
        HumanInterrupt: the end of input at the prompt.
    """
    if wish.words:
        return wish
    if not wish.new and can_carry_on(settings, isolate=isolate):
        if keyboard is None:
            return wish
        typed = _ask(keyboard, _("Carry on? Enter = carry on; or say something new; /new = start over"))
        if typed.split()[:1] != [NEW]:
            return Wish(typed)
        wish = Wish(typed.removeprefix(NEW).strip(), new=True)
    if wish.words:
        return wish
    if keyboard is None:
        raise UsageError(
            _("there is nothing to carry on here; say what to do:"), hint='flower "make a md -> html script"'
        )
    words = ""
    while not words:
        words = _ask(keyboard, _("What is to be done? One sentence will do (Ctrl-C: leave)"))
    return Wish(words, wish.new)


def can_carry_on(settings: Settings, *, isolate: bool) -> bool:
    """Whether the directory remembers a brief, a clarification that was not finished, or a request nobody heard."""
    state = wake_state(settings.workspace, run_dir=settings.run_dir, isolate=isolate)
    unheard = notes_directory(settings.workspace, isolate=isolate) / REQUEST
    return bool(state["waking"]) or CLARIFY in state["steps"] or unheard.exists()


def _ask(keyboard: Typed, question: str) -> str:
    prompt = PROMPT if isinstance(keyboard, Keyboard) else ""  # a typing line shows its own
    print(f"{question}\n{prompt}", end="", file=sys.stderr, flush=True)
    line = keyboard.read_line()
    if line is None:
        raise HumanInterrupt(_("nothing was said"))
    return line.strip()
