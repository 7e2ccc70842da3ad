"""A picture as it is sent, by Pillow: standard input → a line of JSON.

Upright, without metadata, in RGB or RGBA, scaled down to fit into a square; of an animation the first frame. The
arguments are the most pixels of the file and the side of the square. ``{"format", "width", "height"}`` of the file,
``{"mime", "data", "sent"}`` of the result (base64; width and height), or ``{"error": …}``: ``pixels`` (with width and
height), ``memory`` or ``damaged``, with ``detail``.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
QUALITY = 90
ORIENTATION, LYING = 0x0112, (5, 6, 7, 8)
"""The tag of Exif (3.0, 4.6.5.1.6), and its values for a picture whose rows are columns."""


def main() -> None:
    """Print the picture; the library's own output is discarded."""
    from PIL import UnidentifiedImageError

    with os.fdopen(os.dup(1), "w", encoding="ascii") as printed:
        os.dup2(2, 1)
        try:
            reply = _prepared(sys.stdin.buffer.read(), int(sys.argv[1]), int(sys.argv[2]))
        except MemoryError:
            reply = {"error": "memory"}
        except UnidentifiedImageError:  # its text has an address in memory
            reply = {"error": "damaged", "detail": "no image"}
        except Exception as error:  # a damaged file can make the library raise anything
            reply = {"error": "damaged", "detail": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(reply), file=printed)


def _prepared(data: bytes, most: int, side: int) -> dict[str, Any]:
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = None  # checked here, before anything is decoded
    with Image.open(BytesIO(data), formats=FORMATS) as opened:
        name, (width, height) = str(opened.format), opened.size
        if width * height > most:
            return {"error": "pixels", "width": width, "height": height}
        if opened.getexif().get(ORIENTATION) in LYING:
            width, height = height, width
        opened.draft("RGB", (side, side))  # JPEG: decodes fewer pixels, at least this many
        image = _plain(ImageOps.exif_transpose(opened))
    image.thumbnail((side, side))
    image.info.clear()
    photo = name == "JPEG" or (name == "WEBP" and image.mode == "RGB")
    written = BytesIO()
    if photo:
        image.save(written, "JPEG", quality=QUALITY)
    else:
        image.save(written, "PNG")
    return {
        "format": name,
        "width": width,
        "height": height,
        "mime": "image/jpeg" if photo else "image/png",
        "data": base64.b64encode(written.getvalue()).decode("ascii"),
        "sent": image.size,
    }


def _plain(image: Image) -> Image:
    if image.mode.startswith("I"):  # 16 bits; converting clips them
        image = image.convert("I").point(lambda value: value / 256).convert("L")
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


if __name__ == "__main__":
    main()
