"""The demo's judge: sets three checks, and later decides each of them from the files it has read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from flower.scripted import product
from flower.scripted.request import Request
from flower.scripted.script import Reply, ToolUse
from flower.scripted.worker import file_read, path_of

Finding = tuple[str, str]
"""``pass``, ``fail`` or ``cannot``, and the evidence."""

_BLOCKS = f"`{product.OUTPUT}` shows headings, paragraphs and lists of `{product.SAMPLE}` as HTML"
_SPECIAL = (
    f"`&`, `<` and `>` in the text arrive escaped in `{product.OUTPUT}`, by a rule in `{product.SCRIPT}`"
)
_CODE = f"fenced code arrives in `{product.OUTPUT}` as a code block, its lines unchanged but escaped"
_CHECK_LINE = re.compile(r"^ {0,3}(\d+)\. +(.*)$")


def goal(*, page: bool) -> str:
    """The goal and its checks."""
    shape = "a complete page" if page else "a fragment without <html>"
    return f"""\
## Goal

`{product.SCRIPT}` turns markdown into HTML ({shape}).
`{product.OUTPUT}` is what it makes of `{product.SAMPLE}`.

## Checks

1. {_BLOCKS}, in {shape}
2. {_SPECIAL}
3. {_CODE}
"""


def judge(request: Request) -> Reply:
    """Looks at the files first; then gives a verdict that follows from them."""
    if request.prompt:
        return _look(request)
    names = (product.SCRIPT, product.SAMPLE, product.OUTPUT)
    files = {name: file_read(request.calls, name) or "" for name in names}
    ran = next((c for c in request.calls if c.name == "Bash"), None)
    if ran is not None and ran.result is not None:
        # What the program makes now counts, not what a file says it made once.
        files[product.OUTPUT] = "" if ran.is_error else ran.result
    prompt = next(text for text in request.user_texts if "Judge the goal." in text)
    return Reply(_verdict({n: _finding(text, files) for n, text in checks_in(prompt).items()}))


def _look(request: Request) -> Reply:
    names = [product.SCRIPT, product.SAMPLE]
    calls = [ToolUse("Read", {"file_path": path_of(request, name)}) for name in names]
    if "Bash" in request.tools:
        command = f"sh {product.SCRIPT} {product.SAMPLE}"
        calls.append(ToolUse("Bash", {"command": command, "description": "Run the product"}))
    else:
        calls.append(ToolUse("Read", {"file_path": path_of(request, product.OUTPUT)}))
    return Reply("I look at the products themselves.", blocks=calls)


def checks_in(prompt: str) -> dict[int, str]:
    """The numbered checks of the goal in a judge's prompt."""
    goal_text = prompt.rpartition("<goal>")[2].partition("</goal>")[0]
    return {int(m[1]): m[2] for m in map(_CHECK_LINE.match, goal_text.splitlines()) if m}


def _finding(check: str, files: Mapping[str, str]) -> Finding:
    known: dict[str, Callable[[str, Mapping[str, str]], Finding]] = {
        _BLOCKS: _judge_blocks,
        _SPECIAL: _judge_special,
        _CODE: _judge_code,
    }
    decide = next((f for text, f in known.items() if text in check), None)
    if decide is None:
        return "cannot", "the demo's scripted judge does not know this check"
    missing = [name for name, text in files.items() if not text.strip()]
    if missing:
        return "fail", f"{', '.join(missing)}: missing or empty"
    return decide(check, files)


def _judge_blocks(check: str, files: Mapping[str, str]) -> Finding:
    html = files[product.OUTPUT]
    absent = [tag for tag in ("<h1>", "<p>", "<ul>", "<li>") if tag not in html]
    if absent:
        return "fail", f"{product.OUTPUT} has no {', '.join(absent)}"
    page = html.lstrip().startswith("<!DOCTYPE html>") and "</html>" in html
    if page != ("a complete page" in check):
        return "fail", f"{product.OUTPUT} is {'a complete page' if page else 'not a complete page'}"
    return "pass", f"<h1>, <p>, <ul> and <li> are in {product.OUTPUT}"


def _judge_special(_check: str, files: Mapping[str, str]) -> Finding:
    lost = _lost(product.lines_to_find(files[product.SAMPLE])[0], files[product.OUTPUT])
    if lost:
        return (
            "fail",
            f"`{lost}` of {product.SAMPLE} should read `{product.escape(lost)}` in {product.OUTPUT}",
        )
    rules = [rule for rule in product.ESCAPE_RULES if rule not in files[product.SCRIPT]]
    if rules:
        return "fail", f"{product.SCRIPT} has no rule like `{rules[0]}`"
    return "pass", f"every line of {product.SAMPLE} is in {product.OUTPUT}, escaped"


def _judge_code(_check: str, files: Mapping[str, str]) -> Finding:
    for name in (product.SCRIPT, product.OUTPUT):
        absent = [tag for tag in product.CODE_RULES if tag not in files[name]]
        if absent:
            return "fail", f"{name} has no {absent[0]}"
    blocks = "\n".join(re.findall(r"<pre><code>(.*?)</code></pre>", files[product.OUTPUT], re.DOTALL))
    code = product.lines_to_find(files[product.SAMPLE])[1]
    lost = _lost(code, blocks)
    # Without any escaping at all the lines are there; what is wrong with them is the other check's finding.
    if lost and lost not in blocks:
        return "fail", f"the code line `{lost}` is in no code block of {product.OUTPUT}"
    return "pass", f"{len(code)} line(s) of code stand in <pre><code>"


def _lost(lines: list[str], html: str) -> str:
    return next((line for line in lines if product.escape(line) not in html), "")


def _verdict(findings: Mapping[int, Finding]) -> str:
    states = {state for state, _ in findings.values()}
    if not findings:
        conclusion, reason = "not yet", "there are no checks that could be judged"
    elif "fail" in states:
        failed = [str(n) for n, (state, _) in findings.items() if state == "fail"]
        conclusion, reason = "not yet", f"the files do not pass check {', '.join(failed)}"
    elif "cannot" in states:
        conclusion, reason = "unreachable", "a check cannot be verified by this judge"
    else:
        conclusion, reason = "achieved", "every check was found true in the files"
    lines = [f"{n}. {state}: {evidence}" for n, (state, evidence) in sorted(findings.items())]
    return "\n".join([f"Conclusion: {conclusion}", f"Reason: {reason}", "", *lines])
