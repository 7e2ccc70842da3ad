"""The text of a PDF's pages, by pypdf: standard input → a line of JSON. The argument is the most characters.

``{"pages": [text, …]}`` with an empty text for a page that has none, or ``{"error": …}``: ``encrypted``, ``large``,
``memory`` or ``damaged``, with ``detail``.
"""

from __future__ import annotations

import json
import os
import sys
from io import BytesIO
from typing import Any

_CONTROL = {each: None for each in range(32) if chr(each) not in "\n\t"} | {127: None}


def main() -> None:
    """Print the texts; the library's own output is discarded."""
    with os.fdopen(os.dup(1), "w", encoding="ascii") as printed:
        os.dup2(2, 1)
        try:
            reply = _texts(sys.stdin.buffer.read(), int(sys.argv[1]))
        except MemoryError:
            reply = {"error": "memory"}
        except Exception as error:  # a damaged file can make the library raise anything
            reply = {"error": "damaged", "detail": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(reply), file=printed)


def _texts(data: bytes, most: int) -> dict[str, Any]:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    reader = PdfReader(BytesIO(data))
    try:
        if reader.is_encrypted and not reader.decrypt(""):  # many restrict printing, not reading
            return {"error": "encrypted"}
    except (DependencyError, NotImplementedError):
        return {"error": "encrypted"}
    pages: list[str] = []
    failed: Exception | None = None
    for page in reader.pages:
        try:
            text = page.extract_text().translate(_CONTROL).strip()
        except MemoryError:
            raise
        except Exception as error:  # of this page alone
            text, failed = "", error
        pages.append(text)
        most -= len(text)
        if most < 0:
            return {"error": "large"}
    if failed and not any(pages):
        raise failed
    return {"pages": pages}


if __name__ == "__main__":
    main()
