"""flowerbox beside a bare `docker run`, and the image beside what it is made of.

`make image` and an engine that answers; empty where there is none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.table import Row, beside, in_turns

ROOT = Path(__file__).parents[1]
IMAGE = os.environ.get("FLOWER_IMAGE") or "flower-box"
STARTS = 10
MEGABYTE = 1e6


def rows() -> list[Row]:
    """One row a measurement; what is compared is measured in turns, in the same minutes."""
    if (
        not shutil.which("docker")
        or subprocess.run(["docker", "image", "inspect", IMAGE], capture_output=True).returncode
    ):
        return []
    return [*start(), size()]


def start() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="flower-bench-") as scratch:
        env = {k: v for k, v in os.environ.items() if k in ("PATH", "DOCKER_HOST")} | {"HOME": scratch}
        bare = ["docker", "run", "--rm", "--network", "none", IMAGE]
        boxed = [str(ROOT / "flowerbox"), "."]
        version, plain = in_turns(
            STARTS,
            lambda: seconds([*boxed, "--version"], env, scratch),
            lambda: seconds([*bare, "--version"], env, scratch),
        )
        project = Path(scratch, "project")
        project.mkdir()
        # Mounts, marks, the watch and the search for unwatched boxes are part of this one.
        whole, beneath = in_turns(
            STARTS,
            lambda: seconds([*boxed[:1], str(project), "cache"], env | {"FLOWER_NETWORK": "none"}, scratch),
            lambda: seconds([*bare, "cache"], env, scratch),
        )
    name = "docker run"
    return [
        beside("flowerbox . --version", version, name, plain, "s", 1.3),
        beside("flowerbox DIR cache (all of a start)", whole, name, beneath, "s"),
    ]


def seconds(words: list[str], env: dict[str, str], place: str) -> float:
    begun = time.perf_counter()
    subprocess.run(words, env=env, cwd=place, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return time.perf_counter() - begun


def size() -> Row:
    """The image over its base, its packages and the frozen tree: what else there is must be small."""
    layers = subprocess.run(
        ["docker", "history", "--no-trunc", "--human=false", "--format", "{{.Size}}\t{{.CreatedBy}}", IMAGE],
        check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    sizes = [(int(number), what) for number, what in (line.split("\t", 1) for line in layers)]
    whole = sum(number for number, _ in sizes)
    copied = sum(number for number, what in sizes if "/opt/flower" in what and "apt-get" not in what)
    tree = sum(
        p.lstat().st_size for p in (ROOT / "dist/flower").rglob("*") if p.is_file() and not p.is_symlink()
    )
    parts = whole - copied + tree
    return Row(
        "the image",
        whole / MEGABYTE,
        "MB",
        f"base, packages, tree: {parts / MEGABYTE:.0f}",
        whole / parts,
        1.1,
    )


if __name__ == "__main__":
    for row in rows():
        print(row)
