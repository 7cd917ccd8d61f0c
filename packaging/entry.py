"""Where the frozen program begins: the boot loader's traces go, then it is the guard or the command line."""

from __future__ import annotations

import os
import sys


def forget_the_boot_loader() -> None:
    """Give this process, and so everything it starts, the environment the person had.

    The boot loader pointed ``LD_LIBRARY_PATH`` at the bundled libraries. They are loaded by now; a system's
    program that finds that variable would load them too.
    """
    from flower.supervise.freezer import without_freezer

    wanted = without_freezer(dict(os.environ))
    for name in set(os.environ) - set(wanted):
        del os.environ[name]
    if "LD_LIBRARY_PATH" in wanted:
        os.environ["LD_LIBRARY_PATH"] = wanted["LD_LIBRARY_PATH"]


def is_worker(argv: list[str]) -> bool:
    """Whether multiprocessing of a workflow started this process, instead of a Python interpreter."""
    helper = argv[-2:-1] == ["-c"] and argv[-1].startswith("from multiprocessing.")
    return helper or argv[1:2] == ["--multiprocessing-fork"]


def become_worker(argv: list[str]) -> None:
    """Do what multiprocessing wants of an interpreter, then end."""
    from multiprocessing import forkserver, resource_tracker, spawn

    if argv[1] == "--multiprocessing-fork":
        spawn.freeze_support()  # type: ignore[attr-defined]
    kind, _, call = argv[-1].partition(";")
    module = forkserver if "forkserver" in kind else resource_tracker
    exec(call, {"main": module.main})
    sys.exit()


if __name__ == "__main__":
    forget_the_boot_loader()
    if os.environ.get("FLOWER_GUARD") == "1":
        from flower.supervise.guard import main as guard

        # Not sys.exit: nothing is worth the time of a tidy interpreter shutdown.
        os._exit(guard())

    if is_worker(sys.argv):
        become_worker(sys.argv)
    from flower.cli.main import main

    main()
