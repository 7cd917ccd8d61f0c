"""The form of ``--json``: which kinds of lines there are and what each carries. Page and schema come from here."""

from __future__ import annotations

from collections.abc import Mapping

from flower.values import NamedTuple

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any

SCHEMA_VERSION = 1
"""Rises when a field changes its meaning or goes away. New kinds and new fields do not raise it: pass over them."""

_TYPES: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "integer": {"type": "integer"},
    "integer or null": {"type": ["integer", "null"]},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "text or null": {"type": ["string", "null"]},
    "object": {"type": "object"},
}


class Field(NamedTuple):
    """One field of a line.

    Attributes:
        type: a key of the table above; or the values it can have, joined by `` | ``.
        meaning: what it says, with its unit.
        optional: it may be missing.
    """

    type: str
    meaning: str
    optional: bool = False

    def schema(self) -> dict[str, Any]:
        """As JSON Schema."""
        known = _TYPES.get(self.type)
        form = {"enum": self.type.split(" | ")} if known is None else known
        return {**form, "description": self.meaning}


class Kind(NamedTuple):
    """One kind of line: what it tells and its own fields, beside those of ``COMMON``."""

    meaning: str
    fields: Mapping[str, Field] = {}


COMMON = {
    "ts": Field("number", "when, in seconds since 1970"),
    "text": Field("text", "the words, in full", True),
    "step": Field(
        "text", "name of the step: `X`, `X#retry1`, `X#round2`, `X·判定#1`; missing outside of one", True
    ),
    "session_id": Field("text", "the Claude session", True),
    "agent_id": Field("text", "the subagent it comes from; missing for the main thread", True),
    "tool": Field("text", "name of the tool", True),
    "tool_use_id": Field("text", "joins a call with its result", True),
    "uuid": Field("text", "entry of the transcript; the line is written once that entry is on disk", True),
}
"""Every event's fields, ``type`` aside; what has nothing to say is left out."""

_ROW = {
    "ok": Field("boolean", "a result arrived and it is not an error"),
    "error": Field("text", "why not, empty otherwise"),
    "cost_usd": Field("number", "what the step cost, US dollars"),
    "cost_estimated": Field("boolean", "a part of the cost is counted from tokens, not reported", True),
    "num_turns": Field("integer", "turns of the model"),
    "started_at": Field("number", "seconds since 1970"),
    "ended_at": Field("number", "seconds since 1970"),
    "duration_s": Field("number", "seconds"),
    "attempts": Field("integer", "how many times the CLI was started; the first counts"),
    "errors": Field("texts", "what went wrong on the way"),
    "resumed": Field("boolean", "the session had been used by this very run before"),
    "retired": Field("texts", "sessions that were handed off, oldest first"),
    "context": Field("integer", "tokens in the context at the end"),
    "run": Field("text", "id of the run"),
}

EVENTS: dict[str, Kind] = {
    "run": Kind(
        "A run begins.",
        {
            "workspace": Field("text", "where the agents work"),
            "run_dir": Field("text", "where the books are"),
            "run": Field("text", "id of the run, as in the manifest"),
            "version": Field("text", "of flower"),
        },
    ),
    "step": Kind(
        "A step begins.",
        {
            "index": Field("integer", "this is the n-th step; missing for a judge's", True),
            "total": Field("integer", "of so many", True),
            "resumed": Field("boolean", "it goes on with an earlier session", True),
            "woke": Field("integer", "which run in this directory it is; 1 is the first", True),
            "context": Field("integer", "tokens that the session begins with, 0 if not known", True),
        },
    ),
    "text": Kind("The model says something."),
    "thinking": Kind("The model thinks."),
    "tool_use": Kind(
        "A tool is called; `text` is the input as JSON.",
        {"input": Field("object", "what it is called with")},
    ),
    "tool_result": Kind(
        "What came of it, in `text`.", {"is_error": Field("boolean", "it failed or was refused")}
    ),
    "usage": Kind(
        "Where the main thread stands.",
        {
            "context": Field("integer", "tokens in its context now"),
            "window": Field("integer", "tokens that fit, 0 if not known"),
            "cost_usd": Field("number", "what the run has cost so far, side questions included, US dollars"),
        },
    ),
    "question": Kind(
        "A person is asked; the run waits.",
        {
            "id": Field("integer", "joins it with the `answer`"),
            "options": Field("texts", "answers to choose from; other words are an answer too"),
        },
    ),
    "answer": Kind(
        "The question is settled; the answer is in `text`.",
        {
            "id": Field("integer", "of the question"),
            "state": Field("answered | timeout | declined | over_budget | invalid", "how it was settled"),
        },
    ),
    "wish": Kind("The person added a requirement; it is in the brief."),
    "verdict": Kind(
        "The judge has looked at the product.",
        {
            "round": Field("integer", "of work, from 1"),
            "conclusion": Field("achieved | not_yet | unreachable", "what it comes to"),
            "checks": Field("object", "number of the check: [`pass`, `fail` or `cannot`, the evidence]"),
            "missing": Field("text", "what the next round is told"),
        },
    ),
    "handoff": Kind(
        "The session is nearly full or is replaced by a new one.",
        {
            "state": Field("near | writing | done", "how far it is"),
            "context": Field("integer", "`near`: tokens in the context", True),
            "at": Field("integer", "`near`: tokens at which it is handed off", True),
            "window": Field("integer", "`near`: tokens that fit", True),
            "generation": Field("integer", "it is the n-th of this step", True),
            "path": Field("text", "the document that the new session begins with", True),
            "degraded": Field(
                "boolean", "`done`: the session could not write it; made from the transcript", True
            ),
        },
    ),
    "retry": Kind(
        "A request or a step is tried again.",
        {
            "attempt": Field("integer or null", "the n-th try"),
            "max": Field("integer or null", "of so many", True),
            "delay_s": Field("number", "after so many seconds"),
            "reason": Field("text", "why"),
            "status": Field("integer or null", "HTTP status of the refusal", True),
        },
    ),
    "wait": Kind(
        "The network is away, or back again.", {"state": Field("begin | end", "the wait begins or ends")}
    ),
    "aside": Kind(
        "A question beside the run, or its answer.",
        {
            "id": Field("integer", "joins the two"),
            "state": Field("asked | answered | failed", "which of them it is"),
        },
    ),
    "error": Kind("An error of the API or of a step; never part of a result."),
    "notice": Kind("One plain line for the person."),
    "step_end": Kind("A step has ended: its row in the manifest.", _ROW),
}
"""What happens in a run. ``Event.kind`` is one of the keys."""

END = Kind(
    "The last line, always.",
    {
        "status": Field("text", "a word for the exit status, see the table of exit statuses"),
        "exit_code": Field("integer", "exit status; 128+n when signal n ends the process"),
        "steps": Field("integer", "rows that this run left in the manifest"),
        "cost_usd": Field("number", "US dollars"),
        "run": Field("text or null", "id of the run, null if none was begun"),
    },
)


def json_schema(*, closed: bool = False) -> dict[str, Any]:
    """JSON Schema (2020-12) of one line of a run's ``--json``.

    Args:
        closed: refuse fields that are not described here. For flower's own tests: a reader must let them pass.
    """
    version = Field("integer", f"{SCHEMA_VERSION}; on the first line only", True)
    lines = [_form(kind, COMMON | dict(EVENTS[kind].fields), version, closed) for kind in EVENTS]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A line of flower --json, version {SCHEMA_VERSION}",
        "oneOf": [*lines, _form("end", dict(END.fields), version, closed)],
    }


def _form(kind: str, fields: Mapping[str, Field], version: Field, closed: bool) -> dict[str, Any]:
    properties = {name: one.schema() for name, one in {"schema_version": version, **fields}.items()}
    form = {
        "type": "object",
        "properties": {"type": {"const": kind}, **properties},
        "required": ["type", *(name for name, one in fields.items() if not one.optional)],
    }
    return form | ({"additionalProperties": False} if closed else {})
