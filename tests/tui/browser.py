"""A real headless browser, driven through the DevTools protocol, and the terminal that its page shows.

What the terminal shows is drawn on a canvas, so the bytes of the page's websocket are given to a terminal emulator.
Source of the protocol: chromedevtools.github.io/devtools-protocol.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pyte

from tests.e2e.terminal import picture

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--remote-debugging-port=0",
    "--window-size=1100,800",
)

CODES = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39}
"""Keys that are no letters, and their codes."""


def program() -> str | None:
    """The browser, if there is one on PATH."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """A browser with one page."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._changed = asyncio.Event()
        self.requests: list[str] = []
        """Every address that the page asked for."""
        self.statuses: dict[str, int] = {}
        self.problems: list[str] = []
        """What the browser's console said was wrong, such as a load that the page's policy forbids."""
        self.typed: list[str] = []
        """What the page's terminal sent as typed or pasted."""
        self.questions: list[str] = []
        """Kinds of the questions that the browser itself asks, such as ``beforeunload``; they wait for `answers`."""
        self.names: list[str] = []
        """What downloads want to be called."""
        self.downloaded: list[Path] = []
        self.screen = pyte.Screen(1, 1)
        self._stream = pyte.ByteStream(self.screen)

    async def __aenter__(self) -> Browser:
        executable = program()
        assert executable, "no browser is installed"
        self._process = await asyncio.create_subprocess_exec(
            *(executable, *FLAGS, f"--user-data-dir={self._folder}", "about:blank"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stderr is not None
        output = ""
        while "DevTools listening on " not in output:
            line = await asyncio.wait_for(self._process.stderr.readline(), 60)
            assert line, f"the browser ended: {output}"
            output += line.decode()
        self._drain = asyncio.create_task(self._process.stderr.read())
        self._http = aiohttp.ClientSession()
        address = output.rpartition("DevTools listening on ")[2].strip()
        self._socket = await self._http.ws_connect(address, max_msg_size=0)
        self._reader = asyncio.create_task(self._read())
        self._session = ""
        await self._call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        downloads = {"behavior": "allowAndName", "downloadPath": str(self._folder), "eventsEnabled": True}
        await self._call("Browser.setDownloadBehavior", **downloads)
        target = await self._call("Target.createTarget", url="about:blank")
        attached = await self._call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            await self._call(f"{domain}.enable")
        await self._call("Emulation.setFocusEmulationEnabled", enabled=True)  # as a window in front has it
        return self

    async def __aexit__(self, *_: object) -> None:
        self._reader.cancel()
        await self._http.close()
        os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        self._drain.cancel()

    async def _call(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters}
        await self._socket.send_json(message | ({"sessionId": self._session} if self._session else {}))
        return await asyncio.wait_for(answer, 60)

    async def _read(self) -> None:
        async for message in self._socket:
            data = message.json()
            if "id" in data:
                answer = self._answers.pop(data["id"])
                if "error" in data:
                    answer.set_exception(RuntimeError(str(data["error"])))
                else:
                    answer.set_result(data["result"])
            else:
                self._happened(data["method"], data["params"])
            self._changed.set()

    def _happened(self, method: str, data: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(data["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.requests.append(data["url"])
            size = dict(part.split("=") for part in urlsplit(data["url"]).query.split("&"))
            self.screen.resize(int(size["height"]), int(size["width"]))
            self.screen.reset()
        elif method in {"Network.webSocketFrameSent", "Network.webSocketFrameReceived"}:
            self._frame(data["response"]["opcode"], data["response"]["payloadData"])
        elif method == "Page.javascriptDialogOpening":
            self.questions.append(data["type"])
        elif method == "Network.responseReceived":
            self.statuses[urlsplit(data["response"]["url"]).path] = data["response"]["status"]
        elif method == "Browser.downloadProgress" and data["state"] == "completed":
            self.downloaded.append(Path(data["filePath"]))
        elif method == "Browser.downloadWillBegin":
            self.names.append(data["suggestedFilename"])
        elif method == "Log.entryAdded" and data["entry"]["level"] == "error":
            self.problems.append(data["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(str(data["exceptionDetails"]))

    def _frame(self, opcode: int, data: str) -> None:
        """The wizard draws in binary frames; all others are JSON (RFC 6455, 11.8, has the codes)."""
        if opcode == 2:
            self._stream.feed(base64.b64decode(data))
        elif opcode == 1:
            kind, *about = json.loads(data)
            if kind == "resize":
                self.screen.resize(int(about[0]["height"]), int(about[0]["width"]))
            elif kind == "stdin":
                self.typed.append(about[0])

    async def open(self, address: str) -> None:
        await self._call("Page.navigate", url=address)

    async def run(self, script: str) -> Any:
        """What a piece of JavaScript gives."""
        done = await self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        return done["result"].get("value")

    async def types(self, text: str) -> None:
        await self._call("Input.insertText", text=text)

    async def presses(self, key: str, *, alt: bool = False, ctrl: bool = False, shift: bool = False) -> None:
        """Press one of `CODES`, or a letter."""
        code = CODES.get(key, ord(key[0].upper()))
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        about = {"key": key, "windowsVirtualKeyCode": code, "modifiers": alt + 2 * ctrl + 8 * shift}
        await self._call("Input.dispatchKeyEvent", type="keyDown", text="" if ctrl or alt else text, **about)
        await self._call("Input.dispatchKeyEvent", type="keyUp", **about)

    async def leaves(self) -> None:
        """Close the page as Ctrl+W does; it may ask first."""
        await self._call("Page.close")

    async def answers(self, *, yes: bool) -> None:
        """Answer the browser's own question."""
        await self._call("Page.handleJavaScriptDialog", accept=yes)

    async def picture(self, file: Path) -> None:
        shot = await self._call("Page.captureScreenshot")
        file.write_bytes(base64.b64decode(shot["data"]))

    @property
    def shown(self) -> str:
        """What the page's terminal shows."""
        return "\n".join(line.rstrip() for line in picture(self.screen).splitlines())

    async def sees(self, *texts: str, seconds: float = 60) -> None:
        """Wait until the terminal shows all of ``texts``; ``seconds`` only bounds a wait in vain."""

        try:
            await asyncio.wait_for(self.happens(lambda: all(text in self.shown for text in texts)), seconds)
        except asyncio.TimeoutError:
            raise AssertionError(f"{texts} never came:\n{self.shown}\n{self.problems}") from None

    async def happens(self, condition: Callable[[], object]) -> None:
        """Wait until ``condition`` holds; it is looked at whenever the browser says something."""
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    async def loads(self, script: str, *, seconds: float = 60) -> None:
        """Wait until a piece of JavaScript is true; between two pages there is none to ask."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(RuntimeError):
                if await self.run(script):
                    return
            await asyncio.sleep(0.05)
        raise AssertionError(f"{script} never became true:\n{self.shown}\n{self.problems}")
