"""``make messages``: extract every message of the package, merge it into the catalogues, compile them.

Prints what is left to translate and ends with status 1 if anything is. Needs babel; not part of the wheel.
"""

from __future__ import annotations

import sys
from copy import deepcopy
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

HERE = Path(__file__).parent
PACKAGE = HERE.parent
METHODS = [("**.py", "python")]
KEYWORDS: dict[str, Any] = {"_": None, "ngettext": (1, 2)}
LANGUAGES = ("zh", "ko")
NAMES = {"zh": "Chinese", "ko": "Korean"}


def extract() -> Catalog:
    """Every literal that is handed to ``_`` or ``ngettext`` in the package, with the files it stands in."""
    template = Catalog(project="flower", charset="utf-8")
    found = extract_from_dir(PACKAGE, method_map=METHODS, keywords=KEYWORDS)
    for name, _line, message, comments, context in found:
        # No line numbers: they would change the catalogue with every edit of the code.
        template.add(message, None, [(f"flower/{name}", 0)], auto_comments=comments, context=context)
    return template


def po_path(language: str) -> Path:
    """Where a language's catalogue is."""
    return HERE / language / "LC_MESSAGES" / "flower.po"


def read(language: str) -> Catalog:
    """The catalogue as it is on disk, empty if there is none."""
    path = po_path(language)
    if not path.exists():
        return Catalog(locale=language, project="flower", charset="utf-8")
    return read_po(BytesIO(path.read_bytes()), locale=language)


def merge(language: str, template: Catalog) -> Catalog:
    """The catalogue with exactly the template's messages; translations that are there are kept."""
    catalogue = read(language)
    # A copy: babel would put the template's own messages into every catalogue, and so the words of one language.
    catalogue.update(deepcopy(template), no_fuzzy_matching=True, update_creation_date=False)
    catalogue.obsolete.clear()
    return catalogue


def untranslated(catalogue: Catalog) -> list[Message]:
    """Messages without a translation, or with one that is only a guess."""
    return [m for m in catalogue if m.id and (m.fuzzy or not all(_strings(m)))]


def _strings(message: Message) -> tuple[str, ...]:
    found = message.string if isinstance(message.string, tuple) else (message.string,)
    return tuple(str(text or "") for text in found)


def write(language: str, catalogue: Catalog) -> None:
    """Write the catalogue and compile it beside itself."""
    path = po_path(language)
    path.parent.mkdir(parents=True, exist_ok=True)
    catalogue.fuzzy = False
    catalogue.project, catalogue.version = "flower", "0"
    catalogue.last_translator = "the flower authors"
    catalogue.language_team = ""
    catalogue.revision_date = catalogue.creation_date
    catalogue.header_comment = f"# flower: messages in {NAMES[language]}."
    with path.open("wb") as stream:
        write_po(stream, catalogue, width=110, sort_output=True, omit_header=False, include_lineno=False)
    with path.with_suffix(".mo").open("wb") as stream:
        write_mo(stream, catalogue)


def main() -> int:
    """Update both catalogues."""
    template, left = extract(), 0
    for language in LANGUAGES:
        catalogue = merge(language, template)
        write(language, catalogue)
        for message in untranslated(catalogue):
            left += 1
            print(f"{language}: {message.id!r}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
