"""What the CLI is told on its command line and in its environment: values only, importable without the SDK.

The SDK builds both by itself from its options. They are built here as well, so that the CLI can be on its way while
the SDK is still being imported (`flower.runtime.prestart`); a test compares the two for every kind of agent.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flower.agents.access import Access
from flower.agents.spec import AgentSpec, CompactPolicy, PermissionMode

PLUGIN_DIR = Path(__file__).parent / "plugin"

STANDARD_ENV: Mapping[str, str] = {
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    # The CLI's own memory lies in its config directory: inside run_dir, and elsewhere in each session.
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    # Its ten retries are three minutes of silence; flower waits and resumes by itself.
    "CLAUDE_CODE_MAX_RETRIES": "2",
}

RECORDING_ENV: Mapping[str, str] = {
    # Exported in a shell or set in a `.env` it would switch off the recording of the session.
    "CLAUDE_CODE_SKIP_PROMPT_HISTORY": "",
}

BUILTIN_AGENTS = ("claude", "Explore", "general-purpose", "Plan", "statusline-setup")
"""Agent types of the CLI's own: left out of what the model is told. A hook refuses them, these and others."""

# What a flower that is itself started by an agent must not hand on.
_OF_ANOTHER_SESSION = ("CLAUDECODE", "CLAUDE_AGENT_SDK_DERIVED_CLIENT_APP")
_SESSION_STATE = "CLAUDE_CODE_SDK_READS_SESSION_STATE"

_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_*.-]*")


@dataclass(frozen=True)
class SessionArgs:
    """Which conversation a subprocess runs.

    Attributes:
        new_id: the UUID of a fresh session or of a fork; ``None`` for a plain resume.
        resume: the session to continue or to fork from.
        fork: branch off; the original is untouched. Needs both ids.
        resume_at: with ``resume``, continue after the entry with this uuid and forget what followed.

    Raises:
        ValueError: a combination the CLI refuses or would silently take for something else.
    """

    new_id: str | None = None
    resume: str | None = None
    fork: bool = False
    resume_at: str | None = None

    def __post_init__(self) -> None:
        if self.fork and not (self.resume and self.new_id):
            raise ValueError("a fork needs the session it branches from and an id of its own")
        if not self.fork and bool(self.new_id) == bool(self.resume):
            raise ValueError("a session is either new (new_id) or continued (resume)")
        if self.resume_at and not self.resume:
            raise ValueError("resume_at needs a session to resume")

    @property
    def id(self) -> str:
        """The id the conversation will have."""
        return self.new_id or self.resume or ""


def system_append(spec: AgentSpec, access: Access) -> str:
    """What follows the CLI's own system prompt. Its bytes depend on the spec and on places only."""
    parts = [spec.instructions.strip()]
    if spec.workbench and access.workbench:
        parts.append(access.workbench.rules().strip())
    return "\n\n".join(p for p in parts if p)


def cli_mode(spec: AgentSpec) -> PermissionMode:
    """The permission mode the CLI itself is given.

    ``bypassPermissions`` is done by the hooks and the permission callback: with the CLI's own it refuses to
    start as root.
    """
    return "default" if spec.permission_mode == "bypassPermissions" else spec.permission_mode


def tools_of(spec: AgentSpec) -> list[str]:
    """The built-in tools the subprocess needs: what the role and its subagents use, sorted.

    The list binds subagents too, so it is the union; hooks hold each to its own. ToolSearch is left out on
    purpose: with it, MCP tools are sent without their descriptions.
    """
    names = set(spec.allowed_tools)
    if spec.glance:
        names.add("Bash")
    if spec.agents:
        names.add("Agent")
    for sub in spec.agents.values():
        names |= set(sub.allowed_tools)
    if odd := sorted(n for n in names if not _TOOL_NAME.fullmatch(n)):
        raise ValueError(
            f"allowed_tools: {odd[0]!r} is not a tool's name; rules in parentheses are not supported"
        )
    return sorted(n for n in names if not n.startswith("mcp__") and n not in spec.disallowed_tools)


def withheld_tools(spec: AgentSpec) -> list[str]:
    """What is taken from the agent and its subagents, agent types of the CLI's own included."""
    unlisted = [f"Agent({name})" for name in BUILTIN_AGENTS if name not in spec.agents] if spec.agents else []
    return [*spec.disallowed_tools, *unlisted]


def asks_the_person(spec: AgentSpec) -> bool:
    """Whether the agent or one of its subagents has a tool of the human channel."""
    wanted = [*spec.allowed_tools, *(t for sub in spec.agents.values() for t in sub.allowed_tools)]
    return any(t.startswith("mcp__human") for t in wanted)


def setting_sources(portable: bool) -> list[Any]:
    """Whose settings the CLI reads: nobody's, or the project's ``.claude/``."""
    return [] if portable else ["project"]


def outside_places(access: Access) -> list[str]:
    """A workbench outside of the workspace has to be named, or the CLI refuses to write there."""
    bench = access.workbench
    if bench is None or access.workspace == bench.root or access.workspace in bench.root.parents:
        return []
    return [str(bench.root)]


def command_line(
    spec: AgentSpec, *, access: Access, session: SessionArgs, portable: bool = True
) -> list[str]:
    """The CLI's arguments for this agent, as the SDK would give them for ``build_options`` of the same.

    The transcript is mirrored, permission prompts come over the control protocol.

    Raises:
        ValueError: as ``build_options``.
    """
    words = ["--output-format", "stream-json", "--verbose"]
    words += ["--append-system-prompt", system_append(spec, access)]
    words += ["--tools", ",".join(tools_of(spec))]
    if spec.max_turns:
        words += ["--max-turns", str(spec.max_turns)]
    if spec.max_budget_usd is not None:
        words += ["--max-budget-usd", str(spec.max_budget_usd)]
    if withheld := withheld_tools(spec):
        words += ["--disallowedTools", ",".join(withheld)]
    if spec.model:
        words += ["--model", spec.model]
    words += ["--permission-prompt-tool", "stdio"]
    if mode := cli_mode(spec):
        words += ["--permission-mode", mode]
    words += _session_words(session)
    for place in outside_places(access):
        words += ["--add-dir", place]
    if servers := _server_configurations(spec, access):
        words += ["--mcp-config", json.dumps({"mcpServers": servers})]
    words += ["--strict-mcp-config"] if portable else []
    words += ["--fork-session"] if session.fork else []
    words += [f"--resume-session-at={session.resume_at}"] if session.resume_at else []
    words += ["--session-mirror", f"--setting-sources={','.join(setting_sources(portable))}"]
    words += ["--plugin-dir", str(PLUGIN_DIR)]
    if spec.effort is not None:
        words += ["--effort", spec.effort]
    return [*words, "--input-format", "stream-json"]


def _session_words(session: SessionArgs) -> list[str]:
    resumed = [f"--resume={session.resume}"] if session.resume else []
    return resumed + ([f"--session-id={session.new_id}"] if session.new_id else [])


def _server_configurations(spec: AgentSpec, access: Access) -> dict[str, Any]:
    """What the CLI is told of the MCP servers; one in this process is a name and the SDK answers for it."""
    servers = {
        name: {key: value for key, value in config.items() if key != "instance"}
        for name, config in spec.mcp_servers.items()
    }
    if access.channel and asks_the_person(spec):
        servers.setdefault("human", {"type": "sdk", "name": "human"})
    return servers


def variables(spec: AgentSpec, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """What is set for one agent's CLI over what it inherits; ``env`` is the runtime's and wins over the spec's."""
    return {
        **STANDARD_ENV,
        **(spec.compact or CompactPolicy()).env(),
        **spec.env,
        **(env or {}),
        **RECORDING_ENV,
    }


def environment(spec: AgentSpec, env: Mapping[str, str], *, cwd: str | Path) -> dict[str, str]:
    """The whole environment of the CLI, as the SDK would make it of this process's and of ``variables``.

    Raises:
        importlib.metadata.PackageNotFoundError: the version of the SDK, which it tells the CLI, is not known.
    """
    out = {k: v for k, v in os.environ.items() if k not in _OF_ANOTHER_SESSION}
    out |= {"CLAUDE_CODE_ENTRYPOINT": "sdk-py", **variables(spec, env)}
    out["CLAUDE_AGENT_SDK_VERSION"] = importlib.metadata.version("claude-agent-sdk")
    # Frames that tell the SDK when the run is over. It asks for them unless somebody chose otherwise.
    if not any(name.upper() == _SESSION_STATE for name in out):
        out[_SESSION_STATE] = "1"
    return out | {"PWD": str(cwd)}
