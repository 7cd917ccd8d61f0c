"""The small program that the demo's worker really writes: markdown to HTML in POSIX sh and awk.

It needs no Python, so that the demo works wherever flower's own binary does.
"""

from __future__ import annotations

SCRIPT, SAMPLE, OUTPUT = "md2html.sh", "sample.md", "sample.html"
RUN = f"sh {SCRIPT} {SAMPLE} > {OUTPUT} && cat {OUTPUT}"

NO_ESCAPE = """\
function escape(s) {
    return s
}
"""
ESCAPE = r"""function escape(s) {
    gsub(/&/, "\\&amp;", s)
    gsub(/</, "\\&lt;", s)
    gsub(/>/, "\\&gt;", s)
    return s
}
"""
ESCAPE_RULES = (r'gsub(/&/, "\\&amp;", s)', r'gsub(/</, "\\&lt;", s)', r'gsub(/>/, "\\&gt;", s)')
CODE_RULES = ("<pre><code>", "</code></pre>")

_PAGE_BEGIN = 'BEGIN { print "<!DOCTYPE html>\\n<html>\\n<meta charset=\\"utf-8\\">\\n<body>" }\n'
_PAGE_END = 'END { close_blocks(); print "</body>\\n</html>" }\n'
_FRAGMENT_END = "END { close_blocks() }\n"

_HEAD = """\
#!/bin/sh
# desc: turns markdown into HTML: sh md2html.sh FILE > OUT (headings, paragraphs, lists, fenced code)
exec awk '
"""
_RULES = """\
function close_blocks() {
    if (para) print "</p>"
    if (list) print "</ul>"
    para = list = 0
}
/^```/ {
    if (code) { print "</code></pre>"; code = 0 }
    else { close_blocks(); printf "<pre><code>"; code = 1 }
    next
}
code { print escape($0); next }
/^#+ / {
    close_blocks()
    match($0, /^#+/)
    level = RLENGTH > 6 ? 6 : RLENGTH
    print "<h" level ">" escape(substr($0, RLENGTH + 2)) "</h" level ">"
    next
}
/^- / {
    if (para) close_blocks()
    if (!list) print "<ul>"
    list = 1
    print "<li>" escape(substr($0, 3)) "</li>"
    next
}
/^[ \\t]*$/ { close_blocks(); next }
{
    if (list) close_blocks()
    if (!para) print "<p>"
    para = 1
    print escape($0)
}
"""
_TAIL = """' "$@"\n"""

SAMPLE_TEXT = """\
# A sample

Tom & Jerry know that 1 < 2 and that <b>this</b> is not HTML.

## A list

- salt & pepper
- fish > chips

## Some code

```
if (a < b && b > c) print "ok"
```
"""


def script_text(*, page: bool, escaping: bool) -> str:
    """The program; ``page`` = it writes a complete page, ``escaping`` = it escapes ``&``, ``<`` and ``>``."""
    begin, end = (_PAGE_BEGIN, _PAGE_END) if page else ("", _FRAGMENT_END)
    return _HEAD + (ESCAPE if escaping else NO_ESCAPE) + begin + _RULES + end + _TAIL


def escape(text: str) -> str:
    """What the program must make of a line of text."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def lines_to_find(markdown: str) -> tuple[list[str], list[str]]:
    """The texts that must arrive in the output, escaped: those outside of code, and those of code blocks."""
    prose: list[str] = []
    code: list[str] = []
    inside = False
    for line in markdown.splitlines():
        if line.startswith("```"):
            inside = not inside
        elif inside:
            code.append(line)
        elif line.strip():
            prose.append(
                line.lstrip("#").strip() if line.startswith("#") else line.removeprefix("- ").strip()
            )
    return prose, code
