"""Runtime: runs one agent at a time or several side by side, keeps the books, goes on after failures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from flower import supervise
from flower.books.ignore import hide
from flower.books.locks import Holder, RunLease
from flower.books.manifest import Manifest
from flower.books.project import bind_project
from flower.books.rewriting import PruningSessionStore
from flower.books.salvage import read_back, reconcile
from flower.books.sqlite import SqliteSessionStore
from flower.config.credentials import check_credentials, load_dotenv
from flower.locale import _, ngettext
from flower.model import (
    BooksError,
    CredentialsMissing,
    HumanInterrupt,
    RunIsLive,
    StepResult,
    new_run_id,
)
from flower.runtime.accounts import Accounts
from flower.runtime.claims import Claims
from flower.runtime.flight import GO_ON, INTERRUPTED, Flight, Launch, Listener
from flower.runtime.handoff import HandoffPolicy, Windows, policy_of
from flower.runtime.recovery import after_failure
from flower.runtime.resilience import Resilience
from flower.transcript.expire import EphemeralPolicy
from flower.transcript.prune import PrunePolicy
from flower.transcript.trim import TrimPolicy

if TYPE_CHECKING:
    from flower.agents.channel import HumanChannel
    from flower.agents.spec import AgentSpec
    from flower.agents.workbench import Workbench
    from flower.runtime.budget import Budget

AfterStop = Callable[[], Awaitable["str | None"]]


class Runtime:
    """Runs agents in one workspace and keeps their books in ``run_dir``.

    Args:
        workspace: the agents' working directory; made if missing.
        run_dir: where the books are kept, relative to the current directory; made if missing.
        portable: True ignores the project's ``.claude/`` settings; False reads them.
        trim: replace old large tool results by pointers in what a resumed session is fed.
        ephemeral: mark old results of read-only commands as expired there.
        keep_denials: how many of the latest refused tool calls stay there.
        workbench: False, True (``<run_dir>/workbench``), or a Workbench.
        spill_threshold: characters; a longer tool result goes to a file at once.
        resilience: True for the defaults, False for no retries, or a Resilience.
        handoff: True for the defaults, False to run into the wall, or a HandoffPolicy.
        store: sessions kept elsewhere; any store that follows the SDK's protocol.
        isolate: agents work in git worktrees of their own.
        channel: whom to ask when the CLI's own safety checks stop a tool.
        budget_usd: US dollars for all steps of this run together. A run that was killed, or stopped by its budget,
            leaves its account open in ``run_dir``: the next one with a budget goes on with what that had spent. A
            ``Budget`` instead of a number is shared with whoever else has it, and kept nowhere.
        wait: wait for a session that another run drives instead of working on a fork.
        notice: called with each line that a person should read and that belongs to no step.

    Raises:
        CredentialsMissing: (a RuntimeError) no credential where flower looks.
        BooksForeign, BooksNewer: ``run_dir`` belongs to another project or a newer flower.
    """

    _everywhere: ClassVar[list[Flight]] = []
    """The steps in flight of every runtime in this process: orphans are inherited by the process."""

    def __init__(
        self,
        *,
        workspace: str | Path = ".",
        run_dir: str | Path = "runs",
        portable: bool = True,
        trim: bool = False,
        ephemeral: bool = True,
        keep_denials: int = 1,
        workbench: bool | Workbench = False,
        spill_threshold: int = 4000,
        resilience: bool | Resilience = True,
        handoff: bool | HandoffPolicy = True,
        store: Any = None,
        isolate: bool = False,
        channel: HumanChannel | None = None,
        budget_usd: float | Budget | None = None,
        wait: bool = False,
        notice: Callable[[str], None] | None = None,
    ) -> None:
        load_dotenv()
        if problem := check_credentials():
            raise CredentialsMissing(problem)
        self.workspace = Path(workspace).expanduser().resolve()
        self.run_dir = Path(run_dir).expanduser().resolve()
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.run_dir.mkdir(parents=True, exist_ok=True)
        self.portable, self.isolate, self.channel, self.wait = portable, isolate, channel, wait
        self.spill_threshold, self.ephemeral = spill_threshold, ephemeral
        self.resilience = (
            resilience if isinstance(resilience, Resilience) else Resilience(enabled=bool(resilience))
        )
        self.handoff = policy_of(handoff)
        self.windows = Windows(self.handoff)
        self.run_id = new_run_id()
        self.results: list[StepResult] = []
        self.on_session: Callable[[str], None] | None = None
        self.after_stop: AfterStop | None = None
        self._say = notice or (lambda line: None)
        self._flights: list[Flight] = []
        self._key: str | None = None
        hide(self.run_dir)
        self.project_id = bind_project(self.workspace, self.run_dir)
        lease = RunLease.acquire(self.run_dir, self.run_id)
        if isinstance(lease, Holder):
            raise RunIsLive(_("{holder} has these books to itself just now").format(holder=lease))
        self._lease = lease
        self.manifest = Manifest(self.run_dir, self.run_id, notice=self._say)
        self.store = PruningSessionStore(
            store
            if store is not None
            else SqliteSessionStore(self.run_dir / "sessions.db", notice=self._say),
            self.workspace,
            policy=TrimPolicy(enabled=trim),
            prune=PrunePolicy(keep_denials=keep_denials),
            ephemeral=EphemeralPolicy(enabled=ephemeral),
        )
        self.accounts = Accounts(self.run_dir, self.run_id, self.manifest, budget_usd, notice=self._say)
        self.workbench = self._make_workbench(workbench)
        supervise.become_subreaper()
        self._reconciled = False
        self.claims = Claims(self)

    def _make_workbench(self, workbench: bool | Workbench) -> Workbench | None:
        if workbench is False:
            return None
        from flower.agents.workbench import Workbench as Bench

        bench = (
            Bench(self.run_dir / "workbench", workspace=self.workspace) if workbench is True else workbench
        )
        bench.create()
        return bench

    # ---- what others look at

    @property
    def project_key(self) -> str:
        """The SDK's key of the workspace; half of every session's name in the database."""
        if self._key is None:
            from claude_agent_sdk import project_key_for_directory

            self._key = project_key_for_directory(str(self.workspace))
        return self._key

    @property
    def in_flight(self) -> bool:
        """Whether a step is running now."""
        return bool(self._flights)

    @property
    def manifest_path(self) -> Path:
        return self.run_dir / "manifest.json"

    @property
    def budget(self) -> Budget | None:
        """The one limit for all that this run spends; None where nobody set one."""
        return self.accounts.budget

    @property
    def total_cost(self) -> float:
        """US dollars this run has spent so far, judge and subagents included."""
        return sum(row.cost_usd for row in self.results) + sum(
            f.row.cost_usd + f.spending for f in self._flights
        )

    def has_session(self, session_id: str) -> bool:
        """Whether the books hold entries of this session under this workspace."""
        return bool(self.store.has_session(self.project_key, session_id))

    def context_of(self, session_id: str) -> int:
        """Tokens in the session's context after its last turn; 0 if unknown."""
        return int(self.store.last_context(self.project_key, session_id))

    # ---- running

    async def run(
        self,
        spec: AgentSpec,
        prompt: str,
        *,
        step_name: str,
        resume: str | None = None,
        fork: bool = False,
        resume_at: str | None = None,
        on_event: Listener | None = None,
        full_prompt: str | None = None,
    ) -> StepResult:
        """Run one agent until it has answered, through retries and interrupts; its row goes to the manifest.

        Args:
            spec: who works and what it may touch.
            prompt: what it is told.
            step_name: the row's name.
            resume: the session to continue; one that the books do not hold begins anew.
            fork: with ``resume``: work on a branch, the original stays as it is.
            resume_at: with ``resume``: go on after this entry (a uuid), as if what follows had not been.
            on_event: called for each Event, in order.
            full_prompt: what a session is told that must begin anew although ``resume`` was given; default ``prompt``.

        Returns:
            The row. ``ok`` is False where no good result arrived; the reason is in ``error``.

        Raises:
            HumanInterrupt: the person ended the run; the row is in the manifest.
            ValueError: ``fork`` or ``resume_at`` without ``resume``; a glancing coordinator without expiry.
        """
        if (fork or resume_at) and not resume:
            raise ValueError("fork and resume_at need a session to resume")
        if spec.glance and not self.ephemeral:
            raise ValueError(
                "a coordinator with glance=True needs Runtime(ephemeral=True): what it may run must expire"
            )
        self.accounts.check()
        await self._reconcile_once()
        flight = Flight(StepResult(step=step_name), on_event, prompt)
        flight.bind()
        self._flights.append(flight)
        self._everywhere.append(flight)
        try:
            await self._fly(flight, spec, Launch(prompt, full_prompt or prompt, resume, fork, resume_at))
        except HumanInterrupt:
            flight.close(error=INTERRUPTED)
            raise
        except BaseException as problem:
            flight.close(error=flight.row.error or str(problem) or type(problem).__name__)
            raise
        finally:
            self._land(flight)
        return flight.row

    async def _fly(self, flight: Flight, spec: AgentSpec, launch: Launch) -> None:
        """Attempt after attempt until one is good, the person ends it, or trying again makes no sense."""
        from flower.runtime.launch import attempt
        from flower.runtime.succession import Succession

        line = Succession(self, flight, spec)
        following: Launch | None = launch
        while following is not None:
            settled = await line.settle(following)
            if settled is None:
                return
            launch = settled
            self.accounts.check()
            if spec.max_budget_usd is not None and flight.row.cost_usd >= spec.max_budget_usd:
                # A handoff or an earlier attempt has used it up: another process would be one more paid request.
                flight.row.error = _("what this agent alone may cost is spent")
                return
            outcome = await attempt(self, flight, spec, launch)
            line.told(outcome)
            if outcome.state == "ok":
                flight.row.ok, flight.row.text = True, outcome.text
                return
            if outcome.state == "broke":
                # Imported above it would load the SDK before the first CLI is started.
                from flower.runtime.attempt import PAUSED

                self.accounts.check(at_once=outcome.error == PAUSED)
                flight.row.error = _("what this agent alone may cost is spent")
                return
            if outcome.state == "stopped":
                following = await self.after_stop_of(flight, launch, delivered=outcome.delivered)
            elif line.is_due(outcome):
                following = await line.after(outcome, launch)
            else:
                following = await after_failure(self, flight, outcome, launch)
                if following is None:
                    flight.row.error = outcome.error

    async def after_stop_of(self, flight: Flight, launch: Launch, *, delivered: bool) -> Launch:
        """A person stopped the step: hear what they have to say, then go on in the same session.

        What the stop kept from being delivered is said again, with the person's words behind it.
        """
        words = flight.take_words()
        if flight.quitting:
            raise HumanInterrupt(_("stopped by you; run flower again to go on"))
        if words is None and self.after_stop is not None:
            words = await self.after_stop()
            if flight.quitting:
                raise HumanInterrupt(_("stopped by you; run flower again to go on"))
        session = flight.row.session_id
        told = words or GO_ON
        full = f"{launch.full_prompt}\n\n{words}" if words else launch.full_prompt
        if not self.has_session(session):
            if launch.resume:
                return Launch(
                    f"{launch.prompt}\n\n{told}", full, launch.resume, launch.fork, launch.resume_at
                )
            return replace(launch, prompt=full, full_prompt=full)
        return Launch(told if delivered else f"{launch.prompt}\n\n{told}", full, session)

    def _land(self, flight: Flight) -> None:
        self._flights.remove(flight)
        self._everywhere.remove(flight)
        self.results.append(flight.close())
        self.manifest.record(flight.row.as_row(self.run_id))

    def alone(self, flight: Flight) -> bool:
        """No other step of this process is in flight, so that an inherited child can only be this one's."""
        return self._everywhere == [flight]

    # ---- what an earlier process left

    def marker(self, session_id: str) -> str:
        """What every process of a session carries. It names the place: books are copied, processes are not."""
        return f"{session_id}@{self.run_dir}"

    async def _reconcile_once(self) -> None:
        if not self._reconciled:
            self._reconciled = True
            await reconcile(self.run_dir, self.store, notice=self._say, end_strays=self._end_strays)

    def _end_strays(self, session_id: str) -> None:
        supervise.end_strays(self.marker(session_id))

    async def read_back(self, flight: Flight, live: Path) -> bool:
        """Append what the CLI's own file holds and the books do not; False, and a notice, where that fails."""
        try:
            added = await read_back(live, self.store)
        except (OSError, BooksError) as problem:
            flight.notice(_("entries could not be read back: {problem}").format(problem=problem))
            return False
        if added:
            flight.notice(
                ngettext(
                    "{n} entry was read back from the CLI's own file",
                    "{n} entries were read back from the CLI's own file",
                    added,
                ).format(n=added)
            )
        return True

    # ---- from outside

    def interrupt(self, message: str | None = None) -> None:
        """Stop what runs at the next message boundary; it goes on in the same session with ``message``.

        Without a message ``after_stop`` is asked for one. Safe from any thread.
        """
        for flight in list(self._flights):
            flight.stop(message)

    def quit(self) -> None:
        """Stop what runs for good: ``run`` raises HumanInterrupt after its row is written. Safe from any thread."""
        for flight in list(self._flights):
            flight.stop(quit=True)

    def rescue(self, error: str = "killed-by-signal") -> None:
        """Write the rows of the steps in flight. For the last moment of a process that must end."""
        for flight in list(self._flights):
            flight.close(error=error)
            self.manifest.record(flight.row.as_row(self.run_id))

    def close(self, *, finished: bool | None = None) -> None:
        """Close the books. Idempotent.

        Args:
            finished: the run has come to its end, so that the next one has a whole budget again; by default it has
                if its last step is ok.
        """
        if finished is None:
            finished = bool(self.results) and self.results[-1].ok
        if finished:
            self.accounts.finish()
        self.store.close()
        self._lease.release()

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        self.close(finished=None if kind is None else False)
