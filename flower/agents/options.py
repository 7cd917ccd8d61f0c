"""A spec and its surroundings, turned into the SDK's options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions, HookMatcher

from flower.agents import argv
from flower.agents.access import Access
from flower.agents.argv import SessionArgs
from flower.agents.hooks.news import News, prompt_hook
from flower.agents.hooks.post_tool import failed_tool_hook, post_tool_hook
from flower.agents.hooks.pre_tool import pre_tool_hook
from flower.agents.hooks.safety import permission_callback
from flower.agents.spec import AgentSpec

MAX_BUFFER_BYTES = 64 << 20
"""One message may be this large: the SDK's own limit of 1 MiB ends a session at the first large result."""

HOOK_TIMEOUT_S = 3600.0
"""Seconds a hook may take. Ours take microseconds; a spec's own may ask a person."""


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
        env=argv.variables(spec, env),
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
            "append": argv.system_append(spec, access),
            "snapshot": False,
        },
        setting_sources=argv.setting_sources(portable),
        plugins=[{"type": "local", "path": str(argv.PLUGIN_DIR)}],
        tools=argv.tools_of(spec),
        disallowed_tools=argv.withheld_tools(spec),
        agents={name: _definition(sub) for name, sub in spec.agents.items()} or None,
        mcp_servers=_servers(spec, access),
        strict_mcp_config=portable,
        permission_mode=argv.cli_mode(spec),
        can_use_tool=permission_callback(spec, access),
        hooks=cast(Any, _hooks(spec, access, session)),
        model=spec.model,
        effort=cast(Any, spec.effort),
        max_turns=spec.max_turns,
        max_budget_usd=spec.max_budget_usd,
        add_dirs=list(argv.outside_places(access)),
        stderr=stderr,
    )


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
    if access.channel and argv.asks_the_person(spec):
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
