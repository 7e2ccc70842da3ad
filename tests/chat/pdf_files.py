"""PDF files, written without a library (ISO 32000-1, 7.5)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def page_of(text: str) -> bytes:
    """A content stream that shows ``text``, a line each."""
    lines = b" T* ".join(b"(" + line.encode("latin-1") + b") Tj" for line in text.split("\n"))
    return b"BT /F1 12 Tf 14 TL 72 720 Td " + lines + b" ET" if text else b""


def stream_of(data: bytes, entries: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), entries, data)


def pdf(*pages: str, objects: Mapping[int, bytes] | None = None, trailer: bytes = b"") -> bytes:
    """A file with ``pages``; ``objects`` replace those with these numbers: 1 catalog, 2 tree of pages, 3 font, then
    each page and its content.
    """
    made: dict[int, bytes] = {1: b"<< /Type /Catalog /Pages 2 0 R >>", 3: FONT}
    kids = b" ".join(b"%d 0 R" % (4 + 2 * at) for at in range(len(pages)))
    made[2] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages))
    for at, text in enumerate(pages):
        made[4 + 2 * at] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * at)
        )
        made[5 + 2 * at] = stream_of(page_of(text))
    made |= objects or {}
    file, places = b"%PDF-1.7\n", {}
    for number, body in sorted(made.items()):
        places[number] = len(file)
        file += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start, last = len(file), max(made)
    file += b"xref\n0 %d\n0000000000 65535 f \n" % (last + 1)
    file += b"".join(b"%010d 00000 n \n" % places.get(number, 0) for number in range(1, last + 1))
    return file + b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (last + 1, trailer, start)


def bomb(size: int) -> bytes:
    """A page whose content unpacks to ``size`` bytes."""
    return pdf("", objects={5: stream_of(zlib.compress(b" " * size, 9), b"/Filter /FlateDecode")})


def encrypted(data: bytes, user: str, owner: str = "owner") -> bytes:
    """``data`` with AES-256; an empty ``user`` password lets everyone read."""
    from io import BytesIO

    from pypdf import PdfReader, PdfWriter

    writer, written = PdfWriter(PdfReader(BytesIO(data))), BytesIO()
    writer.encrypt(user, owner, algorithm="AES-256")
    writer.write(written)
    return written.getvalue()


def slow() -> bytes:
    """A page whose text takes longer to extract than a reader gets."""
    page = b"BT /F1 12 Tf 72 720 Td " + b"(words words) Tj 1 0 Td " * 2_000_000 + b" ET"
    return pdf("", objects={5: stream_of(zlib.compress(page), b"/Filter /FlateDecode")})
