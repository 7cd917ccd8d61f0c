"""The SDK's transport to a CLI that runs already: lines, ends, and a close that lets it finish."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from claude_agent_sdk import CLIConnectionError, CLIJSONDecodeError, ProcessError

from flower.runtime import transport
from flower.runtime.transport import Lines, Prestarted

Use = Callable[[Prestarted], Awaitable[Any]]


def talk(program: str, use: Use, *, limit: int = 1 << 20, stderr: list[str] | None = None) -> Any:
    """Start a Python program, let ``use`` talk to it, close."""

    async def main() -> Any:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = await anyio.open_process([sys.executable, "-Sc", program], **pipes)
        side = Prestarted(process, limit=limit, stderr=(stderr if stderr is not None else []).append)
        await side.connect()
        try:
            return await use(side)
        finally:
            await side.close()
            assert process.returncode is not None

    return asyncio.run(main())


async def everything(side: Prestarted) -> list[dict[str, Any]]:
    return [message async for message in side.read_messages()]


def test_messages_come_whole_whatever_the_chunks_and_noise_is_none() -> None:
    long = "ü" * 300_000
    program = (
        "import sys, time\nout = sys.stdout.buffer\n"
        f'text = (\'[debug] noise\\n\\n{{"a": 1}}\\r\\n{{"b": "\' + \'ü\' * {len(long)} + \'"}}\\n{{"c": 3}}\').encode()\n'
        "for i in range(0, len(text), 70_001): out.write(text[i:i + 70_001]); out.flush(); time.sleep(0.001)\n"
    )
    assert talk(program, everything) == [{"a": 1}, {"b": long}, {"c": 3}]


def test_what_was_cut_off_at_the_end_is_dropped_and_a_broken_line_is_not() -> None:
    assert talk("print('{\"a\": 1}\\n{\"b\": ', end='')", everything) == [{"a": 1}]
    with pytest.raises(CLIJSONDecodeError):
        talk("print('{broken')", everything)


@pytest.mark.parametrize("end", ["\\n", ""])
def test_a_message_that_is_too_long_is_refused_complete_or_not(end: str) -> None:
    with pytest.raises(CLIJSONDecodeError, match="1000 bytes"):
        talk(f"print('x' * 1001, end='{end}', flush=True); input()", everything, limit=1000)


def test_lines_are_joined_once() -> None:
    lines = Lines(100)
    assert [list(lines.push(c)) for c in (b"a", b"b\nc", b"", b"\n\nd")] == [[], [b"ab"], [], [b"c", b""]]
    assert lines.rest() == b"d" and lines.rest() == b""


def test_a_status_other_than_0_is_told_with_the_last_words() -> None:
    said: list[str] = []
    with pytest.raises(ProcessError) as told:
        talk("import sys; sys.stderr.write('no such\\n\\nlast words'); sys.exit(3)", everything, stderr=said)
    assert told.value.exit_code == 3
    assert said == ["no such", "last words"]


def test_what_is_written_arrives_and_after_the_end_of_input_nothing_can_be() -> None:
    async def use(side: Prestarted) -> list[dict[str, Any]]:
        assert side.is_ready()
        reading = asyncio.create_task(everything(side))
        await asyncio.gather(*(side.write(json.dumps({"n": n, "x": "y" * 99_999}) + "\n") for n in range(9)))
        await side.end_input()
        with pytest.raises(CLIConnectionError):
            await side.write("{}\n")
        return await reading

    echo = "import sys\nfor line in sys.stdin: print(line, end='')"
    assert [m["n"] for m in talk(echo, use)] == list(range(9))


def test_writing_to_one_that_has_ended_is_an_error_of_the_connection() -> None:
    async def use(side: Prestarted) -> None:
        await everything(side)
        with pytest.raises(CLIConnectionError):
            for _ in range(3):  # the first may still fit into the pipe
                await side.write("x" * 200_000)

    talk("", use)


def test_close_lets_it_write_what_it_still_has_to_write(tmp_path: Path) -> None:
    async def nothing(side: Prestarted) -> None:
        await side.close()
        await side.close()

    file = tmp_path / "session"
    talk(
        f"import sys, time; sys.stdin.read(); time.sleep(0.3); open({str(file)!r}, 'w').write('all')", nothing
    )
    assert file.read_text() == "all"


@pytest.mark.parametrize("deaf_to_term", [False, True])
def test_close_ends_one_that_does_not_go(deaf_to_term: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "PATIENCE_S", 0.2)

    async def first_message(side: Prestarted) -> dict[str, Any]:
        return await anext(side.read_messages())

    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" if deaf_to_term else ""
    program = deaf + "import time; print('{\"up\": 1}', flush=True); time.sleep(600)"
    assert talk(program, first_message) == {"up": 1}
