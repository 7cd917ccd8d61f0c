"""Takes the build machine out of the frozen tree, and reads from it what it needs of another machine."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ORDINARY_PREFIXES = ("/usr", "/usr/local")


def remove_paths(tree: Path) -> None:
    """Replace the place where this Python is installed, in ELF strings (RUNPATH, sys.prefix), by /usr/local.

    A frozen program uses none of them: the boot loader says where everything is. Each string keeps its
    length, the rest is filled with NUL.
    """
    prefix = sys.base_prefix
    if prefix in ORDINARY_PREFIXES:
        return
    pattern = re.compile(re.escape(prefix.encode()) + rb"([^\0]*)\0")
    for path in binaries(tree):
        data = path.read_bytes()
        clean = pattern.sub(lambda m: (b"/usr/local" + m[1]).ljust(len(m[0]), b"\0"), data)
        if clean != data:
            path.write_bytes(clean)


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
