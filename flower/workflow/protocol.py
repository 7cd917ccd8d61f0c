"""What a workflow needs of the thing that runs its steps.

``flower.runtime.Runtime`` is the one that flower ships. Anything else with these members works as well: a
runtime that queues steps on another machine, or one that replays recorded results.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from flower.model import Event, StepResult

Context = dict[str, Any]
"""What steps hand on: ``ctx[step name]`` is its text; keys that begin with ``_`` are flower's own."""

OnEvent = Callable[[Event], None]


class Runs(Protocol):
    """Runs one step to its end.

    ``full_prompt`` is for a session that has to begin anew although ``resume`` was given.

    ``on_session`` is called with the session's id, new or resumed, the moment it is chosen, and again when
    the session's first entry is durable. It is not called for a fork made only because another live run holds
    the session: that fork must not take the owner's place in the lineage.
    """

    on_session: Callable[[str], None] | None

    @property
    def workspace(self) -> Path: ...

    @property
    def run_dir(self) -> Path: ...

    @property
    def run_id(self) -> str: ...

    async def run(
        self,
        spec: Any,
        prompt: str,
        *,
        step_name: str,
        resume: str | None = None,
        fork: bool = False,
        resume_at: str | None = None,
        on_event: OnEvent | None = None,
        full_prompt: str | None = None,
    ) -> StepResult: ...

    def has_session(self, session_id: str) -> bool: ...

    def context_of(self, session_id: str) -> int: ...
