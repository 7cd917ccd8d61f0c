"""What ``--version -v`` says: which parts this flower is made of."""

from __future__ import annotations

import json
import platform
import re
import sys
from importlib import metadata
from pathlib import Path

from flower.locale import _
from flower.supervise import find_claude


def parts() -> list[str]:
    """Lines that follow the version: Python, SDK and CLI, and what the frozen program needs of a system."""
    facts = build_facts()
    made_of = {
        "Python": facts.get("python") or platform.python_version(),
        "claude-agent-sdk": facts.get("sdk") or _sdk_version(),
        "claude": facts.get("claude") or _claude_version(),
    }
    lines = [f"{name} {value}" for name, value in made_of.items()]
    if facts:
        needs = _("one-file build for {system} {arch}; needs glibc {glibc} or newer")
        if not facts.get("glibc"):
            needs = _("one-file build for {system} {arch}")
        lines.append(needs.format(system=sys.platform, arch=facts["arch"], glibc=facts.get("glibc")))
    return lines


def build_facts() -> dict[str, str]:
    """What the build wrote down about itself; empty when this is not the frozen program."""
    path = Path(__file__).parents[1] / "build.json"
    if not (getattr(sys, "frozen", False) and path.is_file()):
        return {}
    facts: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return facts


def _sdk_version() -> str:
    try:
        return metadata.version("claude-agent-sdk")
    except metadata.PackageNotFoundError:
        return "?"


def _claude_version() -> str:
    """The version of the bundled CLI, read from the SDK's source: starting 400 MB only to ask takes seconds."""
    source = find_claude().parents[1] / "_cli_version.py"
    if not source.is_file():
        return str(find_claude())
    found = re.search(r'__cli_version__ = "(.+)"', source.read_text(encoding="utf-8"))
    return found[1] if found else "?"
