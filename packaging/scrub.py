"""Takes the build machine out of the frozen tree, and reads from it what it needs of another machine."""

from __future__ import annotations

import re
import sys
import sysconfig
from importlib import import_module
from pathlib import Path

ORDINARY_PREFIXES = ("/usr", "/usr/local")


def remove_paths(tree: Path) -> None:
    """Make the place where this Python is installed unreadable in ELF strings (RUNPATH, sys.prefix).

    A frozen program uses none of them: the boot loader says where everything is. Only letters of the parent
    directory change, in place: linkers let one string be the tail of another ("3.11.7" of "/opt/3.11.7").
    """
    prefix = sys.base_prefix
    if prefix in ORDINARY_PREFIXES:
        return
    for path in binaries(tree):
        data = path.read_bytes()
        clean = data.replace(prefix.encode(), nowhere(prefix).encode())
        if clean != data:
            path.write_bytes(clean)


def nowhere(prefix: str) -> str:
    """A path of the same length and last part that exists nowhere."""
    parent, _, name = prefix.rpartition("/")
    return f"/{'_' * (len(parent) - 1)}/{name}" if parent else prefix


def write_sysconfigdata(directory: Path) -> None:
    """A copy of Python's record of how it was built, without the places where that happened."""
    name = sysconfig._get_sysconfigdata_name()  # type: ignore[attr-defined]
    values = {}
    for key, value in sorted(import_module(name).build_time_vars.items()):
        if isinstance(value, str):
            value = value.replace(sys.base_prefix, "/usr/local")
            if any(place in value for place in ("/tmp/", "/build/", "/home/", "/root/")):
                continue
        values[key] = value
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.py").write_text(f"build_time_vars = {values!r}\n", encoding="utf-8")


def binaries(tree: Path) -> list[Path]:
    """ELF files of the tree without the boot loader's, whose appended archive has nothing to replace."""
    found = []
    for path in sorted(tree.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.parent != tree:
            with path.open("rb") as stream:
                if stream.read(4) == b"\x7fELF":
                    found.append(path)
    return found


def glibc_floor(tree: Path) -> str:
    """The oldest glibc that has every versioned symbol the tree's libraries ask for; empty if they ask for none."""
    needed = [(0, 0)]
    for path in [*binaries(tree), tree / "flower"]:
        data = path.read_bytes()
        needed += [(int(a), int(b)) for a, b in re.findall(rb"GLIBC_(\d+)\.(\d+)(?:\.\d+)?\0", data)]
    top = max(needed)
    return f"{top[0]}.{top[1]}" if top > (0, 0) else ""


def normalise_modes(tree: Path) -> None:
    """755 for directories and programs, 644 for the rest, whatever the builder's umask was."""
    for path in [tree, *tree.rglob("*")]:
        if path.is_symlink():
            continue
        runs = path.is_dir() or path == tree / "flower" or path.suffix == ".sh"
        path.chmod(0o755 if runs else 0o644)
