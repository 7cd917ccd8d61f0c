"""What follows a failed attempt: wait and go on, begin anew, or stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import anyio

from flower.locale import _
from flower.model import ConfigurationError, Event, NetworkGaveUp, StepFailed
from flower.runtime.classify import (
    FATAL,
    TRANSIENT,
    UNKNOWN,
    classify,
    is_refusal,
    is_unknown_conversation,
    reset_time,
)
from flower.runtime.flight import Flight, Launch, Patience
from flower.runtime.resilience import Resilience

if TYPE_CHECKING:
    from flower.runtime.attempt import Outcome
    from flower.runtime.runtime import Runtime

SENT_AWAY_SECONDS = 60.0
"""The CLI waits out a ``retry-after`` of up to a minute. A longer one makes it give up at once, and it does not say
how long it was told to wait (measured): then this is the least."""

LOOK_AT_THE_CLOCK_SECONDS = 5.0
"""A wait until a time of day looks at the clock so often: a machine that slept meanwhile must not wait for longer."""


def check_saved(flight: Flight, outcome: Outcome) -> None:
    """A step whose entries are nowhere but in the CLI's own files has failed, however well it went.

    Raises:
        StepFailed: entries could not be saved.
    """
    if outcome.mirror_failed:
        text = _(
            "entries of this step could not be saved; they stay in {place} and are tried again at the next start"
        )
        raise StepFailed(text.format(place=f"live/{flight.row.session_id}"))


async def after_failure(rt: Runtime, flight: Flight, outcome: Outcome, launch: Launch) -> Launch | None:
    """The next launch after a failed attempt, or None if the step has failed.

    Raises:
        ConfigurationError: credentials, billing, model or TLS were refused: waiting would change nothing.
        NetworkGaveUp: the endpoint or a limit stayed away for longer than ``max_offline_wait``.
        HumanInterrupt: the person left while the step waited.
    """
    policy, row = rt.resilience, flight.row
    row.errors.append(outcome.error)
    if is_unknown_conversation(outcome.error):
        return Launch(launch.full_prompt, launch.full_prompt)
    verdict = classify(outcome.error, status=outcome.status, error=outcome.kind, reason=outcome.reason)
    if verdict == FATAL and is_refusal(outcome.error, status=outcome.status, error=outcome.kind):
        raise ConfigurationError(outcome.error, hint=_("Check it with `flower setup`."))
    if not policy.enabled or verdict == FATAL or (verdict == UNKNOWN and not policy.retry_unknown):
        return None
    if outcome.answered and verdict == TRANSIENT:
        # Only what passes by itself: an agent whose every answer breaks the CLI must not go on for ever.
        flight.patience = Patience()
    if not await _wait(flight, policy, outcome):
        return None
    following = _following(rt, outcome, launch, row.session_id)
    if flight.stopping:
        return await rt.after_stop_of(flight, following, delivered=False)
    return following


def _following(rt: Runtime, outcome: Outcome, launch: Launch, session: str) -> Launch:
    if not outcome.delivered:
        return replace(launch, counts=True)
    if rt.has_session(session):
        return Launch(rt.resilience.resume_prompt, launch.full_prompt, session)
    return Launch(launch.full_prompt, launch.full_prompt)


async def _wait(flight: Flight, policy: Resilience, outcome: Outcome) -> bool:
    """Wait as the failure asks for; False when the attempts are used up. A stop by a person ends the wait."""
    now = datetime.now(timezone.utc).astimezone()
    ends = outcome.resets_at or _named_end(outcome.error, now)
    patience = flight.patience
    if ends and outcome.error != patience.limit:
        await _until(flight, policy, ends, outcome.error)
        return True
    if ends is not None:
        await _poll(flight, policy, outcome.error)
        return True
    patience.failures += 1
    if patience.failures >= policy.max_attempts:
        return False
    await _online(flight, policy)
    asked = min(SENT_AWAY_SECONDS, policy.max_delay) if outcome.sent_away else outcome.retry_after
    await _pause(flight, max(policy.delay(patience.failures), asked), outcome.error)
    return True


def _named_end(text: str, now: datetime) -> float | None:
    """When the limit in the text ends, epoch seconds; 0.0 if it names an end nobody understands; None: no limit."""
    limit = reset_time(text, now)
    if limit is None:
        return None
    return limit.at.timestamp() if limit.at else 0.0


async def _until(flight: Flight, policy: Resilience, ends: float, reason: str) -> None:
    seconds = ends - time.time()
    if seconds > policy.max_offline_wait:
        at = datetime.fromtimestamp(ends).astimezone().isoformat(timespec="minutes")
        raise NetworkGaveUp(
            _("the limit ends at {at}, later than this run may wait").format(at=at),
            hint=_("Run flower again then: it goes on where it stopped."),
        )
    # Clocks differ: where the same limit is named again at its end it is polled.
    flight.patience.limit = reason
    _tell(flight, max(0.0, seconds), reason)
    while (left := ends - time.time()) > 0 and not flight.stopping:
        with anyio.move_on_after(min(left, LOOK_AT_THE_CLOCK_SECONDS)):
            await flight.wait_for_stop()


async def _poll(flight: Flight, policy: Resilience, reason: str) -> None:
    """One round of waiting for a limit that does not say when it ends; trying it costs nothing and no attempt."""
    patience = flight.patience
    seconds = policy.probe_interval
    if patience.polled + seconds > policy.max_offline_wait:
        raise NetworkGaveUp(
            _("gave up waiting for the limit to end: {reason}").format(reason=reason),
            hint=_("Run flower again later: it goes on where it stopped."),
        )
    patience.polled += seconds
    await _pause(flight, seconds, reason)


async def _online(flight: Flight, policy: Resilience) -> None:
    def tell(state: str, line: str) -> None:
        flight.emit(Event("wait", text=line, data={"state": state}))

    notify: Callable[[str, str], None] = tell
    patience = flight.patience
    if patience.offline:
        # After one whole wait in vain, one attempt shows whether only the probes are kept out; then it is over.
        policy, notify = replace(policy, max_offline_wait=0.0), _say_nothing
    if await _unless_stopped(flight, policy.wait_online(notify)):
        patience.offline = False
    elif patience.offline and not flight.stopping:
        raise NetworkGaveUp(
            _("gave up waiting for the network"),
            hint=_("Run flower again when it is back: it goes on where it stopped."),
        )
    else:
        patience.offline = not flight.stopping


def _say_nothing(_state: str, _line: str) -> None:
    """The person has been told already."""


async def _unless_stopped(flight: Flight, wait: Coroutine[Any, Any, bool]) -> bool:
    """What the wait returns; False as soon as a person stops the step."""
    waiting, stop = asyncio.ensure_future(wait), asyncio.ensure_future(flight.wait_for_stop())
    try:
        await asyncio.wait({waiting, stop}, return_when=asyncio.FIRST_COMPLETED)
        return waiting.result() if waiting.done() else False
    finally:
        waiting.cancel()
        stop.cancel()


async def _pause(flight: Flight, seconds: float, reason: str) -> None:
    _tell(flight, seconds, reason)
    with anyio.move_on_after(seconds):
        await flight.wait_for_stop()


def _tell(flight: Flight, seconds: float, reason: str) -> None:
    data = {"attempt": flight.row.attempts, "delay_s": round(seconds, 1), "reason": reason}
    flight.emit(Event("retry", text=reason, data=data))
