"""Events wait for their entries, in order, and whoever writes faster than the books is held up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from claude_agent_sdk import InMemorySessionStore

from flower.model import Event
from flower.runtime.mirror import Mirror
from flower.runtime.outbox import AHEAD, Outbox

KEY = {"project_key": "p", "session_id": "s"}
UUIDS = [f"00000000-0000-4000-8000-{n:012}" for n in range(AHEAD + 100)]


def entry(uuid: str) -> dict[str, Any]:
    return {"type": "user", "uuid": uuid, "message": {"role": "user", "content": "x"}}


def test_reading_stops_while_the_books_lag_and_goes_on_when_they_have_caught_up() -> None:
    async def run() -> list[str]:
        seen: list[str] = []
        mirror = Mirror(InMemorySessionStore(), "s")
        outbox = Outbox(mirror, lambda event: seen.append(event.uuid))
        delivering = asyncio.create_task(outbox.deliver())
        read = 0
        held_at = 0

        async def reading() -> None:
            nonlocal read
            for uuid in UUIDS:
                outbox.put(Event("text", "x", uuid=uuid))
                read += 1
                await outbox.keep_pace()
            outbox.close()

        reader = asyncio.create_task(reading())
        while not held_at:
            before = read
            await asyncio.sleep(0.01)
            held_at = read if read == before else 0
        assert AHEAD <= held_at <= AHEAD + 1 and not seen
        for uuid in UUIDS:
            await mirror.append(KEY, [entry(uuid)])
            await asyncio.sleep(0)
        await asyncio.wait_for(asyncio.gather(reader, delivering), 30)
        return seen

    assert asyncio.run(run()) == UUIDS


def test_what_was_put_before_has_passed_once_its_entry_is_durable() -> None:
    async def run() -> None:
        seen: list[str] = []
        mirror = Mirror(InMemorySessionStore(), "s")
        outbox = Outbox(mirror, lambda event: seen.append(event.uuid))
        delivering = asyncio.create_task(outbox.deliver())
        outbox.put(Event("text", "x", uuid=UUIDS[0]))
        passed = asyncio.create_task(outbox.passed())
        impatient = asyncio.create_task(outbox.passed())
        await asyncio.sleep(0.05)
        assert not passed.done() and not seen
        impatient.cancel()
        await mirror.append(KEY, [entry(UUIDS[0])])
        await asyncio.wait_for(passed, 30)
        assert seen == [UUIDS[0]]
        outbox.close()
        await delivering
        await asyncio.wait_for(outbox.passed(), 30)  # nothing comes any more: nobody waits

    asyncio.run(run())


def test_a_receiver_that_raises_lets_everybody_go() -> None:
    async def run() -> None:
        def broken(_event: Event) -> None:
            raise ValueError("the receiver")

        outbox = Outbox(Mirror(InMemorySessionStore(), "s"), broken)
        delivering = asyncio.create_task(outbox.deliver())
        for _ in range(AHEAD + 2):
            outbox.put(Event("notice", "x"))
        passed = asyncio.create_task(outbox.passed())
        await asyncio.wait_for(asyncio.gather(outbox.keep_pace(), passed), 30)
        with pytest.raises(ValueError, match="the receiver"):
            await delivering

    asyncio.run(run())
