"""Events as lines for a person: plain text, ASCII marks, subagents indented, one line that shows life."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

from flower.cli.phrases import dollars, header, seconds, tokens
from flower.cli.screen import Screen
from flower.cli.terminal import printable, shorten, width, wrap
from flower.locale import _, ngettext
from flower.model import Event

TICK_SECONDS = 1.0
"""How often the status line is drawn; a person may wait at most 2 s for a sign of life."""

AGENT_INDENT = 4
RESULT_LINES = 12
"""Lines of a tool result or a thought that ``-v`` shows."""

RECEIPT_LINES = 6
"""Lines of what a person typed that are shown to them as received."""
SUBAGENT_TOOLS = ("Agent", "Task")
ASKING_TOOLS = ("mcp__human__ask", "mcp__human__inbox")

_MAIN_INPUTS = (
    "command",
    "file_path",
    "pattern",
    "path",
    "description",
    "question",
    "url",
    "query",
    "prompt",
)


def tool_line(tool: str, arguments: Any) -> str:
    """``Bash: python x.py``: the tool and the one argument that says most."""
    if not isinstance(arguments, dict):
        return tool
    for name in _MAIN_INPUTS:
        if isinstance(value := arguments.get(name), str) and value.strip():
            return f"{tool}: {value}"
    return f"{tool}: {json.dumps(arguments, ensure_ascii=False)}" if arguments else tool


class Console:
    """A listener for events.

    Args:
        screen: where they are shown.
        verbose: thoughts and tool results too.
        quiet: only what a person must see: questions, side questions, notices and errors.
        cost: US dollars the run has cost so far.
    """

    def __init__(
        self,
        screen: Screen,
        *,
        verbose: bool = False,
        quiet: bool = False,
        cost: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.screen = screen
        self.last_text = ""
        self._verbose = verbose
        self._quiet = quiet
        self._step = ""
        self._place = ""
        self._inside = ""
        self._started = time.monotonic()
        self._cost = cost
        self._context = self._window = 0
        self._tool = ""
        self._subagents: set[str] = set()
        self._stop = threading.Event()
        self._ticker = threading.Thread(target=self._tick, name="status line", daemon=True)
        self._show: dict[str, Callable[[Event], None]] = {
            "run": self._on_run,
            "step": self._on_step,
            "text": self._on_text,
            "thinking": self._on_thinking,
            "tool_use": self._on_tool_use,
            "tool_result": self._on_tool_result,
            "usage": self._on_usage,
            "question": self._on_question,
            "answer": self._on_answer,
            "wish": self._on_wish,
            "verdict": self._on_verdict,
            "handoff": self._on_handoff,
            "retry": self._on_retry,
            "wait": self._on_wait,
            "notice": self._on_notice,
            "aside": self._on_aside,
            "error": self._on_error,
            "step_end": self._on_step_end,
        }

    def start(self) -> None:
        """Begin to draw the status line."""
        self._ticker.start()

    def close(self) -> None:
        """Stop drawing; the status line is gone afterwards."""
        self._stop.set()
        if self._ticker.is_alive():
            self._ticker.join()
        self.screen.close()

    def __call__(self, event: Event) -> None:
        if self._quiet and event.kind not in ("question", "aside", "notice", "error", "wait"):
            return
        if show := self._show.get(event.kind):
            show(event)

    # ---- the status line

    def _tick(self) -> None:
        while not self._stop.wait(TICK_SECONDS):
            if self._step:
                self.screen.status(self.status_text())

    def status_text(self) -> str:
        """Step i/n, elapsed, what is running now, cost and context; on a narrow terminal what comes first."""
        parts = [f".. {printable(self._step)} {self._place}".rstrip()]
        parts.append(seconds(time.monotonic() - self._started))
        if self._tool:
            parts.append(printable(self._tool))
        if running := len(self._subagents):
            parts.append(ngettext("{n} subagent", "{n} subagents", running).format(n=running))
        if cost := self._cost():
            parts.append(dollars(cost))
        if self._context:
            parts.append(self._context_text())
        while len(parts) > 2 and width(" | ".join(parts)) >= self.screen.columns:
            parts.pop()
        return " | ".join(parts)

    def _context_text(self) -> str:
        if self._window:
            text = _("context {size} of {window}")
            return text.format(size=tokens(self._context), window=tokens(self._window))
        return _("context {size}").format(size=tokens(self._context))

    # ---- lines

    def _lines(
        self, text: str, *, mark: str, agent: str = "", most: int | None = None, style: str = ""
    ) -> None:
        """The text wrapped behind a mark; continuation lines stand below its first letter."""
        indent = " " * (AGENT_INDENT if agent else 0)
        limit = self.screen.columns - len(indent) - len(mark)
        lines = list(wrap(printable(text).strip("\n"), limit))
        if most is not None and len(lines) > most:
            more = _("... ({n} more lines)").format(n=len(lines) - most)
            lines = [*lines[:most], more]
        for at, line in enumerate(lines):
            self.screen.line(f"{indent}{mark if at == 0 else ' ' * len(mark)}{line}".rstrip(), style)

    def _one_line(self, text: str, *, mark: str, agent: str = "", style: str = "") -> None:
        self.screen.line(self._fitted(text, mark=mark, agent=agent), style)

    def _passing(self, kind: str, text: str) -> None:
        """A line that the next one of its kind replaces where lines can be replaced."""
        self.screen.note(self._fitted(text, mark="-- "), "wait", kind=kind)

    def _fitted(self, text: str, *, mark: str, agent: str = "") -> str:
        indent = " " * (AGENT_INDENT if agent else 0)
        room = self.screen.columns - len(indent) - len(mark)
        return f"{indent}{mark}{shorten(printable(text), room)}"

    def _on_run(self, event: Event) -> None:
        workspace = str(event.data.get("workspace") or "")
        self._inside = f"{workspace}/" if workspace.strip("/") else ""

    def _on_step(self, event: Event) -> None:
        data = event.data
        index, total = int(data.get("index") or 0), int(data.get("total") or 0)
        self._step, self._place = event.step, f"{index}/{total}" if total else ""
        self._started, self._context, self._tool = time.monotonic(), int(data.get("context") or 0), ""
        self._subagents.clear()
        self.screen.line()
        continued, wake = bool(data.get("resumed")), int(data.get("woke") or 0)
        line = header(
            event.step, index, total, continued=continued, wake=wake, columns=self.screen.columns - 1
        )
        self.screen.line(line, "head")

    def _on_text(self, event: Event) -> None:
        if not event.agent_id:
            self.last_text = event.text
        self._lines(event.text, mark="", agent=event.agent_id)

    def _on_thinking(self, event: Event) -> None:
        if self._verbose and event.text.strip():
            self._lines(event.text, mark="~ ", agent=event.agent_id, most=RESULT_LINES, style="faint")

    def _on_tool_use(self, event: Event) -> None:
        if event.tool in ASKING_TOOLS:
            return  # the question itself is on the screen
        self._tool = event.tool
        if event.tool in SUBAGENT_TOOLS:
            self._subagents.add(event.tool_use_id)
        what = tool_line(event.tool, event.data.get("input"))
        if self._inside:
            what = what.replace(self._inside, "")  # as the person sees it who stands in the workspace
        self._one_line(what, mark="> ", agent=event.agent_id, style="faint")

    def _on_tool_result(self, event: Event) -> None:
        self._tool = ""
        self._subagents.discard(event.tool_use_id)
        if self._verbose:
            mark = "! " if event.data.get("is_error") else "  "
            self._lines(event.text, mark=mark, agent=event.agent_id, most=RESULT_LINES, style="faint")
        elif event.data.get("is_error"):
            self._one_line(event.text, mark="! ", agent=event.agent_id, style="bad")

    def _on_usage(self, event: Event) -> None:
        if not event.agent_id:
            self._context = int(event.data.get("context") or self._context)
            self._window = int(event.data.get("window") or 0)

    def _on_question(self, event: Event) -> None:
        self._lines(event.text, mark="?? ", style="ask")
        for n, option in enumerate(event.data.get("options") or (), start=1):
            self._lines(str(option), mark=f"   {n}) ")

    def _on_answer(self, event: Event) -> None:
        said = {
            "answered": _("answered: {text}"),
            "timeout": _("nobody answered; going on with an assumption"),
            "declined": _("skipped"),
            "over_budget": _("not asked: no questions are left"),
            "invalid": _("not asked: the question was not valid"),
        }.get(str(event.data.get("state")))
        if said:
            self._one_line(said.format(text=event.text), mark="   ")

    def _on_wish(self, event: Event) -> None:
        self._lines(_("added: {text}").format(text=event.text), mark="++ ", most=RECEIPT_LINES, style="good")

    def _on_aside(self, event: Event) -> None:
        state = event.data.get("state")
        if state == "asked":
            self._lines(event.text, mark="?> ", most=RECEIPT_LINES)
        else:
            self._lines(event.text, mark="<? ", style="ask" if state == "answered" else "bad")

    def _on_verdict(self, event: Event) -> None:
        conclusion = {
            "achieved": _("achieved"),
            "not_yet": _("not yet"),
            "unreachable": _("cannot be reached"),
        }.get(str(event.data.get("conclusion")), str(event.data.get("conclusion", "")))
        title = _("verdict of round {n}: {conclusion}").format(
            n=event.data.get("round", "?"), conclusion=conclusion
        )
        # The judge's own words, one line for each check, are on the screen already.
        reason = event.text.strip().split("\n", 1)[0]
        self._lines(
            f"{title}  {reason}".rstrip(),
            mark="## ",
            style="good" if event.data.get("conclusion") == "achieved" else "wait",
        )

    def _on_handoff(self, event: Event) -> None:
        said = {
            "near": _("the context is nearly full"),
            "writing": _("the context is full: writing a handoff"),
            "done": _("handed off to a new session: {path}"),
        }.get(str(event.data.get("state")), event.text)
        self._passing(event.kind, said.format(path=event.data.get("path", "")))

    def _on_retry(self, event: Event) -> None:
        data = event.data
        text = _("trying again ({attempt} of {max}) in {delay:.0f} s: {reason}").format(
            attempt=data.get("attempt", "?"),
            max=data.get("max", "?"),
            delay=float(data.get("delay_s") or 0),
            reason=data.get("reason") or event.text,
        )
        self._passing(event.kind, text)

    def _on_wait(self, event: Event) -> None:
        self._passing(event.kind, event.text)

    def _on_notice(self, event: Event) -> None:
        self._lines(event.text, mark="-- ")

    def _on_error(self, event: Event) -> None:
        self._lines(event.text, mark="!! ", style="bad")

    def _on_step_end(self, event: Event) -> None:
        row = event.data
        self._tool = ""
        self._subagents.clear()
        figures = [seconds(float(row.get("duration_s") or 0)), dollars(float(row.get("cost_usd") or 0))]
        if context := int(row.get("context") or 0):
            figures.append(_("context {size}").format(size=tokens(context)))
        ok = bool(row.get("ok", True))
        how = _("done") if ok else _("failed")
        line = f"{event.step}: {how}  {' | '.join(figures)}"
        self._lines(line, mark="== ", style="head" if ok else "bad")
        if not ok:
            self._lines(str(row.get("error") or ""), mark="!! ", style="bad")
