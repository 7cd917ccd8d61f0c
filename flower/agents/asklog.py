"""The log of questions and answers: Markdown for a person, and where the channel looks answers up."""

from __future__ import annotations

import os
import time
from pathlib import Path

from flower.config.secrets import Masker

_HEAD, _QUESTION, _ANSWER = "### ", "Q: ", "A: "
_INDENT = "   "


class AskLog:
    """Appends one block a question::

        ### 2026-12-01 10:20:30 answered
        Q: Which colour?
           (1) red (2) blue
        A: red

    Args:
        path: the file; ``None`` keeps the answers for this process only.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._answers = _parse(_read(path)) if path else {}

    def answer_to(self, question: str) -> str | None:
        """The last answer to this question, spaces and line ends aside."""
        return self._answers.get(_key(question))

    def append(self, question: str, options: list[str], why: str, state: str, answer: str) -> None:
        """Write one block through to the disk. A log that cannot be written costs a second question later."""
        if state == "answered":
            self._answers[_key(question)] = answer
        if self._path is None:
            return
        lines = [f"{_HEAD}{time.strftime('%Y-%m-%d %H:%M:%S')} {state}", _QUESTION + _indented(question)]
        if options:
            lines.append(_INDENT + "options: " + " | ".join(" ".join(o.split()) for o in options))
        if why:
            lines.append(_INDENT + "why: " + " ".join(why.split()))
        if answer:
            lines.append(_ANSWER + _indented(answer))
        data = (Masker()("\n".join(lines)) + "\n\n").encode("utf-8", "replace")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            pass  # The answer itself is on its way to the model; stopping the run would lose more.


def _key(question: str) -> str:
    return " ".join(question.split())


def _indented(text: str) -> str:
    return f"\n{_INDENT}".join(text.strip().splitlines())


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # Not there yet, or not readable: nothing is known.


def _parse(text: str) -> dict[str, str]:
    """Question → answer for every answered block; the last one counts."""
    answers: dict[str, str] = {}
    for block in f"\n{text}".split(f"\n{_HEAD}")[1:]:
        question, answer = _block(block.splitlines()[1:])
        if question and answer:
            answers[_key(question)] = answer
    return answers


def _block(lines: list[str]) -> tuple[str, str]:
    parts: dict[str, list[str]] = {_QUESTION: [], _ANSWER: []}
    current: list[str] | None = None
    for line in lines:
        mark = line[: len(_QUESTION)]
        if mark in parts:
            current = parts[mark]
            current.append(line[len(mark) :])
        elif current is not None and line.startswith(_INDENT):
            current.append(line[len(_INDENT) :])
    question = [q for q in parts[_QUESTION] if not q.startswith(("options: ", "why: "))]
    return "\n".join(question).strip(), "\n".join(parts[_ANSWER]).strip()
