"""FakeRegistry: an image registry on loopback, from which a real engine really pulls; it has one image, made here.

Distribution specification 1.1: GET and HEAD of ``/v2/NAME/manifests/REFERENCE`` and ``/v2/NAME/blobs/DIGEST``. Names
that end in ``-401`` or ``-429`` are refused with that status.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
REFUSED = {
    401: ("UNAUTHORIZED", "authentication required"),
    429: ("TOOMANYREQUESTS", "You have reached your pull rate limit."),
}


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _layer(number: int) -> bytes:
    """A tar archive with one file of 1 MiB that cannot be compressed."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        info = tarfile.TarInfo(f"file-{number}")
        info.size = 1 << 20
        tar.addfile(info, io.BytesIO(Random(number).randbytes(info.size)))
    return file.getvalue()


def _image(layers: int) -> tuple[bytes, dict[str, bytes]]:
    """A manifest, and everything by digest."""
    plain = [_layer(number) for number in range(layers)]
    packed = [gzip.compress(layer, 1, mtime=0) for layer in plain]
    rootfs = {"type": "layers", "diff_ids": [_digest(layer) for layer in plain]}
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": rootfs}).encode()
    described = [{"mediaType": LAYER, "size": len(layer), "digest": _digest(layer)} for layer in packed]
    about = {"mediaType": CONFIG, "size": len(config), "digest": _digest(config)}
    manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": about, "layers": described}).encode()
    return manifest, {_digest(blob): blob for blob in (manifest, config, *packed)}


def digest(layers: int) -> str:
    """The digest of the image with so many layers."""
    return _digest(_image(layers)[0])


def _answer(path: str, manifest: bytes, blobs: dict[str, bytes]) -> tuple[int, bytes, str]:
    """Status, body and content type of what is asked for."""
    name, reference = path.removeprefix("/v2/").split("/")[0], path.rsplit("/", 1)[1]
    if path == "/v2/":
        return 200, b"{}", "application/json"
    for status, refusal in REFUSED.items():
        if name.endswith(f"-{status}"):
            return status, _error(*refusal), "application/json"
    if "/manifests/" in path and reference in ("1", _digest(manifest)):
        return 200, manifest, MANIFEST
    if "/blobs/" in path and reference in blobs:
        return 200, blobs[reference], "application/octet-stream"
    return 404, _error("MANIFEST_UNKNOWN", "manifest unknown"), "application/json"


def _error(code: str, message: str) -> bytes:
    return json.dumps({"errors": [{"code": code, "message": message}]}).encode()


@contextlib.contextmanager
def registry(layers: int) -> Iterator[str]:
    """Serve an image of ``layers`` layers; yields ``host:port``."""
    manifest, blobs = _image(layers)

    class FakeRegistry(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            status, body, kind = _answer(self.path, manifest, blobs)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Docker-Content-Digest", _digest(body))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 -- http.server's name

    server = ThreadingHTTPServer(("127.0.0.1", 0), FakeRegistry)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
