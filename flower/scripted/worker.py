"""The demo's worker: writes, repairs and runs the product with the CLI's own tools."""

from __future__ import annotations

import re
from collections.abc import Sequence

from flower.scripted import product
from flower.scripted.request import Call, Request
from flower.scripted.script import Block, Reply, ToolUse

_CWD = re.compile(r"[Ww]orking directory: *(/[^\n]*)")
_NUMBERED = re.compile(r"^ *\d+(?:\t|→)", re.MULTILINE)
_TASK = re.compile(r"Task: (write|fix|check)")


def path_of(request: Request, name: str) -> str:
    """The absolute path of a file in the agent's working directory, which the CLI names to the model."""
    found = _CWD.search(request.system_text) or _CWD.search(request.all_text)
    return f"{found[1].strip().rstrip('/')}/{name}" if found else name


def file_read(calls: Sequence[Call], name: str) -> str | None:
    """The file's text as the last Read of it showed it; None when it could not be read."""
    for call in reversed(calls):
        if call.name == "Read" and str(call.input.get("file_path", "")).rsplit("/", 1)[-1] == name:
            if call.result is None or call.is_error:
                return None
            return _NUMBERED.sub("", call.result.partition("<system-reminder>")[0])
    return None


def work(request: Request) -> Reply:
    """The next thing the worker does, judging by what its tool calls have answered so far."""
    found = _TASK.search(request.all_text)
    task = found[1] if found else "check"
    calls = request.calls
    last = [c for c in calls if c.id in request.last_tool_results.by_id]
    names = {c.name for c in last}
    failed = any(c.is_error for c in last)
    tried = sum(c.name == "Bash" for c in calls)
    if not last:
        return {"write": _write, "fix": _read, "check": _run}[task](request)
    if "Read" in names:
        return _repair(request)
    if "Bash" in names:
        return _read(request) if failed and tried < 2 else _report(last[-1], task)
    if not failed:
        return _run(request)
    # Files were there already: the CLI lets nobody overwrite what they have not read.
    return _report(last[-1], task) if any(c.name == "Read" for c in calls) else _read(request)


def _page(request: Request) -> bool:
    return "a fragment without" not in request.all_text


def _write(request: Request) -> Reply:
    script = product.script_text(page=_page(request), escaping=False)
    files = [(product.SCRIPT, script), (product.SAMPLE, product.SAMPLE_TEXT)]
    return Reply("I write the converter and a sample.", blocks=[_file(request, *f) for f in files])


def _read(request: Request) -> Reply:
    files = (product.SCRIPT, product.SAMPLE)
    calls = [ToolUse("Read", {"file_path": path_of(request, name)}) for name in files]
    return Reply("First I look at what is there.", blocks=calls)


def _run(request: Request) -> Reply:
    call = ToolUse("Bash", {"command": product.RUN, "description": f"Convert {product.SAMPLE}"})
    return Reply("Now I run it.", blocks=[call])


def _repair(request: Request) -> Reply:
    script = file_read(request.calls, product.SCRIPT)
    changes: list[Block] = []
    if script is not None and product.NO_ESCAPE in script:
        where = path_of(request, product.SCRIPT)
        edit = {"file_path": where, "old_string": product.NO_ESCAPE, "new_string": product.ESCAPE}
        changes.append(ToolUse("Edit", edit))
    elif (script or "").strip() != product.script_text(page=_page(request), escaping=True).strip():
        changes.append(
            _file(request, product.SCRIPT, product.script_text(page=_page(request), escaping=True))
        )
    if file_read(request.calls, product.SAMPLE) is None:
        changes.append(_file(request, product.SAMPLE, product.SAMPLE_TEXT))
    return Reply("I repair it.", blocks=changes) if changes else _run(request)


def _file(request: Request, name: str, text: str) -> ToolUse:
    return ToolUse("Write", {"file_path": path_of(request, name), "content": text})


def _report(last: Call, task: str) -> Reply:
    result = (last.result or "").strip()
    if last.is_error:
        lines = ["not done, the last command failed", result[:400], "none", "all of it"]
    else:
        lines = [
            "done",
            f"`{product.RUN}` ended well and printed {len(result.splitlines())} lines",
            f"{product.SCRIPT}, {product.SAMPLE}, {product.OUTPUT}",
            "how special characters come out" if task == "write" else "markdown that the sample does not use",
        ]
    names = ("Conclusion", "Evidence", "Output", "Unverified")
    return Reply("\n".join(f"{name}: {line}" for name, line in zip(names, lines, strict=True)))
