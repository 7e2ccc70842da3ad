"""The API key of an OpenAI-compatible server: from where it comes, to whom it goes, and that nobody sees it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

import pytest

from tests.chat.fake_openai import (
    ASK,
    KEY,
    WORDS,
    FakeOpenAI,
    only,
    read,
)
from wizard.chat import openai
from wizard.chat.ask import API_KEY
from wizard.chat.openai import at
from wizard.kernel.errors import ServerError, UsageError


async def test_the_key_comes_from_the_environment(fake: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.key = KEY
    for wrong in ("", "wrong", "é\n"):
        monkeypatch.setenv(API_KEY, wrong)
        with pytest.raises(ServerError) as caught:
            at(fake.url)
        assert caught.value.code == "TW-C12"
    monkeypatch.setenv(API_KEY, f"{KEY}\n")
    chunks = await read(at(fake.url))
    assert "".join(chunk.text for chunk in chunks) == "".join(WORDS)
    assert KEY not in repr(at(fake.url))


async def test_the_key_is_sent_only_where_it_is_wanted(fake: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(API_KEY, KEY)
    await read(at(fake.url))
    assert set(fake.keys) == {None}
    fake.key = KEY
    fake.keys.clear()
    at(fake.url)
    assert fake.keys == [None, f"Bearer {KEY}"]


async def test_the_key_never_goes_through_the_net_in_the_clear(
    fake: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(API_KEY, KEY)
    elsewhere = fake.url.replace("127.0.0.1", "0.0.0.0")  # no address of loopback, and yet it is this machine
    open_one = at(elsewhere)
    fake.key = KEY
    for asking in (lambda: at(elsewhere), lambda: asyncio.run(only(open_one.http))):
        with pytest.raises(ServerError) as caught:
            await asyncio.to_thread(asking)
        assert caught.value.code == "TW-C17"
        assert KEY not in str(caught.value)
    assert set(fake.keys) == {None}


async def test_an_answer_may_want_the_key_where_the_list_does_not(
    fake: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(API_KEY, KEY)
    fake.key = KEY
    sent: list[None] = []
    pieces = [piece.text async for piece in openai.stream(ASK, f"{fake.url}/v1", lambda: sent.append(None))]
    assert "".join(pieces) == "".join(WORDS)
    assert fake.keys == [None, f"Bearer {KEY}"]
    assert len(sent) == 2  # the time to the first word counts from the second


@pytest.mark.parametrize(
    ("base", "safe"),
    [
        ("https://example.org/v1", True),
        ("http://localhost:9000/v1", True),
        ("http://127.8.9.1/v1", True),
        ("http://[::1]:9000/v1", True),
        ("http://example.org/v1", False),
        ("http://localhost.example.org/v1", False),
        ("http://127.0.0.1.example.org/v1", False),
        ("http://10.0.0.2:9000/v1", False),
        ("http://[fe80::1%25eth0]/v1", False),
    ],
)
def test_where_a_key_may_be_sent(base: str, safe: bool) -> None:
    assert openai.private(base) == safe


def chat(*arguments: str, key: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "wizard", "chat", *arguments]
    env = {**os.environ, **({API_KEY: key} if key else {})}
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env, check=False)


def test_the_command_line(fake: FakeOpenAI) -> None:
    fake.key = KEY
    done = chat("--url", fake.url, "-m", "Hello", "--json", key=KEY)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert (record["answer"], record["tokens"], record["model"]) == ("".join(WORDS), 3, "m")
    refused = chat("--url", fake.url, "-m", "Hello")
    assert refused.returncode == ServerError.exit_code
    assert "TW-C12" in refused.stderr
    wrong = chat("--url", fake.url, "-m", "Hello", key="wrong-0123456789abcdef")
    assert "wrong-0123456789abcdef" not in wrong.stdout + wrong.stderr
    both = chat("demo", "--url", fake.url)
    assert both.returncode == UsageError.exit_code
    assert "TW-U37" in both.stderr


def test_in_a_terminal_the_key_is_asked_for_and_not_shown(fake: FakeOpenAI) -> None:
    import pexpect

    fake.key = KEY
    terminal = pexpect.spawn(
        sys.executable, ["-m", "wizard", "chat", "--url", fake.url, "-m", "Hello"], encoding="utf-8", timeout=60
    )
    terminal.expect("API key")
    terminal.waitnoecho()
    terminal.sendline(KEY)
    terminal.expect("3 tokens")
    seen = terminal.before or ""
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert terminal.exitstatus == 0
    assert KEY not in seen + (terminal.before or "")
