"""What surrounds a session: the directories its hooks guard and the person they may ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from flower.agents.channel import HumanChannel
from flower.agents.workbench import Workbench

AskPerson = Callable[[str, list[str]], Awaitable["str | None"]]
"""``await ask(question, options)`` → the chosen option or other words, ``None`` when nobody answered."""


def _forget(_line: str) -> None:
    """The default for ``Access.record``: nobody keeps a record."""


@dataclass
class Access:
    """Places and people around one session.

    Attributes:
        workspace: the agent's directory; edits stay inside it.
        run_dir: where the books are; agent tools do not touch it, a workbench inside it excepted.
        workbench: the run's workbench, ``None`` without one.
        isolate: every worker gets a git worktree of its own.
        channel: questions to the person and their added words; ``None`` where there are none.
        ask_person: asks about a call that the CLI's own safety check stopped; ``None`` = nobody is there.
        record: called with one line for each such call that was let through without a person.
        spill_threshold: results of more characters than this are written to a file, and a pointer with their
            beginning stays in the conversation; 0 switches it off.
    """

    workspace: Path
    run_dir: Path
    workbench: Workbench | None = None
    isolate: bool = False
    channel: HumanChannel | None = None
    ask_person: AskPerson | None = None
    record: Callable[[str], None] = _forget
    spill_threshold: int = 4000

    def __post_init__(self) -> None:
        # Real paths: hooks compare them with what the CLI reports, which is resolved.
        self.workspace = Path(self.workspace).resolve()
        self.run_dir = Path(self.run_dir).resolve()

    @property
    def spill_dir(self) -> Path:
        """Where large results go: the workbench's, else the workspace's own."""
        return self.workbench.spill if self.workbench else self.workspace / ".flower" / "spill"
