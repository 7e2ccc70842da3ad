"""The browser interface: who is let in, what is loaded, and what is left when a tab or the server goes away."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
from textual._xterm_parser import XTermParser
from textual.events import Key, Paste

from tests.processes import of_step, opened, over
from tests.tui.browser import Browser, program
from tests.tui.web_server import Served, fake, served
from wizard import journey
from wizard.kernel import proctable
from wizard.kernel.extras import install
from wizard.kernel.paths import Workspace

needs_browser = pytest.mark.skipif(program() is None, reason="no chromium on PATH")
FORBIDDEN = 403
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket"}


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Served]:
    with served(*fake(tmp_path)) as page:
        yield page
    journey.cancel(Workspace(tmp_path))


@asynccontextmanager
async def visitor(page: Served | None = None) -> AsyncIterator[aiohttp.ClientSession]:
    """Somebody without a cookie, or, with a ``page``, who used its token."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        if page:
            async with client.get(page.address) as answer:
                assert answer.status == 200
        yield client


async def status(client: aiohttp.ClientSession, address: str, **headers: str) -> int:
    async with client.get(address, headers=headers) as answer:
        return answer.status


# -- who is let in -----------------------------------------------------------------------------------------------------


async def test_without_the_token_nothing_is_answered(page: Served) -> None:
    for path in ("/", "/ws", "/download/x", "/static/js/textual.js", "/?token=", "/?token=x", "/none"):
        async with visitor() as client, client.get(page.base + path) as answer:
            assert answer.status == FORBIDDEN, path
            assert "TW-U62" in await answer.text()
            assert not answer.cookies


async def test_the_token_works_once_and_gives_a_cookie_that_no_script_and_no_other_site_can_use(page: Served) -> None:
    async with visitor() as client:
        async with client.get(page.address) as answer:
            (cookie,) = answer.cookies.values()
            assert cookie["httponly"]
            assert cookie["samesite"] == "Strict"
            assert answer.headers["Referrer-Policy"] == "no-referrer"
            assert answer.headers["Cache-Control"] == "no-store"
            shown = await answer.text()
            assert page.address.partition("=")[2] not in shown
            assert 'rel="icon" href="data:,"' in shown  # nothing is asked for that is not there
        async with client.get(page.base) as answer:
            assert answer.status == 200
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "http" not in policy.replace(page.base, "")
    async with visitor() as other:
        assert await status(other, page.address) == FORBIDDEN
        assert await status(other, page.base, Cookie=f"{cookie.key}=x") == FORBIDDEN
        assert await status(other, page.base, Cookie=f"{cookie.key}=\udcff") == FORBIDDEN


async def test_another_site_gets_nothing_even_with_the_cookie_or_the_token(page: Served) -> None:
    others: tuple[dict[str, str], ...] = (
        {"Host": "evil.example"},
        {"Host": f"evil.example:{(port := urlsplit(page.base).port)}"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": f"http://localhost:{port}"},
    )
    async with visitor() as client:
        for forged in others:
            assert await status(client, page.address, **forged) == FORBIDDEN, "and the token is not used up"
    async with visitor(page) as client:
        for forged in others:
            assert await status(client, page.base, **forged) == FORBIDDEN, forged
            assert await status(client, f"{page.base}/static/js/textual.js", **forged) == FORBIDDEN
            assert await status(client, f"{page.base}/ws", **{**UPGRADE, "Origin": page.base, **forged}) == FORBIDDEN


def raw(page: Served, *lines: str) -> bytes:
    """What the server answers to the head of a request that no client library would send."""
    where = urlsplit(page.base)
    with socket.create_connection((where.hostname, where.port), timeout=60) as line:
        line.sendall("".join(f"{each}\r\n" for each in (*lines, "Connection: close", "")).encode())
        return b"".join(iter(lambda: line.recv(65_536), b""))


async def test_no_trick_with_hosts_methods_or_tokens_uses_the_token_up_or_gets_a_cookie(page: Served) -> None:
    ours, path = urlsplit(page.base).netloc, page.address.removeprefix(page.base)
    for tricks in (
        (f"GET {path} HTTP/1.1", "Host: evil.example", f"X-Forwarded-Host: {ours}", f"Forwarded: host={ours}"),
        (f"GET http://evil.example{path} HTTP/1.1", f"Host: {ours}", "Origin: http://evil.example"),
        (f"GET {path} HTTP/1.1", "Host: evil.example", f"Host: {ours}"),
        (f"GET {path} HTTP/1.1", f"Host: {ours}.evil.example"),
        (f"GET {path} HTTP/1.1", f"Host: {ours}@evil.example"),
        (f"GET {path} HTTP/1.0",),
        (f"HEAD {path} HTTP/1.1", f"Host: {ours}"),
        (f"POST {path} HTTP/1.1", f"Host: {ours}", "Content-Length: 0"),
        (f"OPTIONS {path} HTTP/1.1", f"Host: {ours}", "Origin: http://evil.example"),
        (f"GET /static/..%2f..%2fetc/passwd{path.lstrip('/')} HTTP/1.1", f"Host: {ours}"),
        (f"GET /?token=x&{path[2:]} HTTP/1.1", f"Host: {ours}"),
    ):
        answer = raw(page, *tricks)
        assert answer.split(b" ", 2)[1] in {b"400", b"403"}, (tricks, answer[:200])
        assert b"set-cookie" not in answer.lower(), tricks
        assert b"access-control" not in answer.lower(), tricks
    async with visitor(page):
        """The token still works."""


async def test_of_two_that_redeem_the_token_at_once_one_is_let_in(page: Served) -> None:
    async with visitor() as first, visitor() as second:
        answers = await asyncio.gather(*(status(who, page.address) for who in (first, second)))
    assert sorted(answers) == [200, FORBIDDEN]


async def test_a_websocket_without_an_origin_is_no_browser_s_and_refused(page: Served) -> None:
    async with visitor(page) as client:
        assert await status(client, f"{page.base}/ws", **UPGRADE) == FORBIDDEN
        async with client.ws_connect(f"{page.base}/ws?width=x&height=", headers={"Origin": page.base}) as tab:
            assert (await tab.receive(timeout=60)).type == aiohttp.WSMsgType.BINARY


async def test_a_long_paste_does_not_end_the_wizard(page: Served) -> None:
    pasted = "x" * 5_000_000  # aiohttp's own limit is 4 MiB
    async with visitor(page) as client, client.ws_connect(f"{page.base}/ws", headers={"Origin": page.base}) as tab:
        assert (await tab.receive(timeout=60)).type == aiohttp.WSMsgType.BINARY
        await tab.send_json(["stdin", f"\x1b[200~{pasted}\x1b[201~"])
        await tab.send_json(["ping", "1"])
        while (message := await tab.receive(timeout=60)).type == aiohttp.WSMsgType.BINARY:
            pass
        assert message.type == aiohttp.WSMsgType.TEXT
        assert message.json() == ["pong", "1"]


def test_only_this_machine_is_listened_to(page: Served) -> None:
    port = urlsplit(page.base).port
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    assert [where for _, where, _, state, *_ in lines if state == "0A" and where.endswith(f":{port:04X}")] == [
        f"0100007F:{port:04X}"
    ]
    assert not Path("/proc/net/tcp6").exists() or not any(
        where.endswith(f":{port:04X}") and state == "0A"
        for _, where, _, state, *_ in (line.split() for line in Path("/proc/net/tcp6").read_text().splitlines()[1:])
    )


def test_the_token_is_in_no_argument_and_no_variable_of_any_process(page: Served, tmp_path: Path) -> None:
    token = page.address.partition("=")[2].encode()
    for folder in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                assert token not in (folder / name).read_bytes()
            except OSError:  # ended meanwhile, or somebody else's
                continue


def test_the_browser_is_started_with_a_file_that_only_the_user_can_read(tmp_path: Path) -> None:
    note, browser = tmp_path / "note", tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\nfile="${{1#file://}}"\nstat -c %a "$(dirname "$file")" >{note}.tmp\n'
        f'echo "$1" >>{note}.tmp\ncat "$file" >>{note}.tmp\nmv {note}.tmp {note}\n'
    )
    browser.chmod(0o755)
    with served(sys.executable, "-m", "wizard", "web", BROWSER=f"{browser} %s") as page:
        deadline = time.monotonic() + 60
        while not note.exists():
            assert time.monotonic() < deadline, "no browser was opened"
        mode, argument, text = note.read_text().split("\n", 2)
        token = page.address.partition("=")[2]
    assert mode == "700"
    assert token not in argument
    assert token in text
    assert not Path(urlsplit(argument).path).exists(), "it goes with the server"
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_a_program_that_talks_no_http_to_the_port_fills_no_terminal(page: Served) -> None:
    for request in (b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\nX: " + b"x" * 10_000 + b"\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", urlsplit(page.base).port or 0)) as port:  # https://…; a long header
            port.sendall(request)
            assert b" 400 " in port.recv(100)
    assert "Traceback" not in page.ends()


# -- beginning and end -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_says_where_it_is_and_how_to_stop_it_and_stops(page: Served, number: signal.Signals) -> None:
    assert "Stopping" in page.ends(number)
    assert page.process.returncode == 0


def test_a_port_that_is_taken_is_passed_over_unless_it_was_asked_for(page: Served, tmp_path: Path) -> None:
    port = urlsplit(page.base).port
    done = subprocess.run(
        [sys.executable, "-m", "wizard", "web", "--no-open", "--port", str(port)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(f"TW-U61: cannot use port {port} of 127.0.0.1: ")
    with served(*fake(tmp_path)) as other:
        assert urlsplit(other.base).port not in (None, port)


def test_what_is_not_installed_is_named_with_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "textual_serve.py").write_text("raise ModuleNotFoundError('gone', name='textual_serve')")
    done = subprocess.run(
        [sys.executable, "-m", "wizard", "web", "--no-open"],
        capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr.startswith("TW-U60: ")
    assert f"`{install('web')}`" in done.stderr


# -- in a real browser -------------------------------------------------------------------------------------------------


async def to_the_step(browser: Browser, page: Served) -> None:
    await browser.open(page.address)
    for label in ("Choose a model", "Use this setup", "Run it"):
        await browser.sees(label)
        await browser.presses("Enter")
    await browser.sees("it waits")


@needs_browser
async def test_the_page_shows_the_wizard_takes_keys_and_loads_nothing_from_elsewhere(
    page: Served, tmp_path: Path
) -> None:
    async with Browser(tmp_path / "profile") as browser:
        await to_the_step(browser, page)
        await browser.presses("z", ctrl=True)  # nothing could resume it there
        await browser.presses("l")
        await browser.sees("Full output of each step")
        hosts = {urlsplit(address).hostname for address in browser.requests if not address.startswith("data:")}
        assert hosts == {"127.0.0.1"}
        assert browser.problems == []
        assert await browser.run("document.cookie") == ""
        assert await browser.run("location.href") == f"{page.base}/", "the token does not stay in the address"
        assert await browser.run("document.fonts.check('16px \"Roboto Mono\"')")
        assert await browser.run("document.documentElement.lang") == "en"
    async with Browser(tmp_path / "other") as other:
        await other.open(page.address)
        await other.loads("document.body && document.body.innerText.includes('TW-U62')")
        assert other.statuses["/"] == FORBIDDEN


@needs_browser
@pytest.mark.parametrize("end", ["tab closed", "server interrupted", "server killed"])
async def test_whatever_goes_away_no_wizard_is_left_and_the_build_continues(
    page: Served, tmp_path: Path, end: str
) -> None:
    def wizards() -> list[Path]:
        return [each for each in Path("/proc").glob("[0-9]*") if _is_wizard(each, tmp_path)]

    with ExitStack() as stack:
        async with Browser(tmp_path / "profile") as browser:
            await to_the_step(browser, page)
            assert len(wizards()) == 1
            steps = await asyncio.to_thread(of_step, tmp_path, 2)
            processes = stack.enter_context(opened(int(each.name) for each in wizards()))
            if end == "server interrupted":
                await asyncio.to_thread(page.ends)
                await browser.loads("getComputedStyle(document.querySelector('.ended')).display == 'block'")
            elif end == "server killed":
                page.process.kill()
        assert await asyncio.to_thread(over, processes)
    assert wizards() == []
    left = {row.pid for row in proctable.marked(proctable.STEP_MARK, str(tmp_path))}
    assert left == {row.pid for row in steps}
    assert await asyncio.to_thread(journey.cancel, Workspace(tmp_path)) is not None
    assert proctable.marked(proctable.STEP_MARK, str(tmp_path)) == []


def _is_wizard(process: Path, workspace: Path) -> bool:
    try:
        argv = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"tests.tui.in_terminal" in argv and b"tests.tui.in_browser" not in argv and bytes(workspace) in argv


@needs_browser
async def test_keys_that_the_page_s_terminal_reports_differently_reach_the_wizard(page: Served, tmp_path: Path) -> None:
    async with Browser(tmp_path / "profile") as browser:
        await browser.open(page.address)
        await browser.sees("Choose a model")
        await browser.run("navigator.clipboard.writeText('안녕')")
        browser.typed.clear()
        await browser.presses("x")  # xterm.js remembers a key that was a letter
        await browser.presses("Enter", shift=True)
        await browser.presses("ArrowLeft", alt=True)
        await browser.presses("ArrowRight", alt=True)
        await browser.presses("ArrowRight", ctrl=True)
        await browser.presses("v", ctrl=True)
        await asyncio.wait_for(browser.happens(lambda: "안녕" in "".join(browser.typed)), 60)
    *keys, pasted = XTermParser().feed("".join(browser.typed))
    assert [key.key for key in keys if isinstance(key, Key)] == [
        "x", "shift+enter", "alt+left", "alt+right", "ctrl+right",
    ]  # fmt: skip
    assert isinstance(pasted, Paste)
    assert pasted.text == "안녕"


@needs_browser
async def test_the_browser_asks_before_it_closes_a_page_whose_wizard_would_end(page: Served, tmp_path: Path) -> None:
    async with Browser(tmp_path / "profile") as browser:
        await to_the_step(browser, page)
        await browser.leaves()
        await asyncio.wait_for(browser.happens(lambda: browser.questions), 60)
        assert browser.questions == ["beforeunload"]
        await browser.answers(yes=False)
        assert "it waits" in browser.shown
        await asyncio.to_thread(page.ends)
        await browser.loads("getComputedStyle(document.querySelector('.ended')).display == 'block'")
        await browser.open("about:blank")
        assert browser.questions == ["beforeunload"], "a wizard that has ended is nothing to lose"


@needs_browser
async def test_what_is_copied_is_in_the_browser_s_clipboard_and_what_is_saved_is_downloaded(
    page: Served, tmp_path: Path
) -> None:
    async with Browser(tmp_path / "profile") as browser:
        await browser.open(page.address)
        await browser.sees("Choose a model", "Your machine")
        for command, shown in (("Copy the screen", "to the clipboard"), ("Save a screenshot", "As an SVG file")):
            await browser.presses("p", ctrl=True)
            await browser.sees("Search for a command")
            await browser.types(command)
            await browser.sees(shown, command)
            await browser.presses("Enter")
            if command == "Copy the screen":
                await browser.loads("navigator.clipboard.readText().then(text => text.includes('Your machine'))")
        await asyncio.wait_for(browser.happens(lambda: browser.downloaded), 60)
        assert browser.names[0].endswith(".svg")
        assert "<svg" in browser.downloaded[0].read_text()


@needs_browser
async def test_a_wizard_that_ends_says_so_and_can_be_started_again(page: Served, tmp_path: Path) -> None:
    async with Browser(tmp_path / "profile") as browser:
        await browser.open(page.address)
        await browser.sees("Choose a model")
        await browser.presses("q")
        await browser.loads("getComputedStyle(document.querySelector('.ended')).display == 'block'")
        await browser.run("document.querySelector('.ended a').click()")
        await browser.loads("document.body.classList.contains('-first-byte')")
        await browser.sees("Choose a model")


def test_no_address_but_this_machine_s_is_in_what_is_served() -> None:
    """Also of textual-serve's own files, which are served as they are."""
    import textual_serve

    folder = Path(textual_serve.__file__).parent / "static"
    style = (folder / "css" / "xterm.css").read_text()
    assert "url(" not in style
    assert "@import" not in style
    with socket.create_server(("127.0.0.1", 0)) as taken:
        from wizard.kernel.errors import UsageError
        from wizard.tui.web.server import listen

        with pytest.raises(UsageError, match="cannot use port"):
            listen(taken.getsockname()[1])
