"""The entry point of the command ``flower``.

``--version`` and ``--help`` must answer at once, so nothing heavy is imported before a command really runs.
"""

from __future__ import annotations

import os
import sys

from flower import __version__, locale
from flower.cli.arguments import asks_for_more, asks_for_version, value_of, with_command
from flower.cli.pipes import finish, open_missing

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from collections.abc import Sequence

    from flower.cli.jsonl import JsonLines


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its status."""
    if os.environ.get("FLOWER_GUARD") == "1" and getattr(sys, "frozen", False):
        # The frozen program is its own guard: there is no interpreter to start one with.
        from flower.supervise.guard import main as guard

        sys.exit(guard())
    open_missing()
    words = list(sys.argv[1:] if argv is None else argv)
    if asks_for_version(words):
        print(f"flower {__version__}")
        if asks_for_more(words):
            from flower.cli.version import parts

            print("\n".join(parts()))
        sys.exit(finish(0))
    sys.exit(finish(run(words)))


def run(words: Sequence[str]) -> int:
    """Run one command line and return its exit status."""
    if hasattr(sys.stdout, "reconfigure"):
        # A model's words must not end the run because the locale cannot spell them.
        sys.stdout.reconfigure(errors="backslashreplace")
    locale.use(value_of("--lang", words))

    wants_json = "--json" in (words[: words.index("--")] if "--" in words else words)
    sink = _sink() if wants_json else None
    from flower.cli.exits import OK
    from flower.cli.quick import quick

    if answer := quick(words):
        verbose = "-v" in words or "--verbose" in words
        try:
            answer(sink)
            return OK
        except (Exception, KeyboardInterrupt) as error:
            return _failed(error, sink, verbose)
    return _through_click(words, sink)


def _sink() -> JsonLines:
    from flower.cli.jsonl import JsonLines

    return JsonLines()


def _through_click(words: Sequence[str], sink: JsonLines | None) -> int:
    import click

    from flower.cli.exits import OK, USAGE
    from flower.cli.group import flower
    from flower.cli.options import Invocation

    if "_FLOWER_COMPLETE" in os.environ:  # a shell asks what the Tab key may put there
        from flower.cli.completion import register

        register()
    invocation, stdout = Invocation(sink), sys.stdout
    try:
        code = flower.main(with_command(words), prog_name="flower", standalone_mode=False, obj=invocation)
        return code if isinstance(code, int) else OK
    except click.exceptions.Exit as done:
        return done.exit_code
    except SystemExit:
        if sys.stdout is not stdout:
            return OK  # by click, when nobody reads: a reader that has enough is no failure
        raise
    except click.ClickException as problem:
        problem.show()
        if sink is not None and not sink.ended:
            sink.end("usage-error", USAGE)
        return USAGE
    except (Exception, KeyboardInterrupt) as error:
        # What click makes of Ctrl-C and of the end of input at a prompt.
        cause = error.__cause__ or KeyboardInterrupt() if isinstance(error, click.Abort) else error
        return _failed(cause, sink, invocation.verbose)


def _failed(error: BaseException, sink: JsonLines | None, verbose: bool) -> int:
    from flower.cli.exits import ending_of

    ending = ending_of(error)
    _explain(error, ending.message, verbose)
    if sink is not None and not sink.ended:
        sink.end(ending.status, ending.exit_code)
    return ending.exit_code


def _explain(error: BaseException, message: str, verbose: bool) -> None:
    try:
        if verbose:
            import traceback

            traceback.print_exception(type(error), error, error.__traceback__)
        if message:
            print(f"flower: {message}", file=sys.stderr)
    except (BrokenPipeError, ValueError):
        pass  # nobody reads stderr any more; the status says it
