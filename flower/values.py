"""``NamedTuple`` without the module ``typing``.

Commands that only look have to answer at once. ``typing`` or ``dataclasses`` would take as long to load as everything
that such a command does; ``collections.namedtuple``, which both stand on, is loaded by Python's own start anyway.
"""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False  # type checkers know the name
if TYPE_CHECKING:
    from typing import Any, NamedTuple
else:

    class _Fields(type):
        """Makes of a class with annotated fields what ``typing.NamedTuple`` makes of it."""

        def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(mcs, name, bases, body)
            fields = list(body.get("__annotations__", ()))
            defaults = [body.pop(field) for field in fields if field in body]
            base = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            return type(name, (base,), {"__slots__": (), **body})

    class NamedTuple(metaclass=_Fields):
        """The fields are annotated names; those with a default come last."""


__all__ = ["NamedTuple"]
