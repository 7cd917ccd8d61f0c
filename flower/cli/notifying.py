"""``--notify CMD``: a command of the person's runs when a question waits and when the run has ended."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

from flower.locale import _

MOST_CHARACTERS = 4000
"""An environment variable has a limit; a text for a person's pocket has a lower one."""


class Notifier:
    """Starts the command, never waits for it.

    ``sh -c CMD`` gets ``FLOWER_EVENT`` (``question`` or ``end``), ``FLOWER_TEXT``, ``FLOWER_WORKSPACE`` and, at the
    end, ``FLOWER_STATUS`` and ``FLOWER_EXIT_CODE``. It ignores Ctrl-C and the terminal's end, and outlives flower.
    It stays in flower's session: a child in another one would be taken for a leftover of an agent.

    Args:
        command: None does nothing.
        say: tells the person that it could not be started.
    """

    def __init__(self, command: str | None, say: Callable[[str], None]) -> None:
        self._command = command
        self._say = say
        self._started: list[subprocess.Popen[bytes]] = []

    def tell(self, event: str, text: str, **facts: str) -> None:
        """Start the command for one event."""
        if self._command is None:
            return
        words = {"event": event, "text": text[:MOST_CHARACTERS], **facts}
        told = {f"FLOWER_{name.upper()}": value.replace("\0", "") for name, value in words.items()}
        self._started = [process for process in self._started if process.poll() is None]
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", f"trap '' INT HUP\n{self._command}"],
                env={**os.environ, **told},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            self._say(_("--notify could not be started: {error}").format(error=error))
        else:
            self._started.append(process)

    def leave(self) -> None:
        """The process ends; commands that still run go on without it."""
        for process in self._started:
            process.returncode = process.poll() or 0  # nobody is left who could wait for it
        self._started.clear()
