"""The one thing a user interface knows: what happened, as a value."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from flower.model.schema import EVENTS

EVENT_KINDS = (*EVENTS, "end")
"""Every value ``Event.kind`` can have; what each carries is written down in ``flower.model.schema``."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened in a run.

    An event that stems from a transcript entry (``uuid`` is set) is emitted only after that entry is durable in
    the session store: whatever a person has seen survives a kill.

    Attributes:
        kind: one of ``EVENT_KINDS``.
        text: what to show, in full; interfaces shorten it.
        step: the manifest's name of the step (``X``, ``X#round2``, ``X·判定#1``), empty outside of one.
        session_id: the Claude session, empty where there is none.
        agent_id: the subagent's id, empty for the main thread.
        tool: name of the tool for ``tool_use`` and ``tool_result``.
        tool_use_id: the API's id that joins the two.
        uuid: the transcript entry this event shows.
        data: further fields, by kind (``flower.model.schema.EVENTS``).
        ts: epoch seconds.
    """

    kind: str
    text: str = ""
    step: str = ""
    session_id: str = ""
    agent_id: str = ""
    tool: str = ""
    tool_use_id: str = ""
    uuid: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    ts: float = field(default_factory=time.time)

    def as_json(self) -> dict[str, Any]:
        """The event as the JSON object of ``--json``: empty fields are left out, ``type`` is the kind."""
        out: dict[str, Any] = {"type": self.kind, "ts": round(self.ts, 3)}
        for name in ("text", "step", "session_id", "agent_id", "tool", "tool_use_id", "uuid"):
            if value := getattr(self, name):
                out[name] = value
        out.update({k: v for k, v in self.data.items() if k not in out})
        return out
