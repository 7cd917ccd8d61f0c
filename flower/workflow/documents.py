"""The brief on disk: read, frozen, added to. Documents keep the language they were begun in."""

from __future__ import annotations

from pathlib import Path

from flower.books.files import write_atomic
from flower.documents.brief import Brief, amendments, append_amendment, language
from flower.locale import current


def read(path: Path) -> str:
    """The text of a document, empty if there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def freeze_brief(path: Path, reply: str) -> None:
    """Write the brief out of a clarifier's reply, in the language it was begun in, else in the person's.

    What the person added to the file while the clarifier was at work is kept.
    """
    draft = read(path)
    lang = language(draft) if draft.strip() else current()
    text = Brief.parse(reply, keep_code=True).render(lang)
    for words in amendments(draft):
        text = append_amendment(text, words, lang)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, text)


def amend_brief(path: Path, words: str) -> str:
    """Add what the person said to the brief, in the brief's own language; returns the new text."""
    text = append_amendment(read(path), words)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, text)
    return text
