#!/bin/sh
# What the SDK starts as its CLI. It takes a path and no arguments, and a "#!" line can hold neither spaces nor a
# long path, so this becomes the guard, which starts the CLI. SIGINT is ignored from the first moment: until the guard
# has left the terminal's process group, a Ctrl-C meant for flower alone would end it.
trap '' INT
if [ -n "${FLOWER_GUARD_SCRIPT-}" ]; then
    exec "${FLOWER_GUARD_PYTHON:?is set by flower}" -IS "$FLOWER_GUARD_SCRIPT" "$@"
fi
exec "${FLOWER_GUARD_PYTHON:?is set by flower}" "$@"
