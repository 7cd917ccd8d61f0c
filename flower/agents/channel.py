"""The human channel: agents ask, the person answers or adds words, from any thread.

The core knows nothing of the SDK; :meth:`HumanChannel.server` dresses it up as an in-process MCP server.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from flower.agents.asklog import AskLog

State = Literal["answered", "timeout", "declined", "over_budget", "invalid"]

SENTENCES: dict[State, str] = {
    "answered": "The person answered: {answer}",
    "timeout": "Nobody answered in time. Decide yourself, write it down as an assumption, and go on.",
    "declined": "The person skipped this. Decide yourself, write it down as an assumption, and go on.",
    "over_budget": "No more questions may be put. Decide yourself, write it down as an assumption, go on.",
    "invalid": "The question could not be put: it needs a text, and options are texts. Ask again properly.",
}
"""What the model is told for each state."""

ALREADY = "The person answered this before: {answer}"
NO_WISHES = "Nothing new from the person."


@dataclass
class Question:
    """One question to the person.

    Attributes:
        id: unique within the channel, counted from 1.
        text: what is asked.
        options: answers to choose from; other words are an answer too.
        why: what depends on the answer, as the agent put it.
    """

    id: int
    text: str
    options: list[str] = field(default_factory=list)
    why: str = ""
    outcome: Future[Outcome] = field(default_factory=Future, repr=False)


@dataclass(frozen=True)
class Outcome:
    """How a question ended; ``answer`` is empty unless it was answered."""

    state: State
    answer: str = ""
    known: bool = False

    def sentence(self) -> str:
        """What the model reads."""
        return (ALREADY if self.known else SENTENCES[self.state]).replace("{answer}", self.answer)


class HumanChannel:
    """Questions to the person and words from the person.

    Args:
        max_asks: how many questions the agents may put in this process; ``None`` or a negative number is
            no limit, 0 none at all. Answers known from the log cost nothing.
        timeout_s: seconds to wait for an answer; ``None`` waits for ever, 0 or less means that nobody is
            there and every question resolves at once.
        log_path: file that every question and its end is appended to. A question that it holds an answer
            to is not asked again, so that a kill costs the person nothing.
        amend_path: the brief; words the person adds are appended to it, unless ``on_wish`` takes them.
        on_question: called, in the asking thread, when a question waits for the person.
        on_wish: called with the words the person added.
    """

    def __init__(
        self,
        max_asks: int | None = None,
        timeout_s: float | None = None,
        log_path: str | Path | None = None,
        amend_path: str | Path | None = None,
        *,
        on_question: Callable[[Question], None] | None = None,
        on_wish: Callable[[str], None] | None = None,
    ) -> None:
        self.max_asks = max_asks
        self.timeout_s = timeout_s
        self.amend_path = Path(amend_path) if amend_path else None
        self.on_question = on_question
        self.on_wish = on_wish
        self._log = AskLog(Path(log_path) if log_path else None)
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._asked = 0
        self._open: list[Question] = []
        self._wishes: list[str] = []

    # The agents' side.

    async def ask(self, text: str, options: Sequence[str] = (), why: str = "") -> Outcome:
        """Put a question and wait for its end. Cancelling it takes the question back."""
        text = text.strip() if isinstance(text, str) else ""
        if not text or not _are_texts(options):
            return self._closed(Question(0, text, [], why), Outcome("invalid"))
        question = Question(next(self._ids), text, [o.strip() for o in options if o.strip()], why)
        if (known := self.answered(text)) is not None:
            return Outcome("answered", known, known=True)
        if not self._may_ask():
            return self._closed(question, Outcome("over_budget"))
        return self._closed(question, await self._wait(question))

    async def confirm(self, text: str, options: Sequence[str]) -> str | None:
        """A question of flower's own: it costs no ask and is not looked up. ``None``: nobody answered."""
        question = Question(next(self._ids), text, list(options))
        outcome = self._closed(question, await self._wait(question))
        return outcome.answer if outcome.state == "answered" else None

    def take_wishes(self) -> str | None:
        """The words added since the last call, as told to the model; ``None`` without any."""
        with self._lock:
            wishes, self._wishes = self._wishes, []
        if not wishes:
            return None
        lines = "\n".join(f"- {w}" for w in wishes)
        return f"The person added (part of the task from now on; already in the brief):\n{lines}"

    # The person's side: any thread.

    def pending(self) -> Question | None:
        """The oldest question that waits for the person."""
        with self._lock:
            return next((q for q in self._open if not q.outcome.done()), None)

    def answer(self, qid: int, text: str) -> bool:
        """Answer a question: the number of an option, or any words; nothing but spaces skips it.

        Returns:
            False when it no longer waits.
        """
        question = self._find(qid)
        if question is None:
            return False
        words = text.strip()
        if not words:
            return self._resolve(question, Outcome("declined"))
        if words.isdecimal() and 1 <= int(words) <= len(question.options):
            words = question.options[int(words) - 1]
        return self._resolve(question, Outcome("answered", words))

    def decline(self, qid: int) -> bool:
        """Skip a question. False when it no longer waits."""
        question = self._find(qid)
        return question is not None and self._resolve(question, Outcome("declined"))

    def say(self, text: str) -> None:
        """Add a requirement: into the brief at once, to the agent at its next checkpoint.

        Raises:
            OSError: the brief could not be written; the agent hears of it all the same.
        """
        words = text.strip()
        if not words:
            return
        with self._lock:
            self._wishes.append(words)
        if self.on_wish:
            self.on_wish(words)
        elif self.amend_path:
            _amend(self.amend_path, words)

    def answered(self, question: str) -> str | None:
        """The answer that the log holds for this very question, of this run or an earlier one."""
        return self._log.answer_to(question)

    @property
    def attended(self) -> bool:
        """Whether a person may answer at all."""
        return self.timeout_s is None or self.timeout_s > 0

    def server(self) -> Any:
        """The MCP server ``human`` with its tools ``ask`` and ``inbox``, for ``mcp_servers``."""
        from flower.agents.human_server import build_server

        return build_server(self)

    # Inside.

    def _may_ask(self) -> bool:
        with self._lock:
            if self.max_asks is not None and 0 <= self.max_asks <= self._asked:
                return False
            self._asked += 1
            return True

    async def _wait(self, question: Question) -> Outcome:
        if not self.attended:
            return Outcome("timeout")
        with self._lock:
            self._open.append(question)
        try:
            if self.on_question:
                self.on_question(question)
            return await asyncio.wait_for(asyncio.wrap_future(question.outcome), self.timeout_s)
        except asyncio.TimeoutError:
            return Outcome("timeout")
        finally:
            # Also when the CLI interrupts the call: a question nobody waits for must not stay on the screen.
            with self._lock:
                if question in self._open:
                    self._open.remove(question)

    def _find(self, qid: int) -> Question | None:
        with self._lock:
            return next((q for q in self._open if q.id == qid), None)

    def _resolve(self, question: Question, outcome: Outcome) -> bool:
        with self._lock:
            if question not in self._open or question.outcome.done():
                return False
            self._open.remove(question)
            if outcome.state == "answered":
                # On disk before the model can see it: a kill after this line does not ask again.
                self._log.append(question.text, question.options, question.why, outcome.state, outcome.answer)
        try:
            question.outcome.set_result(outcome)
        except InvalidStateError:
            return False  # Timed out or interrupted in this very moment; the log still has the answer.
        return True

    def _closed(self, question: Question, outcome: Outcome) -> Outcome:
        if outcome.state != "answered":
            self._log.append(question.text, question.options, question.why, outcome.state, "")
        return outcome


def _are_texts(options: Any) -> bool:
    return isinstance(options, (list, tuple)) and all(isinstance(o, str) for o in options)


def _amend(path: Path, words: str) -> None:
    from flower.documents.brief import append_amendment
    from flower.locale import current

    # Before the brief is written it becomes a draft that holds nothing else: freezing the brief keeps it.
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(append_amendment(before, words, current()), encoding="utf-8")
    temporary.replace(path)
