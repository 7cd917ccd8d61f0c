"""Which git command lines only look."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

# Long options that write a file or start a program. Git takes any unambiguous beginning of them as well.
_HARMFUL = (
    "--output",
    "--ext-diff",
    "--open-files-in-pager",
    "--exec",
    "--upload-pack",
    "--textconv",
    "--filters",
    "--exec-path",
    "--show-signature",
)


def git_only_looks(args: Sequence[str]) -> bool:
    """True for `git [--no-pager|-P|--no-optional-locks|-C DIR]… SUBCOMMAND …` where the subcommand reads and
    the options are safe.

    `-c`, `--config-env`, `--git-dir` and the like are refused: through them a configuration with aliases and
    hooks comes in.
    """
    rest = list(args)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "-C":
            if not rest or rest.pop(0).startswith("-"):
                return False
        elif option == "--version":
            return not rest
        elif option not in ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"):
            return False
    if not rest:
        return False
    rule = _SUBCOMMANDS.get(rest[0])
    return rule is not None and not any(_harmful(arg) for arg in rest[1:]) and rule(rest[1:])


def _harmful(arg: str) -> bool:
    name = arg.split("=", 1)[0]
    return name.startswith("--") and len(name) > 2 and any(bad.startswith(name) for bad in _HARMFUL)


def _any(args: Sequence[str]) -> bool:
    return True


def _listing(flags: str, selecting: str) -> Callable[[Sequence[str]], bool]:
    """A command that lists or creates by its operands: operands only beside an option that can only mean
    listing.
    """
    alone, with_operand = re.compile(flags), re.compile(selecting)

    def rule(args: Sequence[str]) -> bool:
        listing = any(with_operand.fullmatch(arg) for arg in args)
        for arg in args:
            if arg.startswith("-"):
                if not (alone.fullmatch(arg) or with_operand.fullmatch(arg)):
                    return False
            elif not listing:
                return False
        return True

    return rule


_branch = _listing(
    r"-[arv]|-vv|-l|-[arv]{2,3}|--all|--remotes|--verbose|--show-current|--(sort|format|color|column|abbrev)=.*"
    r"|--no-color|--no-column",
    r"--list|--(no-)?contains(=.*)?|--(no-)?merged(=.*)?|--points-at(=.*)?",
)
_tag = _listing(
    r"-n\d*|--(sort|format|color|column)=.*|--(no-)?(contains|merged)=.*|--points-at=.*", r"-l|--list"
)


def _grep(args: Sequence[str]) -> bool:
    return not any(arg.startswith("-") and not arg.startswith("--") and "O" in arg for arg in args)


def _remote(args: Sequence[str]) -> bool:
    return list(args) in ([], ["-v"], ["--verbose"], ["show"]) or (
        len(args) == 2 and args[0] == "get-url" and not args[1].startswith("-")
    )


def _reflog(args: Sequence[str]) -> bool:
    if not args or args[0] == "show":
        return True
    return (
        all(re.fullmatch(r"HEAD(@\{.*\})?|-n|-?\d+|-n\d+|--oneline", arg) for arg in args)
        and not args[0].isdigit()
    )


def _config(args: Sequence[str]) -> bool:
    scope = r"--(global|local|system|worktree|show-origin|show-scope|name-only|null)|-z"
    rest = [arg for arg in args if not re.fullmatch(scope, arg)]
    if rest and rest[0] in ("--get", "--get-all", "--get-regexp"):
        return len(rest) == 2 and not rest[1].startswith("-")
    return rest in (["--list"], ["-l"]) or (
        len(rest) == 1 and bool(re.fullmatch(r"[A-Za-z][\w-]*\.[\w.-]+", rest[0]))
    )


def _cat_file(args: Sequence[str]) -> bool:
    return len(args) == 2 and args[0] in ("-p", "-t", "-s", "-e") and not args[1].startswith("-")


def _rev_parse(args: Sequence[str]) -> bool:
    return "--parseopt" not in args


MANY_PATHS = frozenset(
    """
    status diff log show shortlog blame annotate ls-files ls-tree diff-tree diff-index diff-files
    check-ignore grep
    """.split()
)
_SUBCOMMANDS: dict[str, Callable[[Sequence[str]], bool]] = {
    **dict.fromkeys(
        """
        status diff log show shortlog describe blame annotate rev-list name-rev merge-base ls-files ls-
        tree for-each-ref count-objects diff-tree diff-index diff-files show-ref show-branch check-
        ignore check-attr cherry whatchanged version
        """.split(),
        _any,
    ),
    "branch": _branch,
    "cat-file": _cat_file,
    "config": _config,
    "grep": _grep,
    "reflog": _reflog,
    "remote": _remote,
    "rev-parse": _rev_parse,
    "stash": lambda args: args[:1] in (["list"], ["show"]),
    "tag": _tag,
    "worktree": lambda args: list(args) in (["list"], ["list", "-v"], ["list", "--porcelain"]),
}
