"""The words of the command line before click sees them: which one is the command?"""

from __future__ import annotations

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = (
    *("go", "once", "run", "setup", "demo"),
    *("status", "steps", "sessions", "show", "report", "export", "import", "adopt", "doctor", "cache"),
    "completion",
)
DEFAULT_COMMAND = "go"

GLOBAL_FLAGS = ("-v", "--verbose", "--json", "-h", "--help", "--version", "-W", "--workbench", "-T", "--trim")
GLOBAL_VALUES = ("-w", "--workspace", "-r", "--run-dir", "--lang")


def width_of_global(word: str) -> int:
    """How many words a global option takes, itself included; 0 if ``word`` does not begin one.

    Understands ``--opt=value``, ``-wDIR`` and clusters of short flags (``-vw DIR``).
    """
    if word in GLOBAL_FLAGS:
        return 1
    if word in GLOBAL_VALUES:
        return 2
    if word.startswith("--"):
        return 1 if "=" in word and word.split("=", 1)[0] in GLOBAL_VALUES else 0
    if not word.startswith("-"):
        return 0
    for at, letter in enumerate(word[1:], start=1):
        if f"-{letter}" in GLOBAL_VALUES:
            return 1 if word[at + 1 :] else 2
        if f"-{letter}" not in GLOBAL_FLAGS:
            return 0
    return 1 if len(word) > 1 else 0


def first_word(words: Sequence[str]) -> int:
    """Index of the first word that is neither a global option nor the value of one.

    ``len(words)`` if there is none.
    """
    at = 0
    while at < len(words) and (width := width_of_global(words[at])):
        at += width
    return min(at, len(words))


def with_command(words: Sequence[str]) -> list[str]:
    """The words with ``go`` put in front of the first one that is not a command.

    ``flower go run`` keeps "run" as the request; ``flower -h`` and ``flower --version`` stay as they are.
    """
    at = first_word(words)
    if at < len(words):
        return list(words) if words[at] in COMMANDS else [*words[:at], DEFAULT_COMMAND, *words[at:]]
    if any(asked in words for asked in ("-h", "--help", "--version")):
        return list(words)
    return [*words, DEFAULT_COMMAND]


def value_of(option: str, words: Sequence[str]) -> str | None:
    """The value of a global option, found before the options are parsed; the last one counts."""
    found = None
    for at, word in enumerate(words):
        if word == "--":
            break
        if word == option and at + 1 < len(words):
            found = words[at + 1]
        elif word.startswith(f"{option}="):
            found = word.split("=", 1)[1]
    return found


def asks_for_more(words: Sequence[str]) -> bool:
    """``-v`` among the options before the command, alone or in a cluster of short flags."""
    before = words[: first_word(words)]
    return any(w == "--verbose" or (w[:1] == "-" and w[:2] != "--" and "v" in w[1:]) for w in before)


def asks_for_version(words: Sequence[str]) -> bool:
    """``--version`` among the options before the command: answered before anything is imported."""
    return "--version" in words[: first_word(words)]
