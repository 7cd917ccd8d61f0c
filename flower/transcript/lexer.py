"""A lexer for the harmless corner of the shell language.

It knows words, quotes, `|`, `||`, `&&`, `;` and redirections that write nowhere. Everything else
(substitution, expansion, grouping, background, here-documents, line breaks) is not skipped but refused,
because what is not understood may write. Only what bash and zsh read the same way is accepted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SAFE_UNQUOTED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./,:=@%^~!]")
_GLOB = frozenset("*?[")
_REF_SUFFIX = re.compile(r"@\{[A-Za-z0-9-]*\}")
_DISCARD = re.compile(r"(?:&>|>>?)[ \t]*/dev/null(?=[ \t|;&]|$)|>&[12](?=[ \t|;&]|$)")
_OPERATOR = re.compile(r"\|\||&&|\||;")


class Refused(ValueError):
    """The text is outside the accepted subset; the message says what was met."""


@dataclass(frozen=True)
class Word:
    """One word after quote removal.

    `plain`: written without any quote, escape or glob. `glob_at`: index of the first character from which
    the shell may put file names in, None if none.
    """

    text: str
    plain: bool = True
    glob_at: int | None = None


def segments(command: str) -> list[list[Word]]:
    """Splits a command line into its simple commands; raises Refused for anything outside the subset."""
    if not isinstance(command, str):
        raise Refused("not text")
    scanner = _Scanner(command.strip(" \t\n"))
    return scanner.run()


class _Scanner:
    def __init__(self, text: str) -> None:
        for ch in text:
            if ch != "\t" and not (" " <= ch <= "~") and not (ch > "\x7f" and ch.isprintable()):
                raise Refused(f"character {ch!r}")
        self.text = text
        self.at = 0
        self.done: list[list[Word]] = []
        self.words: list[Word] = []

    def run(self) -> list[list[Word]]:
        text = self.text
        last_operator = ""
        while self.at < len(text):
            if text[self.at] in " \t":
                self.at += 1
            elif discard := _DISCARD.match(text, self.at):
                self.at = discard.end()
            elif operator := _OPERATOR.match(text, self.at):
                self._end_segment()
                last_operator = operator.group()
                self.at = operator.end()
            else:
                self._word()
        if self.words or last_operator != ";":
            self._end_segment()
        return self.done

    def _end_segment(self) -> None:
        if not self.words:
            raise Refused("empty command")
        self.done.append(self.words)
        self.words = []

    def _word(self) -> None:
        text, start = self.text, self.at
        if text[start] == "#":
            raise Refused("comment")
        out: list[str] = []
        plain, glob_at = True, None
        while self.at < len(text):
            ch = text[self.at]
            if ch in " \t|;&>":
                break
            if ch in "'\"\\":
                plain = False
                out.append(self._quoted(ch))
            elif ref := _REF_SUFFIX.match(text, self.at):
                out.append(ref.group())
                self.at = ref.end()
            elif text.startswith("$?", self.at):
                plain = False
                out.append("0")  # an exit status: always a small number, whatever it is
                self.at += 2
            elif ch in _GLOB or (ch == "^" and not out):  # zsh can be set to read a leading ^ as a glob
                plain = False
                glob_at = sum(map(len, out)) if glob_at is None else glob_at
                out.append(ch)
                self.at += 1
            elif ch in _SAFE_UNQUOTED or ch == "#" or ch > "\x7f":
                out.append(ch)
                self.at += 1
            else:
                raise Refused(f"{ch!r} outside quotes")
        word = text[start : self.at]
        if (
            self.at < len(text)
            and text[self.at] == ">"
            and word.isascii()
            and word.isdigit()
            and _DISCARD.match(text, self.at)
        ):
            return  # the number belongs to the redirection: `2>&1`
        if self.at == start:
            raise Refused(f"{text[start]!r}")
        self.words.append(Word("".join(out), plain, glob_at))

    def _quoted(self, mark: str) -> str:
        text = self.text
        if mark == "\\":
            if self.at + 1 >= len(text):
                raise Refused("trailing backslash")
            self.at += 2
            return text[self.at - 1]
        if mark == "'":
            end = text.find("'", self.at + 1)
            if end < 0:
                raise Refused("unclosed quote")
            body = text[self.at + 1 : end]
            self.at = end + 1
            return body
        return self._double_quoted()

    def _double_quoted(self) -> str:
        text = self.text
        out: list[str] = []
        self.at += 1
        while self.at < len(text):
            ch = text[self.at]
            if ch == '"':
                self.at += 1
                return "".join(out)
            following = text[self.at + 1 : self.at + 2]
            if ch == "\\" and following and following in '$"\\':
                out.append(following)
                self.at += 2
                continue
            if ch == "$" and following == "?":
                out.append("0")
                self.at += 2
                continue
            if ch == "`" or (ch == "$" and (not following or following not in '"| ')):
                raise Refused("expansion in quotes")
            out.append(ch)
            self.at += 1
        raise Refused("unclosed quote")
