"""The command ``flower`` on a disk that fails: ``python -m tests.faulty_flower N KIND once|always REPORT [arguments…]``.

The N-th operation on the books' files or on the database fails; how many there were, and whether it struck, is written
to REPORT at the end.
"""

from __future__ import annotations

import atexit
import json
import sys
from pathlib import Path

from flower.books import files
from tests.faults import Fault, FaultyOps, FaultyVFS


def main() -> None:
    n, kind, how, report, *arguments = sys.argv[1:]
    fault = Fault(int(n), kind, how == "always")
    vfs = FaultyVFS("faulty", default=True)
    vfs.fault, files.ops = fault, FaultyOps(fault)

    def tell() -> None:
        Path(report).write_text(
            json.dumps({"count": fault.count, "hit": fault.hit, "seen": fault.seen[fault.n - 1 :][:3]})
        )

    atexit.register(tell)
    from flower.cli.main import main as flower

    flower(arguments)


if __name__ == "__main__":
    main()
