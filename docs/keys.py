"""Writes the table of all keys into docs/terminal.md, from the classes that declare them: ``python docs/keys.py``."""

from __future__ import annotations

import re
from pathlib import Path

from wizard.tui.keys import markdown

PAGE = Path(__file__).with_name("terminal.md")
TABLE = re.compile(r"(?<=<!-- keys -->\n).*?(?=\n<!-- end of keys -->)", re.DOTALL)


def main() -> None:
    """Replace the table."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(TABLE.sub(lambda _found: markdown(), text), encoding="utf-8")


if __name__ == "__main__":
    main()
