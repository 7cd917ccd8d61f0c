"""A CLI process that is already running, as the SDK's transport."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
from claude_agent_sdk import CLIConnectionError, CLIJSONDecodeError, ProcessError, Transport

if TYPE_CHECKING:
    from anyio.abc import Process

PATIENCE_S = 5.0
"""Seconds the CLI has after the end of its input, and again after SIGTERM. It writes its session file in them."""


class Lines:
    """Chunks in, complete lines out; each byte is copied once however long a line is.

    Args:
        limit: bytes that a line may have.

    Raises:
        CLIJSONDecodeError: (from ``push``) a line is longer, complete or not.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._length = 0

    def push(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that this chunk completes."""
        *complete, rest = chunk.split(b"\n")
        for part in complete:
            self._add(part)
            yield self.rest()
        self._add(rest)

    def _add(self, part: bytes) -> None:
        self._parts.append(part)
        self._length += len(part)
        if self._length > self._limit:
            problem = ValueError(f"{self._length} bytes, at most {self._limit}")
            raise CLIJSONDecodeError(f"a message exceeded the buffer of {self._limit} bytes", problem)

    def rest(self) -> bytes:
        """What has come since the last complete line; it begins anew."""
        line = b"".join(self._parts)
        self._parts, self._length = [], 0
        return line


class Prestarted(Transport):
    """The SDK's transport to a CLI that was started before the SDK was there.

    Args:
        process: the CLI, or the guard in front of it, with pipes.
        limit: bytes that one message may have.
        stderr: called with each line the CLI writes to stderr.
    """

    def __init__(self, process: Process, *, limit: int, stderr: Callable[[str], None]) -> None:
        self._process = process
        self._limit = limit
        self._stderr = stderr
        self._listening: asyncio.Task[None] | None = None
        self._writing = anyio.Lock()
        self._ready = False
        self._closed = False

    async def connect(self) -> None:
        """Begin to listen; the process has been running for a while."""
        if self._listening is None:
            self._listening = asyncio.create_task(self._hear_stderr())
            self._ready = True

    def is_ready(self) -> bool:
        return self._ready

    async def write(self, data: str) -> None:
        async with self._writing:
            if not self._ready or self._process.stdin is None:
                raise CLIConnectionError("the CLI's input is closed")
            try:
                await self._process.stdin.send(data.encode())
            except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as problem:
                self._ready = False
                raise CLIConnectionError(f"the CLI does not read any more: {problem}") from problem

    async def end_input(self) -> None:
        async with self._writing:
            await self._close_stdin()

    async def _close_stdin(self) -> None:
        self._ready = False
        if self._process.stdin is not None:
            with suppress(OSError, anyio.BrokenResourceError):  # it has ended by itself
                await self._process.stdin.aclose()

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Every message up to the end of the CLI.

        Raises:
            ProcessError: it ended with a status other than 0.
            CLIJSONDecodeError: a message is too long, or a complete line is broken.
        """
        assert self._process.stdout is not None
        lines = Lines(self._limit)
        with suppress(anyio.ClosedResourceError):
            async for chunk in self._process.stdout:
                for line in lines.push(chunk):
                    if (message := parse(line)) is not None:
                        yield message
        # Without its newline a message was cut off in the middle, or it is whole all the same.
        with suppress(CLIJSONDecodeError):
            if (message := parse(lines.rest())) is not None:
                yield message
        if status := await self._process.wait():
            raise ProcessError(f"the CLI ended with status {status}", exit_code=status)

    async def _hear_stderr(self) -> None:
        assert self._process.stderr is not None
        rest = ""
        with suppress(anyio.ClosedResourceError):
            async for chunk in self._process.stderr:
                *lines, rest = (rest + chunk.decode(errors="replace")).split("\n")
                for line in lines:
                    self._tell(line)
                rest = rest[-self._limit :]
        self._tell(rest)

    def _tell(self, line: str) -> None:
        if line.strip():
            self._stderr(line.rstrip())

    async def close(self) -> None:
        """End the CLI's input, wait until it has written its session file and is gone; idempotent.

        One that does not go by itself is ended by its guard, with everything below it.
        """
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(PATIENCE_S):
                await self.end_input()
            for end in (None, self._process.terminate, self._process.kill):
                if end is not None:
                    with suppress(ProcessLookupError):
                        end()
                with anyio.move_on_after(PATIENCE_S):
                    await self._process.wait()
                    break
            await self._stop_listening()
            await self._process.aclose()

    async def _stop_listening(self) -> None:
        if self._listening is not None:
            # The last words are in the pipe already; a process that the CLI left behind may hold it open.
            with anyio.move_on_after(0.1):
                await asyncio.wait([self._listening])
            self._listening.cancel()
            await asyncio.wait([self._listening])


def parse(line: bytes) -> dict[str, Any] | None:
    """The message in one line; None where a line is none, as some builds of the CLI write.

    Raises:
        CLIJSONDecodeError: it begins like one and is broken.
    """
    line = line.strip()
    if not line.startswith(b"{"):
        return None
    try:
        message: dict[str, Any] = json.loads(line)
    except ValueError as problem:
        raise CLIJSONDecodeError(line[:200].decode(errors="replace"), problem) from problem
    return message
