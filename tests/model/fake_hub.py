"""A hub on the loopback interface: the endpoints that huggingface_hub 2.4 uses for facts and small downloads.

``/api/models?search=`` and ``?filter=`` (models with every tag), ``/api/models/ID[/revision/REV]``,
``/api/whoami-v2`` and ``/api/models/ID/auth-check`` (``HfApi.whoami``, ``HfApi.auth_check``),
and ``/ID/resolve/REV/FILE`` with HEAD, Range, ETag, X-Repo-Commit and, for files that
the real hub keeps in LFS, a redirect with X-Linked-Size to another path; and the ways in which a hub can fail.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class FakeRepo:
    """Files, and what ``/api/models`` says beside them."""

    files: dict[str, bytes]
    info: dict[str, Any] = field(default_factory=dict)
    gated_files: bool = False
    moved: str = ""
    """The new name of a renamed repository, to which the hub redirects (HTTP 307)."""
    limited: int = 0
    """How many requests for it get HTTP 429 first."""
    closed: bool = False
    """Whether its description needs access that a token does not have (HTTP 403, ``GatedRepo``)."""


class FakeHub:
    """Start with ``with FakeHub({...}) as hub``; ``hub.url`` is its address and ``hub.requests`` what was asked.

    The storage, where files in LFS are: ``cuts`` ends the next answers after so many bytes (and calls ``on_cut``),
    ``answers`` gives the next requests these statuses, ``ranges`` is whether it knows Range, ``trickles`` sends small
    pieces, and ``stored`` has other bytes than the repository says. ``sizes`` are sizes that the hub claims, and
    ``hashes`` is whether it publishes any.

    ``accounts`` has the account of each token; the gated repositories in ``closed_to_all`` admit none.

    The storage never answers for the files in ``held``. With ``half`` it stops in the middle of a file and sets
    ``at_half``. ``trouble`` is an HTTP status that
    every request gets, ``silent`` (accepts, never answers), ``drip`` (sends a byte now and then for ever) or
    ``foreign`` (HTML, as from a captive portal).
    """

    def __init__(self, repos: dict[str, FakeRepo], trouble: int | str | None = None) -> None:
        self.repos = repos
        self.trouble = trouble
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.closing = threading.Event()
        self.held: set[str] = set()
        self.half = False
        self.cuts: list[int] = []
        self.on_cut: Callable[[], None] = lambda: None
        self.answers: list[int] = []
        self.ranges = True
        self.trickles = False
        self.stored: dict[str, bytes] = {}
        self.sizes: dict[str, int] = {}
        self.hashes = True
        self.accounts: dict[str, dict[str, Any]] = {}
        self.closed_to_all: set[str] = set()
        self.at_half = threading.Event()
        hub = self

        class Handler(_Handler):
            fake = hub

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{port}"
        self.cdn = f"http://localhost:{port}"  # another host, as the real hub's storage is

    def __enter__(self) -> FakeHub:
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()

    def paths(self, method: str) -> list[str]:
        return [path for asked, path, _ in self.requests if asked == method]


def git_blob(raw: bytes) -> str:
    """git's ID of a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()


def is_large(name: str) -> bool:
    """Whether the hub keeps it in LFS."""
    return name.endswith((".gguf", ".safetensors"))


class _Handler(BaseHTTPRequestHandler):
    fake: FakeHub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.fake.requests.append((self.command, self.path, dict(self.headers)))
        trouble = "silent" if self.fake.closing.is_set() else self.fake.trouble  # kept-alive connections end as well
        if trouble is not None:
            self.fail(trouble)
        elif path == "/api/models":
            self.search(parse_qs(urlsplit(self.path).query))
        elif path == "/api/whoami-v2" or path.endswith("/auth-check"):
            self.access(path)
        elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", path):
            self.repository(match[1], match[2])
        elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/(.+)", path):
            self.tree(match[1], match[2])
        elif match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/(.+?)/(.+)", path):
            self.file(match[1], match[2], match[3])
        elif match := re.fullmatch(r"/cdn/([^/]+/[^/]+)/(.+)", path):
            if match[2] in self.fake.held:
                self.fail("silent")
            else:
                self.storage(self.fake.stored.get(match[2], self.fake.repos[match[1]].files[match[2]]))
        else:
            self.send(200, b"hub")

    def fail(self, trouble: int | str) -> None:
        if trouble == "silent":
            self.fake.closing.wait()
            self.close_connection = True
        elif trouble == "drip":
            self.drip()
        elif trouble == "foreign":
            self.send(200, b"<html>Please log in to the airport's network</html>", {"Content-Type": "text/html"})
        else:
            self.send(int(trouble), b"{}")

    def access(self, path: str) -> None:
        """The account of a token, and whether it may read a repository."""
        if repo := re.fullmatch(r"/api/models/([^/]+/[^/]+)/auth-check", path):
            closed = repo[1] in self.fake.closed_to_all
            self.send(403 if closed else 200, b"{}", {"X-Error-Code": "GatedRepo"} if closed else None)
            return
        owner = self.fake.accounts.get((self.headers.get("Authorization") or "").removeprefix("Bearer "))
        self.send(200 if owner else 401, json.dumps(owner or {"error": "Invalid credentials"}).encode())

    def drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while not self.fake.closing.wait(0.05):
            try:
                self.wfile.write(b" ")
                self.wfile.flush()
            except OSError:
                return

    def search(self, asked: dict[str, list[str]]) -> None:
        """All repositories whose names hold the word, those that are downloaded most first."""
        models = [
            {"id": name, "tags": [], "gated": False, **repo.info}
            for name, repo in self.fake.repos.items()
            if asked.get("search", [""])[0].lower() in name.lower()
            and set(asked.get("filter", [])) <= set(repo.info.get("tags", []))
        ]
        models.sort(key=lambda model: -model.get("downloads", 0))
        self.send(200, json.dumps(models[: int(asked["limit"][0])]).encode(), {"Content-Type": "application/json"})

    def repository(self, name: str, revision: str | None) -> None:
        repo = self.known(name, revision)
        if repo and repo.limited:
            repo.limited -= 1
            self.send(
                429, b"{}", {"RateLimit": '"api";r=0;t=0', "RateLimit-Policy": '"fixed window";"api";q=500;w=300'}
            )
            return
        if repo and repo.moved:  # relative, as the Hub's own
            self.send(307, b"{}", {"Location": self.path.replace(name, repo.moved)})
            return
        if repo and repo.closed:
            self.send(
                403, b"{}", {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access to this model is restricted."}
            )
            return
        if repo is not None:
            siblings = [{"rfilename": n, **self.metadata(n, raw)} for n, raw in repo.files.items()]
            data = {"id": name, "sha": COMMIT, "siblings": siblings, "gated": False, "tags": [], **repo.info}
            self.send(200, json.dumps(data).encode(), {"Content-Type": "application/json"})

    def metadata(self, name: str, raw: bytes) -> dict[str, Any]:
        """As ``?blobs=true`` has it (huggingface_hub, ``RepoSibling``); for LFS, ``blobId`` is the pointer's."""
        size = self.fake.sizes.get(name, len(raw))
        if not self.fake.hashes:
            return {"size": size}
        if not is_large(name):
            return {"size": size, "blobId": git_blob(raw)}
        sha256 = hashlib.sha256(raw).hexdigest()
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {len(raw)}\n".encode()
        lfs = {"sha256": sha256, "size": size, "pointerSize": len(pointer)}
        return {"size": size, "blobId": git_blob(pointer), "lfs": lfs}

    def storage(self, raw: bytes) -> None:
        if self.fake.answers and self.command == "GET":
            self.send(self.fake.answers.pop(0), b"")
        elif self.fake.ranges:
            self.body(raw)
        else:
            self.send(200, raw)

    def tree(self, name: str, revision: str) -> None:
        if (repo := self.known(name, revision)) is not None:
            files = [{"type": "file", "path": n, "size": len(r), "oid": "0" * 40} for n, r in repo.files.items()]
            self.send(200, json.dumps(files).encode(), {"Content-Type": "application/json"})

    def file(self, name: str, revision: str, file: str) -> None:
        repo = self.known(name, revision)
        if repo is None:
            return
        commit = {"X-Repo-Commit": COMMIT}
        if repo.gated_files and "Bearer right" not in (self.headers.get("Authorization") or ""):
            self.send(401, b"{}", {"X-Error-Code": "GatedRepo", **commit})
        elif file not in repo.files:
            self.send(404, b"{}", {"X-Error-Code": "EntryNotFound", **commit})
        elif is_large(file):
            raw = repo.files[file]
            size = self.fake.sizes.get(file, len(raw))
            linked = {"X-Linked-Size": str(size), "X-Linked-ETag": f'"{hashlib.sha256(raw).hexdigest()}"'}
            self.send(302, b"", {"Location": f"{self.fake.cdn}/cdn/{name}/{file}", **linked, **commit})
        else:
            stored = self.fake.stored.get(file, repo.files[file])
            self.body(stored, {"ETag": f'"{git_blob(repo.files[file])}"', **commit})

    def known(self, name: str, revision: str | None) -> FakeRepo | None:
        repo = self.fake.repos.get(name)
        if repo is None:
            self.send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        elif revision not in (None, "main", "v1", COMMIT):
            self.send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
            return None
        return repo

    def body(self, raw: bytes, headers: dict[str, str] | None = None) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if asked is None:
            self.send(200, raw, headers)
            return
        first, last = int(asked[1]), min(int(asked[2] or len(raw)), len(raw) - 1)
        span = {"Content-Range": f"bytes {first}-{last}/{len(raw)}"}
        self.send(206, raw[first : last + 1], {**(headers or {}), **span})

    def send(self, status: int, raw: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, item in (headers or {}).items():
            self.send_header(name, item)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.fake.cuts and self.path.startswith("/cdn/"):
            self.wfile.write(raw[: self.fake.cuts.pop(0)])
            self.wfile.flush()
            self.fake.on_cut()
            self.close_connection = True
            return
        if self.fake.half and self.path.startswith("/cdn/"):
            self.wfile.write(raw[: len(raw) // 2])
            self.wfile.flush()
            self.fake.at_half.set()
            self.fake.closing.wait()
            self.close_connection = True
            return
        step = 1000 if self.fake.trickles and self.path.startswith("/cdn/") else max(1, len(raw))
        for first in range(0, len(raw), step):
            self.wfile.write(raw[first : first + step])
            self.wfile.flush()
