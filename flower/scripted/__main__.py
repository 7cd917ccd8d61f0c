"""``python -m flower.scripted --script file.py:function``: the endpoint as a process of its own.

Prints its base URL as the first line of stdout and ends with the process that started it.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import select
import time
from typing import cast

from flower.scripted.script import Script
from flower.scripted.server import ScriptedEndpoint


def load_script(spec: str) -> Script:
    """The function or list of rules named by ``file.py:name`` or ``package.module:name``."""
    place, _, name = spec.rpartition(":")
    if not place:
        raise SystemExit(f"--script {spec}: expected file.py:name or package.module:name")
    if not place.endswith(".py"):
        return cast(Script, getattr(importlib.import_module(place), name))
    found = importlib.util.spec_from_file_location("flower_script", place)
    if found is None or found.loader is None or not os.path.exists(place):
        raise SystemExit(f"--script {spec}: no such file: {place}")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return cast(Script, getattr(module, name))


def wait_for_end_of(pid: int) -> None:
    """Returns when process ``pid``, our parent, has ended.

    Not PR_SET_PDEATHSIG: that fires already when the *thread* that started us ends.
    """
    if hasattr(os, "pidfd_open"):
        try:
            fd = os.pidfd_open(pid)
        except OSError:
            # The parent is already gone, or the kernel is too old: the loop below finds out which.
            pass
        else:
            if os.getppid() == pid:
                select.select([fd], [], [])
            return
    while os.getppid() == pid:
        time.sleep(0.2)


def main() -> None:
    parent = os.getppid()
    parser = argparse.ArgumentParser(prog="python -m flower.scripted", description=__doc__)
    parser.add_argument("--script", required=True, help="file.py:name or package.module:name")
    parser.add_argument("--port", type=int, default=0, help="0 = a free one")
    parser.add_argument("--record", help="append every request to this file, a line of JSON each")
    parser.add_argument("--window", type=int, help="context window in tokens")
    parser.add_argument("--lenient", action="store_true", help="answer what the API would refuse")
    args = parser.parse_args()
    script = load_script(args.script)
    endpoint = ScriptedEndpoint(
        script, port=args.port, record=args.record, window=args.window, strict=not args.lenient
    )
    with endpoint:
        print(endpoint.url, flush=True)
        wait_for_end_of(parent)


if __name__ == "__main__":
    main()
