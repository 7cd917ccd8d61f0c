"""The one file beside flower in a virtual environment: how long a start takes and how large it is.

`make binary`, then `python -m benchmarks.frozen`. Empty where nothing is built.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.table import Row, beside, in_turns

ROOT = Path(__file__).parents[1]
DIST = Path(os.environ.get("FLOWER_DIST") or ROOT / "dist")
CLAUDE = Path("flower/_internal/claude_agent_sdk/_bundled/claude")
STARTS = 15
FIRST_STARTS = 3


def rows() -> list[Row]:
    """One row a measurement; what is compared is measured in turns, in the same minute."""
    built = sorted(DIST.glob(f"flower-*-{sys.platform}-*"))
    if not built:
        return []
    return [*starts(built[-1]), *sizes(built[-1])]


def starts(binary: Path) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="flower-bench-") as scratch:
        place = Path(scratch)
        env = {"PATH": os.environ["PATH"], "HOME": scratch, "LANG": "C.UTF-8"}
        first = []
        for number in range(FIRST_STARTS):
            env["FLOWER_CACHE"] = str(place / f"cache{number}")
            first.append(seconds([str(binary), "--version"], env, place))
        out = [Row("the one file: first start", statistics.median(first), "s", bound=5.0)]
        # A directory that remembers something, so that there is something to tell.
        subprocess.run([str(binary), "demo"], env=env, cwd=place, check=True, capture_output=True)
        venv = str(Path(sys.executable).with_name("flower"))
        for word in ("--version", "status"):
            frozen, plain = in_turns(
                STARTS,
                lambda word=word: seconds([str(binary), word], env, place / "demo"),  # type: ignore[misc]
                lambda word=word: seconds([venv, word], env, place / "demo"),  # type: ignore[misc]
            )
            out.append(beside(f"{word} from the one file", frozen, "venv", plain, "s", 1.3))
        return out


def seconds(words: Sequence[str], env: dict[str, str], place: Path) -> float:
    begun = time.perf_counter()
    subprocess.run(words, env=env, cwd=place, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return time.perf_counter() - begun


def sizes(binary: Path) -> list[Row]:
    import zstandard

    level = int(os.environ.get("LEVEL") or 10)
    parameters = zstandard.ZstdCompressionParameters.from_level(
        level, threads=os.cpu_count() or 1, window_log=25 if level > 15 else 23
    )
    compressor = zstandard.ZstdCompressor(compression_params=parameters)
    claude = len(compressor.compress((DIST / CLAUDE).read_bytes()))
    whole = binary.stat().st_size
    beside = f"claude, zstd -{level}: {claude / 1e6:.1f} MB"
    return [
        Row("the one file", whole / 1e6, "MB", beside, whole / claude, 1.15),
        Row("all but claude in it", (whole - claude) / 1e6, "MB", bound=30.0),
    ]


if __name__ == "__main__":
    for row in rows():
        print(row)
