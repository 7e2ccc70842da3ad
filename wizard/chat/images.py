"""Image files: read, and sent for the references to them (`wizard.chat.image_references`).

Files are decoded by Pillow (the extra ``images``) in a process with limits: `wizard.chat.readers.image`.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from wizard.chat.conversation import Message
from wizard.chat.documents import missing_extra
from wizard.chat.image_references import reference, references, without
from wizard.kernel import fenced, regular_files
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.text import plain
from wizard.kernel.units import size

LARGEST = 32 * 2**20
"""Bytes of an image file."""
MOST_PIXELS = 50_000_000
"""Of an image: four bytes each while it is decoded, several times."""
SIDE = 2048
"""Pixels: larger images are scaled down to fit into this square, as OpenAI does
(platform.openai.com/docs/guides/images-vision).
"""
MEMORY = 3 * 2**29
SECONDS = 20
_PROGRAM = Path(__file__).with_name("readers") / "image.py"
_BEGINS = re.compile(rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a|RIFF....WEBP", re.DOTALL)
_MOST_KNOWN = 16
_known: dict[str, Picture] = {}
"""SHA-256 of a file → what is sent: a file that was sent once can be deleted during a chat."""
_reading = threading.Lock()


@dataclass(frozen=True, slots=True)
class Picture:
    """An image file, and what is sent for it.

    Attributes:
        format: Of the file: ``PNG``, ``JPEG``, ``WEBP`` or ``GIF``.
        width, height: Of the file, upright, in pixels.
        digest: SHA-256 of the file.
        mime: Type of ``data``.
        data: The image, upright and without metadata, in base64.
        sent: Its width and height.
    """

    format: str
    width: int
    height: int
    digest: str
    mime: str
    data: str
    sent: tuple[int, int]

    @property
    def url(self) -> str:
        """The image as a URL."""
        return f"data:{self.mime};base64,{self.data}"

    def reference(self, path: Path) -> str:
        """The text that stands for the file at ``path`` in a question."""
        return reference(path, f"{self.format}, {self.width}×{self.height}", self.digest)

    @property
    def described(self) -> str:
        """What is sent, in a phrase."""
        kind = "JPEG" if self.mime == "image/jpeg" else "PNG"
        of_file = f"{self.format} {self.width:,}×{self.height:,}"
        amount = size(len(self.data) * 3 // 4)
        given = {"file": of_file, "format": kind, "width": f"{self.sent[0]:,}", "height": f"{self.sent[1]:,}"}
        if self.sent == (self.width, self.height) and kind == self.format:
            return tr("{file}, {size}, sent without metadata", file=of_file, size=amount)
        return tr("{file}, sent as {format} {width}×{height}, {size}, without metadata", size=amount, **given)


def is_image(start: bytes) -> bool:
    """Whether a file that begins with ``start`` is an image that can be sent, whatever its name."""
    return bool(_BEGINS.match(start))


def read(name: str, data: bytes) -> Picture:
    """The picture in an image file; blocks for up to twice `SECONDS`. The last ones are remembered.

    Raises:
        UsageError: TW-C30 the extra ``images`` is not installed, TW-C31 the image cannot be decoded, or has too many
            pixels.
    """
    if not find_spec("PIL"):
        raise missing_extra(tr("images require a package that is not installed: {package}", package="Pillow"), "images")
    digest = hashlib.sha256(data).hexdigest()
    with _reading:
        if digest not in _known:
            picture = _read(name, data, digest)
            while len(_known) >= _MOST_KNOWN:
                del _known[next(iter(_known))]
            _known[digest] = picture
        return _known[digest]


def _read(name: str, data: bytes, digest: str) -> Picture:
    try:
        reply = fenced.run(_PROGRAM, data, (str(MOST_PIXELS), str(SIDE)), memory=MEMORY, seconds=SECONDS)
    except fenced.FencedError as error:
        raise _unusable(name, error.reason) from error
    if reply.get("error") == "pixels":
        why = tr(
            "it has {width:,}×{height:,} pixels; at most {most:,} million are possible",
            width=reply["width"],
            height=reply["height"],
            most=MOST_PIXELS // 1_000_000,
        )
        raise _unusable(name, why)
    if "error" in reply:
        raise _unusable(name, tr("it is damaged ({detail})", detail=plain(str(reply.get("detail", "")))))
    width, height = reply.pop("sent")
    return Picture(digest=digest, sent=(width, height), **reply)


def _unusable(name: str, why: str) -> UsageError:
    return UsageError(
        "TW-C31",
        tr("cannot attach {name}: {why}", name=name, why=why),
        tr("Save it with an image editor as a smaller PNG or JPEG file."),
    )


def unsupported(detail: str = "") -> UsageError:
    """The model, or its server, takes no images."""
    return UsageError(
        "TW-C32",
        tr("the server refused the image: {detail}", detail=plain(detail))
        if detail
        else tr("models that the wizard serves on Triton take no images"),
        tr(
            "Chat with a vision model on vLLM, llama-server (with --mmproj), Ollama or LM Studio: "
            "`triton-wizard chat --url URL`; or ask without the image."
        ),
    )


REFUSED = re.compile(r"image|multi-?modal|vision|mmproj|text only", re.IGNORECASE)
"""In the error texts of servers whose model takes no images: vLLM (``… is not a multimodal model``), llama-server
(``image input is not supported - hint: … mmproj``), Ollama (``this model does not support images``), the wizard's own
address (``this model reads text only``).
"""


@dataclass(frozen=True, slots=True)
class Images:
    """The pictures of a request.

    Attributes:
        urls: SHA-256 → the image as a URL.
        missing: Names of files that were deleted or changed since they were attached.
    """

    urls: Mapping[str, str]
    missing: tuple[str, ...] = ()


def of(messages: Iterable[Message]) -> Images:
    """The pictures in the questions of ``messages``; blocks while files are read."""
    urls: dict[str, str] = {}
    missing: dict[str, None] = {}
    for each in messages:
        for match in references(each.content) if each.role == "user" else ():
            picture = _known.get(match["digest"]) or _again(match)
            if picture:
                urls[match["digest"]] = picture.url
            else:
                missing[match["name"]] = None
    return Images(urls, tuple(missing))


def _again(match: re.Match[str]) -> Picture | None:
    """The picture in the file that a reference names, if it is still the same."""
    path = Path(unquote_to_bytes(urlsplit(match["url"]).path).decode(errors="surrogateescape"))
    with suppress(OSError, ValueError, UsageError):
        with regular_files.opened(path) as file:
            data = file.read(LARGEST + 1) or b""
        if hashlib.sha256(data).hexdigest() == match["digest"]:
            return read(match["name"], data)
    return None


def parts(text: str, urls: Mapping[str, str]) -> str | list[dict[str, Any]]:
    """A question as OpenAI's content: a text, or parts with images (platform.openai.com/docs/guides/images-vision)."""
    if not any(match["digest"] in urls for match in references(text)):
        return without(text)
    made: list[dict[str, Any]] = []
    end = 0
    for match in references(text):
        if url := urls.get(match["digest"]):
            made += [_text(text[end : match.start()]), {"type": "image_url", "image_url": {"url": url}}]
            end = match.end()
    return [each for each in (*made, _text(text[end:])) if each.get("text") != ""]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": without(text).strip("\n")}
