"""What follows a failed attempt: wait and go on, begin anew, or stop."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import anyio

from flower.locale import _
from flower.model import ConfigurationError, Event, NetworkGaveUp, StepFailed
from flower.runtime.classify import FATAL, UNKNOWN, classify, is_unknown_conversation, reset_time
from flower.runtime.flight import Flight, Launch

if TYPE_CHECKING:
    from flower.runtime.attempt import Outcome
    from flower.runtime.runtime import Runtime

_REFUSED = ("authentication_failed", "billing_error", "oauth_org_not_allowed")


async def after_failure(rt: Runtime, flight: Flight, outcome: Outcome, launch: Launch) -> Launch | None:
    """The next launch after a failed attempt, or None if the step has failed.

    Raises:
        ConfigurationError: credentials, billing or TLS were refused: waiting would change nothing.
        NetworkGaveUp: the endpoint or a limit stayed away for longer than ``max_offline_wait``.
        StepFailed: entries could not be saved.
    """
    policy, row = rt.resilience, flight.row
    row.errors.append(outcome.error)
    if outcome.mirror_failed:
        raise StepFailed(_("entries of this step could not be saved: {error}").format(error=outcome.error))
    if is_unknown_conversation(outcome.error):
        return Launch(launch.full_prompt, launch.full_prompt)
    verdict = classify(outcome.error, status=outcome.status, error=outcome.kind, reason=outcome.reason)
    if verdict == FATAL and _is_refusal(outcome):
        raise ConfigurationError(outcome.error, hint=_("Check it with `flower setup`."))
    if not policy.enabled or verdict == FATAL or (verdict == UNKNOWN and not policy.retry_unknown):
        return None
    if row.attempts >= policy.max_attempts:
        return None
    await _wait(rt, flight, outcome)
    if not outcome.delivered:
        return replace(launch, counts=True)
    if rt.has_session(row.session_id):
        return Launch(policy.resume_prompt, launch.full_prompt, row.session_id)
    return Launch(launch.full_prompt, launch.full_prompt)


def _is_refusal(outcome: Outcome) -> bool:
    """401, billing, TLS: nothing but a person changing something helps."""
    if outcome.kind in _REFUSED or outcome.status in (401, 402, 403):
        return True
    text = outcome.error.lower()
    words = (
        "certificate",
        "cert_",
        "credit balance",
        "api key",
        "authenticat",
        "bearer",
        "oauth",
        "organization",
        "401",
    )
    return any(word in text for word in words)


async def _wait(rt: Runtime, flight: Flight, outcome: Outcome) -> None:
    policy, row = rt.resilience, flight.row
    now = datetime.now(timezone.utc).astimezone()
    limit = reset_time(outcome.error, now)
    if limit is not None and limit.at is not None:
        seconds = (limit.at - now).total_seconds()
        if seconds > policy.max_offline_wait:
            text = _("the limit ends at {at}, later than this run may wait").format(
                at=limit.at.isoformat(timespec="minutes")
            )
            raise NetworkGaveUp(text, hint=_("Run flower again then: it goes on where it stopped."))
        await _sleep(flight, seconds, outcome.error)
        return

    def notify(state: str, line: str) -> None:
        flight.emit(Event("wait", text=line, data={"state": state}))

    if not await policy.wait_online(notify) and row.attempts + 1 >= policy.max_attempts:
        raise NetworkGaveUp(
            _("gave up waiting for the network"),
            hint=_("Run flower again when it is back: it goes on where it stopped."),
        )
    await _sleep(flight, policy.delay(row.attempts), outcome.error)


async def _sleep(flight: Flight, seconds: float, reason: str) -> None:
    data = {"attempt": flight.row.attempts, "delay_s": round(seconds, 1), "reason": reason}
    flight.emit(Event("retry", text=reason, data=data))
    with anyio.move_on_after(seconds):
        await flight.wait_for_stop()
