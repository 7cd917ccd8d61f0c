"""What the frozen flower contains besides what the imports show."""

from __future__ import annotations

import importlib.util
import pkgutil
import re
import sys
import sysconfig
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent

LEFT_OUT = [
    # Of flower: the tool that maintains catalogues.
    "flower.locale.maintain",
    # Of the standard library: its tests, what needs a display, what installs software.
    "test",
    "idlelib",
    "lib2to3",
    "tkinter",
    "_tkinter",
    "turtle",
    "turtledemo",
    "ensurepip",
    "distutils",
    "pydoc_data",
    # Gone since Python 3.13; it alone would bring Kerberos and Sun's RPC.
    "nis",
]

READ_SUFFIXES = (".md", ".json", ".mo", ".sh")

NEEDLESS_HOOKS = ("pyi_rth_inspect", "pyi_rth_pkgutil", "pyi_rth_multiprocessing", "pyi_rth__tkinter")
"""PyInstaller's run-time hooks that would import half of the standard library before ``--version`` is answered.

They serve ``inspect.getsource`` and ``pkgutil`` on bundled modules, which nobody asks for; worker processes
are started by entry.py.
"""

READ_AT_RUN_TIME = (
    "prompt_toolkit",
    "claude-agent-sdk",
    "mcp",
    "opentelemetry-api",
    "pydantic",
    "jsonschema",
    "click",
    "anyio",
)
"""Distributions that are asked for their version or entry points while flower runs."""


def not_ours() -> list[str]:
    """Top-level modules of what is installed here and no requirement of flower leads to.

    Many packages use another if it is there. What goes in must not depend on what else the builder's environment
    holds, or two builds of one commit would differ.
    """
    required = requirements()
    mine: set[str] = set()
    others: set[str] = set()
    for found in distributions():
        names = {
            path.parts[0].partition(".")[0] for path in found.files or () if path.suffix in (".py", ".so")
        }
        (mine if canonical(found.metadata["Name"]) in required else others).update(names)
    return sorted(name for name in others - mine - sys.stdlib_module_names if name.isidentifier())


def requirements() -> set[str]:
    """Names of the distributions that pyproject.toml asks for, and of all that those ask for."""
    with (ROOT / "pyproject.toml").open("rb") as stream:
        wanted = [Requirement(line) for line in tomllib.load(stream)["project"]["dependencies"]]
    found = {"flower-agent"}
    seen: set[tuple[str, str]] = set()
    while wanted:
        asked = wanted.pop()
        name = canonical(asked.name)
        for extra in ("", *asked.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            try:
                below = [Requirement(line) for line in distribution(name).requires or ()]
            except PackageNotFoundError:  # its marker says another system
                continue
            found.add(name)
            wanted += [one for one in below if one.marker is None or one.marker.evaluate({"extra": extra})]
    return found


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def standard_library() -> list[str]:
    """Every module of the standard library that a workflow may import, `LEFT_OUT` excepted.

    A workflow is a file the build never sees: what it imports must be there already.
    """
    stdlib = sysconfig.get_path("stdlib")
    found: list[str] = []
    for name in sorted(sys.stdlib_module_names):
        if name in LEFT_OUT or name in ("antigravity", "this", "__main__"):
            continue
        if importlib.util.find_spec(name) is None:  # another system's
            continue
        found.append(name)
        package = Path(stdlib, name)
        if package.is_dir():
            found += _below(package, f"{name}.")
    return found


def _below(package: Path, prefix: str) -> list[str]:
    out = []
    for module in pkgutil.iter_modules([str(package)], prefix):
        leaf = module.name.rpartition(".")[2]
        if leaf in ("test", "tests", "__main__", "idle_test") or module.name in LEFT_OUT:
            continue
        out.append(module.name)
        if module.ispkg:
            out += _below(package / leaf, f"{module.name}.")
    return out


def data_files(root: Path) -> list[tuple[str, str]]:
    """(source, directory in the bundle) of every file that is read at run time and is no module."""
    kept = []
    for path in sorted((root / "flower").rglob("*")):
        inside = path.relative_to(root)
        if (
            path.is_file()
            and path.suffix in READ_SUFFIXES
            and not any(p.endswith("_cache") for p in inside.parts)
        ):
            kept.append((str(path), str(inside.parent)))
    return kept + _metadata()


def _metadata() -> list[tuple[str, str]]:
    """Name, version and entry points. Not RECORD and direct_url.json: they tell where it was built."""
    out = []
    for name in READ_AT_RUN_TIME:
        try:
            where = Path(str(distribution(name).locate_file("")), distribution(name)._path.name)  # type: ignore[attr-defined]
        except PackageNotFoundError:
            continue
        wanted = [where / name for name in ("METADATA", "entry_points.txt")]
        out += [(str(path), where.name) for path in wanted if path.exists()]
    return out
