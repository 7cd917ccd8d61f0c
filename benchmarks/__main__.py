"""`make bench`: every measurement, one table. `make bench ARGS="start books"` for some of them."""

from __future__ import annotations

import importlib
import os
import platform
import sys
import traceback

from benchmarks.table import HEADER

MODULES = ("start", "cold", "books", "hooks", "transcript", "resume", "endurance", "frozen", "box")
"""In this order; each has `rows()`, which is empty where what it measures is not there."""


def machine() -> str:
    """What the numbers depend on."""
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    except OSError:  # not Linux
        names = []
    cpu = names[0] if names else platform.processor() or platform.machine()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    system = f"{platform.system()} {platform.release()}"
    return f"{os.cpu_count()} x {cpu}; {system}; Python {platform.python_version()}; load {load}"


def main(names: list[str]) -> int:
    """Print the table; 1 where a measurement failed, a bound that does not hold is in the table only."""
    if unknown := sorted(set(names) - set(MODULES)):
        print(f"no such measurement: {', '.join(unknown)}; there are: {', '.join(MODULES)}", file=sys.stderr)
        return 2
    print(machine(), HEADER, sep="\n", flush=True)
    failed = []
    for name in names or MODULES:
        try:
            found = importlib.import_module(f"benchmarks.{name}").rows()
        except Exception:  # one that fails must not hide the others
            traceback.print_exc()
            failed.append(name)
            continue
        print(*(found or [f"({name}: nothing to measure here)"]), sep="\n", flush=True)
    print(f"load at the end: {os.getloadavg()[0]:.1f}")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
