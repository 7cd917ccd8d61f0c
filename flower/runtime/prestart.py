"""The CLI on its way while the SDK is still being imported.

Importing the SDK takes longer than the CLI needs to come up, and neither needs the other before the first message is
exchanged. So where the SDK is not loaded yet, the CLI is started first and handed to the SDK as a transport. Where it
is loaded there is nothing to gain, and the SDK starts the CLI itself.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

from flower.agents import argv

if TYPE_CHECKING:
    from anyio.abc import Process

    from flower.agents.access import Access
    from flower.agents.argv import SessionArgs
    from flower.agents.spec import AgentSpec


async def prestart(
    spec: AgentSpec,
    *,
    access: Access,
    session: SessionArgs,
    cli_path: str,
    env: Mapping[str, str],
    portable: bool,
) -> Process | None:
    """Start the CLI as the SDK would; None where the SDK is to do it.

    Its arguments are those of ``build_options``. Whoever calls ends the process, or hands it to ``Prestarted``.
    """
    # An application that traces passes its context on, and knows how; its SDK is loaded as a rule.
    if "claude_agent_sdk" in sys.modules or "opentelemetry" in sys.modules:
        return None
    cwd = access.workspace
    # Whatever is wrong with the start, the SDK's own attempt says it in its own words.
    with suppress(OSError, importlib.metadata.PackageNotFoundError):
        return await anyio.open_process(
            [cli_path, *argv.command_line(spec, access=access, session=session, portable=portable)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=argv.environment(spec, env, cwd=cwd),
        )
    return None
