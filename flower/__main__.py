"""``python -m flower`` is the command ``flower``."""

from __future__ import annotations

from flower.cli.main import main

if __name__ == "__main__":
    main()
