"""The manual is whole: the Python page is what the code says, and every page can be reached."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from pathlib import Path

import flower

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "api.md"
_HEAD = """# Python API

Everything below is imported from `flower`; a name is loaded at its first use. How the parts work together is told in
[Workflows](workflows.md), [Roles](roles.md) and [Documents](documents.md). This page is made from the docstrings.
"""


def api_page() -> str:
    """Every public name with its signature and docstring."""
    parts = [_HEAD]
    for name in sorted(flower.__all__, key=str.lower):
        thing = getattr(flower, name)
        if inspect.isroutine(thing) or inspect.isclass(thing):
            parts.append(f"## {name}\n\n```python\n{_signature(name, thing)}\n```\n\n{_text(thing)}\n")
            if inspect.isclass(thing) and not issubclass(thing, BaseException):
                parts += list(_methods(name, thing))
    return "\n".join(parts).rstrip() + "\n"


def _signature(name: str, thing: object) -> str:
    """As a person would write it; of an error only where it stands in the tree."""
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return f"class {name}({', '.join(base.__name__ for base in thing.__bases__)})"
    assert callable(thing)
    kind = (
        "class " if inspect.isclass(thing) else "async def " if inspect.iscoroutinefunction(thing) else "def "
    )
    signature = inspect.signature(thing)
    arguments = [_argument(a) for a in signature.parameters.values() if a.name not in ("self", "cls")]
    names = [a.kind for a in signature.parameters.values() if a.name not in ("self", "cls")]
    if inspect.Parameter.KEYWORD_ONLY in names and inspect.Parameter.VAR_POSITIONAL not in names:
        arguments.insert(names.index(inspect.Parameter.KEYWORD_ONLY), "*")
    returned = signature.return_annotation
    end = "" if inspect.isclass(thing) or returned is signature.empty else f" -> {_annotation(returned)}"
    line = f"{kind}{name}({', '.join(arguments)}){end}"
    return line if len(line) <= 100 else f"{kind}{name}(\n    " + ",\n    ".join(arguments) + f",\n){end}"


def _argument(argument: inspect.Parameter) -> str:
    text = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(argument.kind.name, "") + argument.name
    if argument.annotation is not argument.empty:
        text += f": {_annotation(argument.annotation)}"
    if argument.default is argument.empty:
        return text
    default = re.sub(r"<factory>|<.* at 0x[0-9a-f]+>", "...", repr(argument.default))
    return f"{text} = {default}"


def _annotation(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", repr(annotation))


def _text(thing: object) -> str:
    text = inspect.getdoc(thing) or ""
    if dataclasses.is_dataclass(thing) and text.startswith(f"{getattr(thing, '__name__', '')}("):
        return ""  # Made by dataclass: the signature says the same.
    return f"```text\n{text}\n```" if text else ""


def _methods(name: str, thing: type) -> list[str]:
    found = []
    for method, value in vars(thing).items():
        inner = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if method.startswith("_") or not inspect.isfunction(inner) or not inner.__doc__:
            continue
        title = f"{name}.{method}"
        signature = _signature(title, inner)
        found.append(f"### {title}\n\n```python\n{signature}\n```\n\n{_text(inner)}\n")
    return found


def test_the_python_page_is_what_the_code_says() -> None:
    names = set(re.findall(r"^## (\w+)$", PAGE.read_text("utf-8"), re.MULTILINE))
    wanted = {n for n in flower.__all__ if callable(getattr(flower, n))}
    assert names == wanted, "run: python -m tests.unit.test_docs_site"
    if sys.version_info[:2] == (3, 11):  # How annotations are printed differs between versions.
        assert PAGE.read_text("utf-8") == api_page(), "run: python -m tests.unit.test_docs_site"


def test_every_page_is_in_the_navigation_and_every_link_leads_to_one() -> None:
    pages = {path.name for path in DOCS.glob("*.md")}
    listed = re.findall(r": (\w+\.md)$", (DOCS.parent / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(pages)
    for path in DOCS.glob("*.md"):
        linked = re.findall(r"\]\(([\w.-]+\.md)", path.read_text("utf-8"))
        assert set(linked) <= pages, path.name


if __name__ == "__main__":
    PAGE.write_text(api_page(), "utf-8")
