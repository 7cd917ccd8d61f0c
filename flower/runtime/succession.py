"""One session hands its work to the next: who writes the document, where it is frozen, what the successor is told.

The order makes every moment safe to be killed in. The retired session keeps the lineage until its successor has an
entry in the books; the document is frozen before a successor is chosen, and the choice is noted before it begins. So
the next start finds one of four things, and each continues the one line: a full session without a document (it writes
one), a document without a successor (one begins from the document as it is now), a successor without an entry (the
same), or a successor with one (it goes on).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from flower.agents import rules
from flower.books.locks import is_held
from flower.documents.brief import language
from flower.documents.handoff import Handoff
from flower.locale import _, current, ngettext
from flower.model import Event
from flower.runtime.classify import is_too_long
from flower.runtime.flight import GO_ON, Flight, Heir, Launch
from flower.runtime.inheritance import (
    Inheritance,
    answered,
    earlier_points,
    first_message,
    mechanical,
    original_request,
    written_already,
)
from flower.runtime.papers import Paper, Papers, Register
from flower.runtime.recovery import after_failure

if TYPE_CHECKING:
    from flower.agents.spec import AgentSpec
    from flower.runtime.attempt import Outcome
    from flower.runtime.runtime import Runtime

WRITING_TURNS = 4
"""Model turns for the handoff: one is enough. A model that insists on tools must not be paid for ever."""

NO_TOOLS = "Only the handoff is written now, without any tool. Reply with the document."
EDITED = """\
A person has edited the handoff that you began from. It now reads, and counts, like this:

<handoff>
{document}
</handoff>"""


class Succession:
    """The handoffs of one step in flight.

    Args:
        rt, flight, spec: who runs what; the spec without anything that only the handoff's own turn has.
    """

    def __init__(self, rt: Runtime, flight: Flight, spec: AgentSpec) -> None:
        self._rt, self._flight, self._spec = rt, flight, spec
        home = rt.run_dir / "handoff"
        notes = rt.workbench.notes if rt.workbench is not None else home
        self._papers = Papers(notes, notes / "archive" / "交接")
        self._register = Register(home)
        self._policy = rt.handoff
        self._telling: tuple[str, str] | None = None

    # ---- before a launch

    async def settle(self, launch: Launch) -> Launch | None:
        """What is really launched: a retired session's successor, a handoff where the session is full, else the same.

        None when the step has failed; its row says why.
        """
        following: Launch | None = launch
        while following is not None and following.resume and not following.resume_at:
            launch = following if following.fork else self._followed(following)
            session = str(launch.resume)
            held = not launch.fork and is_held(self._rt.run_dir, session)
            if held and self._rt.wait:
                await anyio.sleep(0.5)  # Its driver may be about to hand it off.
                continue
            if not launch.fork and not held and (paper := self._waiting(session)):
                return await self._begin(session, paper, pending=launch.prompt)
            if not self._policy.enabled or self._rt.context_of(session) < self._threshold():
                return launch if launch.fork else self._with_edits(launch)
            following = await self.hand_off(launch, pending=launch.prompt)
        return following

    def _followed(self, launch: Launch) -> Launch:
        """The last of the line: a successor that has an entry goes on, whatever session the lineage still names."""
        session = str(launch.resume)
        while (after := self._register.successor(session)) and self._rt.has_session(after.successor):
            session = after.successor
        if session == launch.resume:
            return launch
        text = _("session {old} was handed off; going on in its successor {new}")
        self._flight.notice(text.format(old=str(launch.resume)[:8], new=session[:8]))
        return replace(launch, resume=session)

    def _waiting(self, session: str) -> Paper | None:
        """The document written for this session, if no successor has begun from it."""
        path = self._path()
        paper = self._papers.read(path) if self._policy.enabled else None
        if paper is None or (paper.session and paper.session != session):
            return None
        if paper.session and paper.complete:
            return paper
        if paper.session or not self._register.heard(session):
            text = _("{path} is not whole; the handoff is written again")
            self._flight.notice(text.format(path=self._shown(path)))
        return None

    def _with_edits(self, launch: Launch) -> Launch:
        """A successor hears what a person has changed in its document since it last read it."""
        session = str(launch.resume)
        heard = self._register.heard(session)
        paper = self._papers.read(Path(heard.path)) if heard and heard.path else None
        if (
            heard is None
            or paper is None
            or paper.digest == heard.digest
            or not Handoff.parse(paper.text).complete
        ):
            return launch
        self._telling = session, paper.digest
        edited = EDITED.format(document=paper.text.strip())
        said = launch.prompt.startswith(edited)
        return launch if said else replace(launch, prompt=f"{edited}\n\n{launch.prompt}")

    def told(self, outcome: Outcome) -> None:
        """What a person has edited was told, if the session heard its prompt."""
        telling, self._telling = self._telling, None
        if telling and outcome.delivered:
            with suppress(OSError):  # Then it hears the same once more the next time.
                self._register.hear(*telling)

    # ---- a handoff

    def is_due(self, outcome: Outcome) -> bool:
        """Whether this end of a CLI process asks for a handoff: the threshold, or a refusal of what is too long."""
        if not self._policy.enabled:
            return False
        return outcome.state == "full" or self._refused(outcome)

    @staticmethod
    def _refused(outcome: Outcome) -> bool:
        return outcome.state == "failed" and is_too_long(outcome.error, reason=outcome.reason)

    async def after(self, outcome: Outcome, launch: Launch) -> Launch | None:
        """The launch that follows an outcome for which a handoff is due."""
        refused = self._refused(outcome)
        session = self._flight.row.session_id
        if not self._rt.has_session(session):
            self._flight.row.error = outcome.error
            return None
        pending = launch.prompt if refused and launch.resume else ""
        return await self.hand_off(Launch("", launch.full_prompt, session), pending=pending, refused=refused)

    async def hand_off(self, launch: Launch, *, pending: str = "", refused: bool = False) -> Launch | None:
        """Let the session write its handoff and freeze it; the launch that follows, None if the step has failed.

        Args:
            launch: the session, and whether to branch off first.
            pending: what should be said to it and is said to its successor instead.
            refused: the endpoint calls it too long already.
        """
        row, session = self._flight.row, str(launch.resume)
        entries = await self._entries(session)
        if len(row.retired) >= self._policy.max_generations or not answered(entries):
            row.error = self._diagnosis(session)
            return None
        generation = self._generation(session)
        path = self._path()
        self._tell("writing", generation, path)
        ask = rules.text("handoff").strip()
        own = "" if launch.fork else written_already(entries, ask)
        if not own:
            own, stopped = await self._let_write(launch, ask, entries, refused=refused)
            if stopped:
                told = Launch(pending, launch.full_prompt, row.session_id or session)
                return await self._rt.after_stop_of(self._flight, told, delivered=not pending)
        session, path = row.session_id or session, self._path()
        handoff = Handoff.parse(own)
        if not handoff.complete:
            handoff = mechanical(await self._entries(session), own)
        paper = self._freeze(path, handoff, session, generation)
        self._tell("done", generation, path, degraded=handoff.degraded)
        if handoff.degraded:
            line = _("the session could not write its handoff; flower made one from the transcript: {path}")
            self._flight.notice(line.format(path=self._shown(path)))
            row.errors.append(f"handoff {generation} degraded: {session}")
        return await self._begin(session, paper, pending=pending)

    async def _let_write(
        self, launch: Launch, ask: str, entries: list[dict[str, Any]], *, refused: bool
    ) -> tuple[str, bool]:
        """What the session wrote, and whether a person stopped it.

        Same system prompt, same tools: all that went before comes from the cache. A session that is too long is tried
        with a harder trim, then from earlier points; every refusal is free.
        """
        plain = replace(launch, prompt=ask, counts=False, handing_over=True)
        hard = replace(plain, hard=True)
        rungs = [] if refused else [plain]
        rungs += [hard, *(replace(hard, resume_at=point) for point in earlier_points(entries))]
        spec = _writer(self._spec)
        for rung in rungs:
            outcome = await self._rung(rung, spec)
            if outcome is None or outcome.state in ("ok", "stopped"):
                return (outcome.text, outcome.state == "stopped") if outcome else ("", False)
        return "", False

    async def _rung(self, rung: Launch, spec: AgentSpec) -> Outcome | None:
        """One way of asking, through passing failures; None where asking any further makes no sense."""
        from flower.runtime.launch import attempt

        row = self._flight.row
        while True:
            outcome = await attempt(self._rt, self._flight, spec, rung)
            if outcome.state != "failed" or self._refused(outcome):
                return outcome
            # The handoff is no attempt; only a failed one costs a retry, like any other.
            row.attempts += 1
            following = await after_failure(self._rt, self._flight, outcome, rung)
            if following is None:
                return None
            self._hand_back_words(following, rung)
            if rung.fork and self._rt.has_session(row.session_id):
                rung = replace(rung, resume=row.session_id, fork=False)

    def _hand_back_words(self, following: Launch, rung: Launch) -> None:
        """What a person said while the handoff waited stops it, and goes to the successor."""
        words = following.prompt
        for own in (rung.prompt, self._rt.resilience.resume_prompt):
            words = words.removeprefix(own)
        if words.strip() and words != rung.full_prompt:
            self._flight.stop(words.strip())

    def _freeze(self, path: Path, handoff: Handoff, session: str, generation: int) -> Paper:
        text = handoff.render(current() if handoff.degraded else language_of(handoff))
        try:
            return self._papers.freeze(path, text, session, generation)
        except OSError as problem:
            # The document goes on in the successor's first message; what is missing is the copy to look at.
            line = _("{path} could not be written ({reason}); the handoff is only in the conversation")
            self._flight.notice(line.format(path=self._shown(path), reason=problem.strerror or problem))
            return Paper(text, session, generation)

    async def _begin(self, session: str, paper: Paper, *, pending: str) -> Launch:
        """The launch of a successor, told everything in its first message."""
        flight = self._flight
        first = first_message(await self._entries(session))
        noise = (GO_ON, self._rt.resilience.resume_prompt)
        instruction = flight.prompt if flight.prompt not in (pending, *noise) else ""
        path = self._path()
        inheritance = Inheritance(
            request=original_request(first) or flight.prompt,
            document=paper.text,
            path=self._shown(path),
            generation=paper.generation,
            instruction=instruction,
            pending="" if pending in noise else pending,
        )
        flight.row.retired.append(session)
        message = inheritance.message()
        heir = Heir(session, paper.generation, str(path), paper.digest)
        return Launch(message, message, counts=flight.row.attempts == 0, heir=heir)

    # ---- facts

    def _threshold(self) -> int:
        return self._policy.threshold(self._rt.windows.of(self._spec.model))

    def _generation(self, session: str) -> int:
        heard = self._register.heard(session)
        return heard.generation + 1 if heard else 1

    def _path(self) -> Path:
        # A session beside the step's own must not put its owner's document away.
        beside = "" if self._flight.owner else self._flight.row.session_id
        return self._papers.path(self._flight.row.step, beside=beside)

    def _shown(self, path: Path) -> str:
        workspace = self._rt.workspace
        return str(path.relative_to(workspace)) if path.is_relative_to(workspace) else str(path)

    async def _entries(self, session: str) -> list[dict[str, Any]]:
        key = {"project_key": self._rt.project_key, "session_id": session}
        return await self._rt.store.load_raw(key) or []

    def _diagnosis(self, session: str) -> str:
        window, count = self._rt.windows.of(self._spec.model), len(self._flight.row.retired)
        if not count:
            text = _("what this role starts with does not fit into a window of {window:,} tokens")
            return text.format(window=window)
        text = ngettext(
            "full again after {n} handoff in one step: a window of {window:,} tokens (handed off at {at:,}) is too "
            "small for what this role starts with; the last session has {context:,} tokens",
            "full again after {n} handoffs in one step: a window of {window:,} tokens (handed off at {at:,}) is too "
            "small for what this role starts with; the last session has {context:,} tokens",
            count,
        )
        context = self._rt.context_of(session)
        return text.format(n=count, window=window, at=self._threshold(), context=context)

    def _tell(self, state: str, generation: int, path: Path, **more: Any) -> None:
        data = {"state": state, "generation": generation, "path": self._shown(path), **more}
        self._flight.emit(Event("handoff", data=data))


def note_successor(rt: Runtime, heir: Heir, successor: str) -> None:
    """Put on disk who goes on, before it begins."""
    from flower.runtime.papers import Succession as Noted

    Register(rt.run_dir / "handoff").note(
        heir.predecessor, Noted(successor, heir.generation, heir.path, heir.digest)
    )


def language_of(handoff: Handoff) -> str:
    """The language a handoff was written in, by its letters."""
    return language(" ".join((handoff.doing, handoff.decided, handoff.next)))


def _writer(spec: AgentSpec) -> AgentSpec:
    """The same agent for the one turn in which it writes: none of the step's limits, and no tool is let through.

    The tools stay on the list: taking them off would change the beginning of the prompt, which is cached.
    """
    from claude_agent_sdk import HookMatcher

    async def refuse(_data: Any, _tool_use_id: str | None, _context: Any) -> Any:
        answer = {"permissionDecision": "deny", "permissionDecisionReason": NO_TOOLS}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **answer}}

    hooks = dict(spec.hooks)
    hooks["PreToolUse"] = [*hooks.get("PreToolUse", []), HookMatcher(hooks=[refuse], on_failure="block")]
    return replace(spec, hooks=hooks, max_budget_usd=None, max_turns=WRITING_TURNS)
