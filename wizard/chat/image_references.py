"""References to images in the text of a question: ``![a.png](file:///home/me/a.png "PNG, 640×480, sha256:…")``.

They are images of Markdown whose title has the file's SHA-256. So questions stay texts, and a saved conversation shows
the picture in a Markdown viewer, but holds no copy of it. A reference in a text from elsewhere cannot attach a file
whose content its author does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from wizard.kernel.language import tr
from wizard.kernel.text import one_line

_REFERENCE = re.compile(
    r'!\[(?P<name>[^\[\]\n]*)\]\((?P<url>file:///[^\s()"]+) '
    r'"(?P<about>[A-Z]+, \d+×\d+), sha256:(?P<digest>[0-9a-f]{64})"\)'
)


def reference(path: Path, about: str, digest: str) -> str:
    """The text for the image at ``path``; ``about``: its format and size, ``digest``: its SHA-256."""
    name = re.sub(r"[\[\]]", "", one_line(path.name))
    return f'![{name}]({path.absolute().as_uri()} "{about}, sha256:{digest}")'


def references(text: str) -> Iterator[re.Match[str]]:
    """Those in ``text``, with the groups ``name``, ``url``, ``about`` and ``digest``."""
    return _REFERENCE.finditer(text) if "sha256:" in text else iter(())


def shown(text: str) -> str:
    """``text`` for reading: images are named, with their formats and sizes."""
    return _REFERENCE.sub(r"[\g<name>: \g<about>]", text) if "sha256:" in text else text


def without(text: str) -> str:
    """``text`` for a model that gets no images: their names, but not where the files are."""
    return _REFERENCE.sub(_name, text) if "sha256:" in text else text


def _name(match: re.Match[str]) -> str:
    return f"[{tr('image: {name}', name=match['name'])}]"
