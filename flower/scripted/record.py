"""What the endpoint remembers of each request, in memory and as JSON lines for other processes."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from flower.scripted.request import Request
from flower.transcript.wire import Problem


@dataclass
class Recorded:
    """One request and what became of it.

    Attributes:
        n: 1 for the first request at the endpoint.
        ts: when it arrived, epoch seconds.
        method, path, headers: as received, header names in lower case.
        body: the parsed JSON body, None when there was none.
        problems: what the API would refuse in it.
        status: the HTTP status answered.
        reply: the message or the error answered, None for one cut off before it was chosen.
        failure: the script's own exception, if it raised one.
        outcome: "sent", "dropped" (as scripted) or "gone" (the client left); "" while it is being answered.
    """

    n: int
    ts: float
    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any] | None
    problems: list[Problem] = field(default_factory=list)
    status: int = 0
    reply: Mapping[str, Any] | None = None
    failure: str = ""
    outcome: str = ""

    @cached_property
    def request(self) -> Request:
        """The request as a script sees it."""
        return Request(self.body or {}, self.headers)

    @property
    def session_id(self) -> str | None:
        return self.request.session_id

    @property
    def agent_id(self) -> str | None:
        return self.request.agent_id

    @property
    def is_message(self) -> bool:
        """Whether a model was asked (not: tokens counted, the server probed)."""
        return self.method == "POST" and self.path.partition("?")[0] == "/v1/messages"


class Recorder:
    """Collects records; with ``path`` each is also appended there, as a line of JSON, before its answer."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = Path(path) if path is not None else None
        self._lock = threading.Lock()
        self._all: list[Recorded] = []

    def open(self, ts: float, method: str, path: str, headers: Mapping[str, str], body: Any) -> Recorded:
        """A new record, counted in the order of arrival."""
        with self._lock:
            record = Recorded(len(self._all) + 1, ts, method, path, headers, body)
            self._all.append(record)
            return record

    def write(self, record: Recorded) -> None:
        """Appends the record to the file, in one write so that readers see whole lines."""
        if self._path is None:
            return
        line = json.dumps(asdict(record)) + "\n"
        with self._lock, open(self._path, "ab", buffering=0) as f:
            f.write(line.encode())

    def all(self) -> list[Recorded]:
        with self._lock:
            return list(self._all)


def read_record(path: str | os.PathLike[str]) -> list[Recorded]:
    """The records an endpoint (perhaps in another process) has written; empty when there is no file yet."""
    file = Path(path)
    if not file.exists():
        return []
    rows = []
    for line in file.read_text("utf-8").split("\n"):
        if line:
            row = json.loads(line)
            row["problems"] = [Problem(**p) for p in row["problems"]]
            rows.append(Recorded(**row))
    return rows
