"""The one thing a user interface knows: what happened, as a value."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

EVENT_KINDS = (
    "run",  # a run begins: data = {workspace, run_dir, run, version, woke}
    "step",  # a step begins: data = {index, total, resumed, woke, context}
    "session",  # the step's session is known: session_id; data = {resumed, fork}
    "text",  # the model says something
    "thinking",
    "tool_use",  # tool, tool_use_id; data = {input}
    "tool_result",  # tool, tool_use_id; text; data = {is_error}
    "usage",  # data = {context, window, cost_usd}: context in tokens, cost of the run in USD so far
    "question",  # data = {id, options}: a person is asked
    "answer",  # data = {id, state}
    "wish",  # the person added a requirement
    "verdict",  # data = {round, conclusion, checks, missing}
    "handoff",  # data = {state: near|writing|done, path, generation, degraded}; near: {context, at, window}
    "retry",  # the CLI or flower tries again: data = {attempt, max, delay_s, reason}
    "wait",  # the network is away (data.state = "begin") or back ("end")
    "aside",  # a side question or its answer; data = {id, state: asked|answered|failed}; no part of the run
    "error",  # an API error or a failed step; never part of a step's text
    "notice",  # one plain line for the person
    "step_end",  # data = the step's row
    "end",  # the run is over: data = {status, exit_code, steps, cost_usd, run}
)
"""Every value ``Event.kind`` can have."""


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
        data: further fields, by kind.
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
