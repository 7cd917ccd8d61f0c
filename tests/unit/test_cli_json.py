"""docs/json.md and docs/json-schema.json are what the code says; so is the table of exit statuses in docs/cli.md."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import jsonschema

import flower.cli.deadline  # noqa: F401  its error has an exit status too
from flower.cli.exits import MEANINGS, words_of
from flower.model import EVENT_KINDS, Event, StepResult
from flower.model.schema import COMMON, END, EVENTS, SCHEMA_VERSION, Field, Kind, json_schema

DOCS = Path(__file__).parents[2] / "docs"
PAGE, SCHEMA, CLI = DOCS / "json.md", DOCS / "json-schema.json", DOCS / "cli.md"
AGAIN = "run: python -m tests.unit.test_cli_json"
_HEAD = f"""# JSON lines

With `--json` stdout is one JSON object a line, in UTF-8, flushed at once: the same events that a terminal shows. Progress for
people is not printed; questions, notices and errors still go to stderr. This page is made from the code.

- The first line carries `schema_version`, {SCHEMA_VERSION} today. It rises when a field changes its meaning or goes away. New kinds and
  new fields do not raise it: pass over what you do not know.
- The last line is always of the type `end`, also after an error or Ctrl-C. Only SIGKILL leaves none.
- A line that stems from the conversation is written once that part of it is on disk: what you have read survives a kill.
- If the reader goes away, the run saves its row and ends as if by SIGTERM (status 143). The next `flower` goes on.

```console
$ flower --json "make a md -> html script" | jq -r 'select(.type == "end") | .status'
ok
$ flower --json once "read this repo" | jq -r 'select(.type == "usage") | .cost_usd' | tail -1
0.0153
```

The exit status says the same as the last line: see [the table](cli.md#exit-status). The commands that look (`status`, `steps`, `show`
and the others) have lines of their own, described [with each](cli.md#looking-at-it); their last line is the same `end`.
A [JSON Schema](json-schema.json) of a run's lines lies beside this page.

## Every event
"""


def table(fields: Mapping[str, Field]) -> str:
    rows = [f"| `{name}` | {_type(one)} | {one.meaning} |" for name, one in fields.items()]
    return "\n".join(["| field | type | meaning |", "|---|---|---|", *rows])


def _type(one: Field) -> str:
    values = one.type.split(" | ")
    text = ", ".join(f"`{value}`" for value in values) if len(values) > 1 else one.type
    return f"{text}; may be missing" if one.optional else text


def section(name: str, kind: Kind) -> str:
    return f"## {name}\n\n{kind.meaning}\n" + (f"\n{table(kind.fields)}\n" if kind.fields else "")


def json_page() -> str:
    parts = [f"{_HEAD}\n{table({'type': Field('text', 'the kind, one of those below'), **COMMON})}\n"]
    parts += [section(name, kind) for name, kind in EVENTS.items()]
    return "\n".join([*parts, section("end", END)])


def schema_text() -> str:
    return json.dumps(json_schema(), ensure_ascii=False, indent=1) + "\n"


def statuses() -> str:
    rows = [
        f"| {code} | {meaning} | {', '.join(f'`{word}`' for word in words_of(code))} |"
        for code, meaning in MEANINGS.items()
    ]
    head = ["| status | meaning | `status` in `--json` |", "|---|---|---|"]
    killed = "| 128+n | killed by signal n | `killed-by-signal` |"
    return "\n".join(["<!-- exit statuses -->", *head, *rows, killed, "<!-- end -->"])


def with_statuses(page: str) -> str:
    return re.sub(r"<!-- exit statuses -->.*?<!-- end -->", lambda _match: statuses(), page, flags=re.DOTALL)


def test_the_pages_say_what_the_code_says() -> None:
    assert PAGE.read_text("utf-8") == json_page(), AGAIN
    assert SCHEMA.read_text("utf-8") == schema_text(), AGAIN
    assert statuses() in CLI.read_text("utf-8"), AGAIN


def test_every_kind_and_every_field_of_a_row_is_described() -> None:
    assert set(EVENT_KINDS) == {*EVENTS, "end"}
    row = StepResult("x", cost_estimated=True).as_row("r")
    assert set(row) == {*EVENTS["step_end"].fields, "step", "session_id", "text"}


def test_the_schema_takes_a_line_and_refuses_one_that_is_not_described() -> None:
    check = jsonschema.Draft202012Validator(json_schema(closed=True)).is_valid
    line = Event("answer", "red", data={"id": 1, "state": "answered"}).as_json()
    assert check(line) and check({"schema_version": 1, **line})
    assert not check({**line, "state": "perhaps"})
    assert not check({**line, "more": 1})
    assert not check({k: v for k, v in line.items() if k != "id"})
    assert jsonschema.Draft202012Validator(json_schema()).is_valid({**line, "more": 1})


if __name__ == "__main__":
    PAGE.write_text(json_page(), "utf-8")
    SCHEMA.write_text(schema_text(), "utf-8")
    CLI.write_text(with_statuses(CLI.read_text("utf-8")), "utf-8")
