"""The full-screen wizard in a browser: each tab gets its own wizard, in a separate process (textual-serve).

A page that can start programs must be private. So the server listens on this machine only; a one-time address gives a
browser a cookie, which every request requires; and requests that another site makes a browser send are rejected by the
headers that it cannot change: their ``Host`` and ``Origin`` (RFC 9110, 7.2; RFC 6454, 7).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Awaitable, Callable, Sequence
from html import escape
from pathlib import Path
from string import Template

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.log import server_logger
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int

from wizard.kernel import language
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr

HERE = "127.0.0.1"
FIRST_PORT, PORTS = 8750, 20
"""The first port to try, and the number of ports to try."""
ENDS_S = 30.0
"""Seconds for a wizard to stop its step before it is killed; Triton gets 30 s to stop, a step less."""
COOKIE = "triton_wizard_{port}"
"""Browsers share cookies between the ports of a machine (RFC 6265, 8.5)."""
DRIVER = "wizard.tui.web.driver:Driver"
PAGE = Path(__file__).with_name("page.html")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "font-src 'self'; img-src 'self' data:; connect-src 'self' ws://{host}; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Gate:
    """Access control.

    Args:
        port: The server's port, which is part of valid ``Host`` and ``Origin`` headers.
    """

    def __init__(self, port: int) -> None:
        names = (HERE, "localhost")
        self.hosts = frozenset(f"{name}:{port}" for name in names) | frozenset(names if port == 80 else ())
        self.cookie = COOKIE.format(port=port)
        self.token = secrets.token_urlsafe(32)
        """What the first request must have; empty when it was used."""
        self._session = secrets.token_urlsafe(32)

    def is_ours(self, request: web.Request) -> bool:
        """Whether the request's host is ours, and it was sent by one of our pages or by the user."""
        if request.host not in self.hosts:
            return False
        origin = request.headers.get("Origin")
        if origin is None:  # browsers send it with every websocket
            return request.headers.get("Upgrade") is None
        return origin == f"http://{request.host}"

    def has_session(self, request: web.Request) -> bool:
        """Whether the request has the cookie."""
        return _same(request.cookies.get(self.cookie, ""), self._session)

    def redeems(self, token: str) -> bool:
        """Whether ``token`` is the valid one; it can be used only once."""
        right = bool(self.token) and _same(token, self.token)
        if right:
            self.token = ""
        return right

    def give_session(self, response: web.Response) -> None:
        """Set the cookie in the browser, until it is closed; no script and no other site can use it."""
        response.set_cookie(self.cookie, self._session, httponly=True, samesite="Strict", path="/")


def _same(given: str, right: str) -> bool:
    """A constant-time comparison; ``given`` may be any bytes, which aiohttp reads with surrogateescape."""
    return secrets.compare_digest(given.encode(errors="surrogateescape"), right.encode())


def _is_a_defect(record: logging.LogRecord) -> bool:
    """Whether to show aiohttp's message to the user; not if a program on this machine sent something other than
    HTTP.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


class Session(AppService):  # type: ignore[misc]  # textual-serve has no types here
    """The wizard of a tab."""

    async def _open_app_process(self, width: int = 80, height: int = 24) -> asyncio.subprocess.Process:
        """Start it without a shell, in its own session: Ctrl-C is for the page's server."""
        self._process = await asyncio.create_subprocess_exec(
            *self.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**self._build_environment(width, height), "TEXTUAL_DRIVER": DRIVER},
            start_new_session=True,
        )
        self._stdin = self._process.stdin
        return self._process

    async def run(self) -> None:
        """Send its output to the page; when the wizard exits, the page ends."""
        try:
            await super().run()
        finally:
            with contextlib.suppress(ConnectionError):
                await self.remote_close()

    async def on_data(self, payload: bytes) -> None:
        """Send its output; if the page is closed, drop it, because the wizard must not wait for a reader."""
        with contextlib.suppress(ConnectionError):
            await super().on_data(payload)

    async def stop(self) -> None:
        """The tab was closed: the wizard shuts down (see `wizard.tui.web.driver`), or is killed if it cannot."""
        process: asyncio.subprocess.Process | None = self._process
        if process is None:
            return
        await self._download_manager.cancel_app_downloads(app_service_id=self.app_service_id)
        self.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), ENDS_S)
        except asyncio.TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=1)


class WebWizard(Server):  # type: ignore[misc]
    """Serves the page, with a wizard per tab.

    Args:
        argv: The command that runs the wizard.
        port: The port to listen on.
    """

    def __init__(self, argv: Sequence[str], port: int) -> None:
        super().__init__(argv[0], host=HERE, port=port, title="triton-wizard")
        self.argv = tuple(argv)
        self.gate = Gate(port)
        self._open: set[web.WebSocketResponse] = set()

    @property
    def address(self) -> str:
        """The one-time address to open."""
        return f"{self.public_url}/?token={self.gate.token}"

    async def _make_app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard])
        app.add_routes(
            [
                web.get("/", self.handle_index),
                web.get("/page.js", self._script),
                web.get("/ws", self.handle_websocket),
                web.get("/download/{key}", self.handle_download),
                web.static("/static", self.statics_path),
            ]
        )
        app.on_response_prepare.append(self._add_headers)
        app.on_shutdown.append(self._close_all)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Reject all requests except those of the browser that had the token."""
        if self.gate.is_ours(request):
            token = request.query.get("token")
            if request.method == "GET" and request.path == "/" and token and self.gate.redeems(token):
                return self._let_in()
            if self.gate.has_session(request):
                return await handler(request)
        error = UsageError(
            "TW-U62",
            tr("this page belongs to another browser"),
            tr("The address that `triton-wizard web` prints works only once; run the command again for a new one."),
        )
        return web.Response(text=str(error), status=403)

    def _let_in(self) -> web.Response:
        """A page that leads to the wizard: a redirect would still count as sent by the link's author (Strict)."""
        icon = '<link rel="icon" href="data:,">'  # otherwise the browser requests a missing one
        link = f'<!DOCTYPE html>{icon}<meta http-equiv="refresh" content="0;url=/"><a href="/">{escape(self.title)}</a>'
        response = web.Response(text=link, content_type="text/html")
        self.gate.give_session(response)
        return response

    async def _add_headers(self, request: web.Request, response: web.StreamResponse) -> None:
        host = request.host if request.host in self.gate.hosts else HERE
        response.headers.update({name: value.replace("{host}", host) for name, value in HEADERS.items()})

    async def handle_index(self, request: web.Request) -> web.Response:
        """The page."""
        words = {
            "language": language.used(),
            "title": self.title,
            "websocket": f"ws://{request.host}/ws",
            "noscript": tr(
                "This page requires JavaScript. Without JavaScript, run triton-wizard --plain in a terminal."
            ),
            "waiting": tr("Starting the wizard."),
            "ended": tr("The wizard has exited. Running models keep running."),
            "again": tr("Restart the wizard"),
        }
        page = Template(PAGE.read_text(encoding="utf-8"))
        return web.Response(
            text=page.substitute({name: escape(text) for name, text in words.items()}), content_type="text/html"
        )

    async def _script(self, _: web.Request) -> web.FileResponse:
        return web.FileResponse(PAGE.with_suffix(".js"))

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """A tab: a wizard for as long as it is open."""
        tab = web.WebSocketResponse(heartbeat=15, max_msg_size=0)  # pasted text may be long, and is the user's own
        await tab.prepare(request)
        session = Session(
            self.argv,
            write_bytes=tab.send_bytes,
            write_str=tab.send_str,
            close=tab.close,
            download_manager=self.download_manager,
        )
        self._open.add(tab)
        try:
            await session.start(to_int(request.query.get("width", ""), 80), to_int(request.query.get("height", ""), 24))
            await self._process_messages(tab, session)
        finally:
            self._open.discard(tab)
            await asyncio.shield(session.stop())
        return tab

    async def _close_all(self, _: web.Application) -> None:
        await asyncio.gather(*(tab.close() for tab in tuple(self._open)))

    async def run(self, listening: socket.socket, opened: Callable[[str], None]) -> None:
        """Serve until SIGINT, SIGTERM or SIGHUP, then stop every tab's wizard.

        Args:
            listening: A bound socket.
            opened: Called with the address once the server is ready.
        """
        server_logger.addFilter(_is_a_defect)
        runner = web.AppRunner(await self._make_app(), access_log=None, shutdown_timeout=ENDS_S + 5)
        await runner.setup()
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        try:
            await web.SockSite(runner, listening).start()
            opened(self.address)
            await stop.wait()
            _say(tr("Stopping; running models keep running."))
        finally:
            await runner.cleanup()


def listen(port: int | None) -> socket.socket:
    """A socket bound to ``port``, or to the first free one from `FIRST_PORT` on; reachable from this machine only.

    Raises:
        UsageError: TW-U61 if it is in use, or all of them are.
    """
    ports = range(FIRST_PORT, FIRST_PORT + PORTS) if port is None else (port,)
    for candidate in ports:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HERE, candidate))
            listener.listen()
        except OSError as error:
            listener.close()
            reason = error.strerror
        else:
            return listener
    raise UsageError(
        "TW-U61",
        tr("cannot use port {port} of 127.0.0.1: {reason}", port=ports[-1], reason=reason),
        tr("Choose another port with --port, or omit --port to use a free one."),
    )


def serve(argv: Sequence[str], *, port: int | None = None, browser: bool = True) -> None:
    """Serve the wizard in a browser until Ctrl-C.

    Args:
        argv: The command that runs the wizard.
        port: The port; by default the first free one from `FIRST_PORT` on.
        browser: Whether to open a browser, if there is a desktop.

    Raises:
        UsageError: TW-U61 if the port is in use.
    """
    listening = listen(port)
    server = WebWizard(argv, listening.getsockname()[1])
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory(prefix="triton-wizard-") as folder:

        def opened(address: str) -> None:
            _say(tr("The wizard is at {address}", address=address))
            _say(tr("The address works once, in one browser on this machine. Press Ctrl-C to stop the wizard."))
            if browser and has_desktop():
                open_browser(address, Path(folder))

        asyncio.run(server.run(listening, opened))


def has_desktop() -> bool:
    """Whether a browser would open in a window; otherwise it would use this terminal."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def open_browser(address: str, folder: Path) -> None:
    """Open a file that redirects to ``address``: all users of the machine can see a browser's arguments.

    Args:
        address: The address to open.
        folder: A folder that only this user can read.
    """
    file = folder / "open.html"
    file.write_text(f'<!DOCTYPE html><meta http-equiv="refresh" content="0;url={escape(address)}">', encoding="utf-8")
    threading.Thread(target=webbrowser.open, args=(file.as_uri(),), daemon=True).start()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
