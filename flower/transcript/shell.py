"""Which shell commands only look.

`is_ephemeral` answers two questions with one set: what a coordinator may run with its own hands, and whose
results expire after a while because running the command again is free. Anything that cannot be proved
harmless is refused: an option not known to be safe, an argument whose value the shell computes, a syntax
outside the lexer's subset.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from .lexer import Refused, Word, segments
from .shell_git import MANY_PATHS, git_only_looks
from .shell_scripts import awk_only_looks, sed_only_looks

Rule = Callable[[Sequence[str]], bool]


@lru_cache(maxsize=4096)  # a transcript repeats its commands
def _decide(cmd: str) -> bool:
    try:
        parts = segments(cmd)
    except Refused:
        return False
    return bool(parts) and all(_only_looks(words) for words in parts)


def is_ephemeral(cmd: str) -> bool:
    """True if every part of the command line only reads: nothing is written, started, changed or left
    running.

    Results of such commands lose their value with time and can be had again. Not text, empty text, or text
    in doubt: False.
    """
    return isinstance(cmd, str) and _decide(cmd)


def _only_looks(words: list[Word]) -> bool:
    name = words[0]
    if not name.plain:  # quoted, escaped or globbed names are how a table of names is dodged
        return False
    args = [word.text for word in words[1:]]
    if name.text in _ANY_ARGUMENT:
        return True
    rule = _RULES.get(name.text)
    if rule is None:
        return name.text in _VERSIONED and args in (
            ["--version"],
            ["version"] if name.text == "go" else ["-V"],
        )
    return rule(args) and all(_glob_is_harmless(word, name.text, args) for word in words[1:])


def _glob_is_harmless(word: Word, name: str, args: Sequence[str]) -> bool:
    """A glob becomes any number of words: harmless where more operands are, and only behind letters that
    keep it an operand.
    """
    if word.glob_at is None:
        return True
    if word.glob_at == 0 or word.text.startswith("-"):
        return False  # a file named like an option would become one
    return name in _MANY_OPERANDS or (name == "git" and bool(args) and args[0] in MANY_PATHS)


def abbreviates(option: str, forbidden: Sequence[str]) -> bool:
    """True if a long option is one of the forbidden ones, or a beginning of one: getopt accepts
    abbreviations.
    """
    name = option.split("=", 1)[0]
    return name.startswith("--") and len(name) > 2 and any(bad.startswith(name) for bad in forbidden)


def _without(letters: str = "", long: Sequence[str] = ()) -> Rule:
    """Any argument but these options; letters are looked for anywhere in a cluster such as `-xyz`."""

    def rule(args: Sequence[str]) -> bool:
        for arg in args:
            if arg.startswith("--"):
                if abbreviates(arg, long):
                    return False
            elif arg.startswith("-") and any(letter in arg for letter in letters):
                return False
        return True

    return rule


def _only(pattern: str, *, most: int | None = None) -> Rule:
    """Only arguments that match the pattern whole, at most so many."""
    compiled = re.compile(pattern)

    def rule(args: Sequence[str]) -> bool:
        return (most is None or len(args) <= most) and all(compiled.fullmatch(arg) for arg in args)

    return rule


_FIND_ALONE = frozenset(
    """
    -H -L -P -a -and -o -or -not -depth -d -daystart -empty -executable -readable -writable -false -true
    -follow -mount -xdev -ls -print -print0 -prune -quit -nouser -nogroup -noleaf -ignore_readdir_race
    -warn -nowarn
    """.split()
)
_FIND_VALUE = frozenset(
    """
    -amin -anewer -atime -cmin -cnewer -ctime -fstype -gid -group -ilname -iname -inum -ipath -iregex
    -iwholename -links -lname -maxdepth -mindepth -mmin -mtime -name -newer -newermt -path -perm -printf
    -regex -regextype -samefile -size -type -uid -user -wholename -xtype
    """.split()
)


def _find(args: Sequence[str]) -> bool:
    """Only tests and printing: the list says what is allowed, since every `find` has actions of its own."""
    position = 0
    while position < len(args):
        arg = args[position]
        if arg in _FIND_VALUE:
            position += 1  # its value may look like anything
            if (
                position < len(args)
                and args[position].startswith("-")
                and not re.fullmatch(r"-\w+", args[position])
            ):
                return False
            if position < len(args) and args[position] in (
                "-delete",
                "-exec",
                "-execdir",
                "-ok",
                "-okdir",
                "-rm",
            ):
                return False
        elif arg.startswith("-") and arg not in _FIND_ALONE:
            return False
        position += 1
    return not any(arg.startswith(("-exec", "-ok", "-delete", "-fprint", "-fls", "-rm")) for arg in args)


def _date(args: Sequence[str]) -> bool:
    rest = list(args)
    while rest:
        arg = rest.pop(0)
        if arg in ("-d", "-r"):
            if not rest or rest.pop(0).startswith("-"):
                return False
        elif not re.fullmatch(
            r"\+.*|-u|-R|-I\w*|--utc|--iso-8601(=\w+)?|--rfc-3339=\w+|--date=.*|--reference=.*", arg
        ):
            return False
    return True


def _uniq(args: Sequence[str]) -> bool:
    """The second operand of uniq is a file it writes."""
    return sum(not arg.startswith("-") or arg in ("-", "--") for arg in args) <= 1


def _command(args: Sequence[str]) -> bool:
    return len(args) >= 2 and args[0] in ("-v", "-V") and not any(arg.startswith("-") for arg in args[1:])


def _sort(args: Sequence[str]) -> bool:
    return _without("oT", ("--output", "--compress-program", "--temporary-directory"))(args)


def _tail(args: Sequence[str]) -> bool:
    """Not following: that never ends. `+5f` is the old way to ask for it."""
    return _without("fF", ("--follow", "--retry"))(args) and not any(
        re.fullmatch(r"\+\d+\w+", arg) for arg in args
    )


def _top(args: Sequence[str]) -> bool:
    """Batch mode with a number of rounds: it comes to an end by itself."""
    return (
        bool(args)
        and all(re.fullmatch(r"-?[bn\d]+|-bn\d+", arg) for arg in args)
        and "b" in args[0]
        and (any("n" in arg for arg in args))
    )


def _ip(args: Sequence[str]) -> bool:
    words = [arg for arg in args if not re.fullmatch(r"-(4|6|br|brief|s|o|c|j|json)", arg)]
    objects = {"a", "addr", "address", "l", "link", "r", "route", "n", "neigh"}
    return words[:1] != [] and words[0] in objects and words[1:] in ([], ["show"], ["list"])


# Every option and operand of these reads and prints, and nothing they print can be turned into a command by
# a later part.
_ANY_ARGUMENT = frozenset(
    """
    ls pwd cat head wc nl tac rev cut tr paste join fold fmt expand unexpand comm cmp diff cksum sum
    md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum od stat du df realpath readlink
    basename dirname echo true false uname nproc whoami id groups who w users uptime free last lscpu
    lsblk lsmod vmstat ps pgrep pidof which type whereis printenv locale getent seq tty column jq
    netstat
    """.split()
)

_GREP = _without(
    "Q", ("--pager", "--filter", "--save-config", "--view", "--query", "--config", "--filter-magic-label")
)
_RULES: dict[str, Rule] = {
    "arch": _only("", most=0),  # elsewhere `arch CMD` starts CMD
    "awk": awk_only_looks,
    "cd": _only(r"[^-].*|-|--", most=1),
    "command": _command,
    "date": _date,
    "egrep": _GREP,
    "env": _only("", most=0),
    "fgrep": _GREP,
    "file": _without("C", ("--compile",)),
    "find": _find,
    "gawk": awk_only_looks,
    "git": git_only_looks,
    "grep": _GREP,
    "hexdump": _only(r"-[bCcdovx]|-[ns]\d+|\d+|[^-].*"),
    "hostname": _only(r"-[fsidAI]+|--fqdn|--short|--ip-address|--all-ip-addresses|--domain"),
    "ifconfig": _only(r"-a", most=1),
    "ip": _ip,
    "less": _only(r"-[NSRFXinEe]+|[^-+].*"),
    "lsof": _without("D", ()),
    "man": _only(r"-[kfaw]|[^-].*"),
    "mawk": awk_only_looks,
    "more": _only(r"[^-+].*"),
    "nvidia-smi": _only("", most=0),
    "printf": _only(r"[^-].*|"),
    "rg": _without("", ("--pre", "--pre-glob", "--hostname-bin")),
    "sed": sed_only_looks,
    "sort": _sort,
    "ss": _without("DK", ("--diag", "--kill")),
    "tail": _tail,
    "top": _top,
    "tree": _without("oR", ("--output",)),
    "uniq": _uniq,
}
_MANY_OPERANDS = frozenset(
    """
    grep egrep fgrep rg find file tail sort tree less more hexdump
    """.split()
)
_VERSIONED = frozenset(
    """
    bash cargo clang cmake docker g++ gcc git go java make node npm perl php pip pip3 pnpm python
    python3 ruby ruff rustc uv yarn
    """.split()
)
