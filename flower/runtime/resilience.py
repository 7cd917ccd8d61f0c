"""Waiting for the network instead of failing with it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import anyio
import anyio.to_thread

from flower.config.endpoint import endpoint, reachable
from flower.locale import _

RESUME_PROMPT = (
    "The previous turn was cut off before it was finished. Look at what the workspace and the workbench already hold, "
    "then go on from where it stopped. Do not start over."
)
"""What a session is told after a failure. No error is named on purpose: the model should not discuss networks."""


@dataclass(frozen=True)
class Resilience:
    """When and how a failed attempt is tried again.

    Attributes:
        enabled: False turns every retry of flower off.
        max_attempts: CLI starts per step, the first included. Those that failed before an answer of the model
            came do not count any more: a step of many hours may lose its network more often than that.
        base_delay, max_delay: seconds; before attempt n+1 flower waits
            ``min(base_delay * 2**(n-1), max_delay) * (0.75 … 1.25)``, so that many runs do not come back at once.
        probe_timeout: seconds for one look whether the endpoint can be reached.
        probe_interval: seconds between looks.
        max_offline_wait: seconds after which the run stops waiting for the network or a limit. A machine that sleeps
            does not wait.
        retry_unknown: an error nobody knows is treated like a passing one.
        resume_prompt: what the session is told when it goes on.
    """

    enabled: bool = True
    max_attempts: int = 6
    base_delay: float = 4.0
    max_delay: float = 120.0
    probe_timeout: float = 5.0
    probe_interval: float = 15.0
    max_offline_wait: float = 3600.0
    retry_unknown: bool = True
    resume_prompt: str = RESUME_PROMPT

    def delay(self, attempt: int) -> float:
        """Seconds to wait after the ``attempt``-th attempt (1 = the first) has failed."""
        factor: float = 2.0 ** (attempt - 1)
        return min(self.base_delay * factor, self.max_delay) * (0.75 + random.random() * 0.5)

    async def wait_online(self, notify: Callable[[str, str], None]) -> bool:
        """Wait until the endpoint can be reached; True when it is, False after ``max_offline_wait``.

        ``notify(state, line)`` is called once when it is out of reach (``"begin"``) and once when it is back
        (``"end"``); nothing in between. Only DNS and a TCP handshake: a probe costs nothing.
        """
        host, port = endpoint()
        deadline = time.monotonic() + self.max_offline_wait
        told = False
        # A look that hangs must not keep a person waiting who stops the step: its thread ends by itself.
        look = partial(anyio.to_thread.run_sync, abandon_on_cancel=True)
        while not await look(reachable, host, port, self.probe_timeout):
            if not told:
                told = True
                minutes = max(1, round(self.max_offline_wait / 60))
                text = _("{host}:{port} unreachable, waiting (at most {minutes} min)")
                notify("begin", text.format(host=host, port=port, minutes=minutes))
            if time.monotonic() + self.probe_interval > deadline:
                return False
            await anyio.sleep(self.probe_interval)
        if told:
            notify("end", _("{host}:{port} is back, going on").format(host=host, port=port))
        return True
