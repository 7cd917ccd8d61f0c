"""Which sed and awk invocations only look: both languages can write files and start programs."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ADDRESS = r"(?:\d+|\$|/(?:[^/\\]|\\.)*/I?)"
_SUBSTITUTE = r"s(?P<d>[/|,#:@])(?:(?!(?P=d))[^\\]|\\.)*(?P=d)(?:(?!(?P=d))[^\\]|\\.)*(?P=d)[gpIi0-9]*"
_BRACKETS = r"\[\^?(?:[A-Za-z0-9 _.*+-]|\[:\w+:\])+\]"
_SED_COMMAND = re.compile(
    rf"\s*(?:{_ADDRESS}(?:\s*,\s*(?:{_ADDRESS}|[+~]\d+))?)?\s*!?\s*(?:p|d|=|q\d*|{_SUBSTITUTE})\s*(?:;\s*|$)"
)


def sed_only_looks(args: Sequence[str]) -> bool:
    """Printing, deleting lines of the stream and substitution; no `w`, `e`, `r`, no script file, never in
    place.
    """
    scripts: list[str] = []
    operands: list[str] = []
    rest = list(args)
    while rest:
        arg = rest.pop(0)
        if re.fullmatch(r"-[nErsuz]*e", arg):
            if not rest:
                return False
            scripts.append(rest.pop(0))
        elif re.fullmatch(r"-[nErsuz]+|--quiet|--silent|--regexp-extended|--posix", arg):
            continue
        elif arg.startswith("-"):
            return False
        else:
            operands.append(arg)
    if not scripts:
        scripts, operands = operands[:1], operands[1:]
    return bool(scripts) and all(_sed_script(script) for script in scripts)


def _sed_script(script: str) -> bool:
    simple = re.sub(_BRACKETS, "", re.sub(r"\\.", "", script))
    if "[" in simple:  # whether a delimiter inside brackets ends the expression differs between seds
        return False
    at = 0
    while at < len(script):
        command = _SED_COMMAND.match(script, at)
        if command is None or command.end() == at:
            return False
        at = command.end()
    return bool(script)


def awk_only_looks(args: Sequence[str]) -> bool:
    """A program without output redirection, pipes, `system` and gawk's extensions, given on the command
    line.
    """
    rest = list(args)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-F", "-v"):
            if not rest:
                return False
            rest.pop(0)
        elif not re.fullmatch(r"-F[^-].*|-v[A-Za-z_]\w*=.*", option):
            return False
    if not rest or any(arg.startswith("-") for arg in rest):
        return False
    program = rest[0].replace("||", "").replace(">=", "")
    return not re.search(r"system|[|>@`]|getline|close|fflush", program)
