"""A spec and its surroundings, turned into the SDK's options."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions, HookMatcher

from flower.agents.access import Access
from flower.agents.hooks.news import News, prompt_hook
from flower.agents.hooks.post_tool import failed_tool_hook, post_tool_hook
from flower.agents.hooks.pre_tool import pre_tool_hook
from flower.agents.hooks.safety import permission_callback
from flower.agents.spec import AgentSpec, CompactPolicy, PermissionMode

PLUGIN_DIR = Path(__file__).parent / "plugin"
MAX_BUFFER_BYTES = 64 << 20
"""One message may be this large: the SDK's own limit of 1 MiB ends a session at the first large result."""

HOOK_TIMEOUT_S = 3600.0
"""Seconds a hook may take. Ours take microseconds; a spec's own may ask a person."""

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


def build_options(
    spec: AgentSpec,
    *,
    cwd: str | Path,
    access: Access,
    session: SessionArgs,
    store: Any = None,
    cli_path: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    portable: bool = True,
    stderr: Callable[[str], None] | None = None,
) -> ClaudeAgentOptions:
    """The options of one subprocess.

    Args:
        spec: who speaks.
        cwd: the agent's working directory.
        access: what its hooks guard, the workbench and the person.
        session: which conversation.
        store: the SDK session store that mirrors the transcript; entries are flushed at once.
        cli_path: the executable to start; ``None`` is the bundled CLI itself.
        env: the runtime's variables (CLAUDE_CONFIG_DIR, CLAUDE_CODE_TMPDIR, the supervisor's). They win over
            the spec's own, which win over flower's defaults.
        portable: read no settings of the machine or the project; ``False`` reads the project's ``.claude/``.
        stderr: called with each line the CLI writes to stderr.

    Raises:
        ValueError: a tool is given with a rule (``Bash(git *)``): it would not be honoured.
    """
    return ClaudeAgentOptions(
        cwd=str(cwd),
        cli_path=cli_path,
        env={
            **STANDARD_ENV,
            **(spec.compact or CompactPolicy()).env(),
            **spec.env,
            **(env or {}),
            **RECORDING_ENV,
        },
        session_id=session.new_id,
        resume=session.resume,
        fork_session=session.fork,
        resume_session_at=session.resume_at,
        session_store=store,
        session_store_flush="eager",
        max_buffer_size=MAX_BUFFER_BYTES,
        # Otherwise `@path` in a prompt reads a file past all hooks, and a prompt that begins with `/` is a
        # command of the CLI's that the model never sees.
        verbatim_prompts=True,
        # Without a snapshot the prompt is built from what is passed here, also on resume.
        system_prompt={
            "type": "preset",
            "preset": "claude_code",
            "append": system_append(spec, access),
            "snapshot": False,
        },
        setting_sources=[] if portable else ["project"],
        plugins=[{"type": "local", "path": str(PLUGIN_DIR)}],
        tools=tools_of(spec),
        disallowed_tools=[*spec.disallowed_tools, *_unlisted_agents(spec)],
        agents={name: _definition(sub) for name, sub in spec.agents.items()} or None,
        mcp_servers=_servers(spec, access),
        strict_mcp_config=portable,
        permission_mode=cli_mode(spec),
        can_use_tool=permission_callback(spec, access),
        hooks=cast(Any, _hooks(spec, access, session)),
        model=spec.model,
        effort=cast(Any, spec.effort),
        max_turns=spec.max_turns,
        max_budget_usd=spec.max_budget_usd,
        add_dirs=_outside_places(access),
        stderr=stderr,
    )


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


def _unlisted_agents(spec: AgentSpec) -> list[str]:
    return [f"Agent({name})" for name in BUILTIN_AGENTS if name not in spec.agents] if spec.agents else []


def _definition(sub: AgentSpec) -> AgentDefinition:
    return AgentDefinition(
        description=sub.description or sub.name,
        prompt=sub.instructions,
        tools=list(sub.allowed_tools),
        disallowedTools=list(sub.disallowed_tools) or None,
        model=sub.model or "inherit",
        maxTurns=sub.max_turns,
        effort=cast(Any, sub.effort),
        background=False,
    )


def _servers(spec: AgentSpec, access: Access) -> dict[str, Any]:
    servers = dict(spec.mcp_servers)
    wanted = [*spec.allowed_tools, *(t for sub in spec.agents.values() for t in sub.allowed_tools)]
    if access.channel and any(t.startswith("mcp__human") for t in wanted):
        servers.setdefault("human", access.channel.server())
    return servers


def _hooks(spec: AgentSpec, access: Access, session: SessionArgs) -> dict[str, list[HookMatcher]]:
    hooks = {
        "PreToolUse": [_blocking(pre_tool_hook(spec, access))],
        "PostToolUse": [_blocking(post_tool_hook(spec, access))],
        "PostToolUseFailure": [_blocking(failed_tool_hook(spec, access))],
    }
    if spec.workbench and access.workbench:
        hooks["UserPromptSubmit"] = [_blocking(prompt_hook(_news(access, session)))]
    for event, matchers in spec.hooks.items():
        for matcher in matchers:
            # A spec's own hook fails closed as well, unless it says otherwise.
            matcher.on_failure = matcher.on_failure or "block"
            hooks.setdefault(event, []).append(matcher)
    return hooks


def _blocking(hook: Any) -> HookMatcher:
    return HookMatcher(matcher=None, hooks=[hook], timeout=HOOK_TIMEOUT_S, on_failure="block")


def _news(access: Access, session: SessionArgs) -> News:
    assert access.workbench is not None
    told = access.run_dir / "told"
    inherited = told / f"{session.resume}.json" if session.resume else None
    return News(access.workbench, told / f"{session.id}.json", inherited=inherited)


def _outside_places(access: Access) -> list[str | Path]:
    """A workbench outside of the workspace has to be named, or the CLI refuses to write there."""
    bench = access.workbench
    if bench is None or access.workspace == bench.root or access.workspace in bench.root.parents:
        return []
    return [str(bench.root)]
