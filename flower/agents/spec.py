"""What an agent is: values only, importable without the SDK."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

CompactMode = Literal["auto", "no_summary", "off"]
PermissionMode = Literal["default", "acceptEdits", "plan", "bypassPermissions"]

READ_ONLY_TOOLS = ("Read", "Glob", "Grep")
"""What every role may do: look."""

_COMPACT_ENV: dict[str, tuple[str, str]] = {"auto": ("", ""), "no_summary": ("1", ""), "off": ("1", "1")}


@dataclass(frozen=True)
class CompactPolicy:
    """How the CLI's own compaction of a full context is set for one agent.

    Attributes:
        mode: ``auto`` lets the CLI summarise when the window is full; ``no_summary`` forbids that and keeps
            the manual kind, so that flower's handoff decides; ``off`` forbids both.
        window: tokens at which the CLI considers the context full; ``None`` leaves the model's own window.

    Raises:
        ValueError: another mode, or a window that is not positive.
    """

    mode: CompactMode = "auto"
    window: int | None = None

    def __post_init__(self) -> None:
        if self.mode not in _COMPACT_ENV:
            raise ValueError(f"compact mode {self.mode!r}: it is one of {', '.join(_COMPACT_ENV)}")
        if self.window is not None and self.window <= 0:
            raise ValueError(f"compact window {self.window}: it is a positive number of tokens")

    def env(self) -> dict[str, str]:
        """The variables for the CLI. Empty values are set too: they win over what a shell exported."""
        auto, manual = _COMPACT_ENV[self.mode]
        out = {"DISABLE_AUTO_COMPACT": auto, "DISABLE_COMPACT": manual}
        if self.window is not None:
            out["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = str(self.window)
        return out


@dataclass
class AgentSpec:
    """One agent: who it is and what it may touch.

    The same class describes a main agent and, inside ``agents``, the subagents that it may call.

    Attributes:
        name: shown to people; for a subagent the key in ``agents`` is what the model calls it by.
        instructions: appended to the CLI's own system prompt (a subagent's whole prompt). Keep it stable: a
            session's system prompt is the beginning of what the endpoint caches.
        description: when to call this subagent; unused for a main agent.
        allowed_tools: the tools this agent may use, and no others. ``mcp__server`` stands for all tools of
            a server.
        disallowed_tools: taken away from the agent and its subagents, whatever else is said.
        model: ``None`` is the environment's; a subagent then has its caller's.
        effort: how much the model thinks (``low``, ``medium``, ``high``, ``xhigh``, ``max``); ``None`` is
            the CLI's.
        max_turns: model turns before the step ends with an error; ``None`` is no limit.
        max_budget_usd: US dollars before the step ends with an error; ``None`` is no limit.
        permission_mode: the CLI's mode. Hooks approve what a role may do, so ``default`` runs unattended.
        agents: the subagents this agent may call, and no others.
        mcp_servers: MCP servers by name, as the SDK takes them.
        hooks: further SDK hooks (``{"PreToolUse": [HookMatcher(...)]}``). They can forbid, not permit: one
            refusal is enough.
        compact: the CLI's compaction; ``None`` lets the runtime decide.
        env: further environment variables of the CLI; they win over flower's defaults.
        glance: allow the main thread the shell commands whose results go stale and change nothing
            (``git status``, ``ls``), although Bash is not among its tools.
        workbench: tell the agent of the workbench, where the run has one.
        delegate_only: the main thread never uses hands-on tools itself, even listed ones: it reads, glances
            and calls subagents.
    """

    name: str
    instructions: str = ""
    description: str = ""
    allowed_tools: list[str] = field(default_factory=lambda: list(READ_ONLY_TOOLS))
    disallowed_tools: list[str] = field(default_factory=list)
    model: str | None = None
    effort: str | None = None
    max_turns: int | None = None
    max_budget_usd: float | None = None
    permission_mode: PermissionMode = "default"
    agents: dict[str, AgentSpec] = field(default_factory=dict)
    mcp_servers: dict[str, Any] = field(default_factory=dict)
    hooks: dict[str, list[Any]] = field(default_factory=dict)
    compact: CompactPolicy | None = None
    env: dict[str, str] = field(default_factory=dict)
    glance: bool = False
    workbench: bool = True
    delegate_only: bool = False
