"""Configuration files of MCP servers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from wizard.chat.tools.config import load, path
from wizard.kernel.errors import UsageError


def written(folder: Path, data: Any) -> Path:
    file = folder / "mcp.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def test_where_the_users_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/me/.config")
    assert path() == Path("/home/me/.config/triton-wizard/mcp.json")


def test_the_forms_of_other_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "t0k")
    monkeypatch.delenv("UNSET", raising=False)
    servers = {
        "files": {
            "command": "~/bin/serve",
            "args": ["--root", "${UNSET:-/tmp}", "$TOKEN"],
            "env": {"KEY": "${TOKEN}", "OTHER": "a${env:TOKEN}b"},
            "cwd": "sub",
            "type": "stdio",
            "autoApprove": ["everything"],
            "timeout": 60,
        },
        "web": {"url": "https://${UNSET:-example.org}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
        "old": {"type": "sse", "url": "http://127.0.0.1:8000/sse"},
        "off": {"command": "x", "disabled": True},
    }
    loaded = load(written(tmp_path, {"mcpServers": servers, "theme": "dark"}))
    files, web, old = loaded.servers
    assert loaded.problems == ()
    assert files.command == (f"{os.environ['HOME']}/bin/serve", "--root", "/tmp", "$TOKEN")
    assert files.env == {"KEY": "t0k", "OTHER": "at0kb"}
    assert files.cwd == str(tmp_path / "sub")
    assert (web.url, web.headers, web.old) == ("https://example.org/mcp", {"Authorization": "Bearer t0k"}, False)
    assert old.old
    assert "t0k" not in repr(loaded)


def test_the_list_of_vs_code_and_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(
        '{"servers": {"a": {"type": "http", "url": "http://127.0.0.1/mcp"}}, "inputs": []}', encoding="utf-8-sig"
    )
    assert [each.name for each in load(file).servers] == ["a"]


def test_a_server_with_an_unset_variable_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNSET", raising=False)
    servers = {
        "a": {"command": "x", "env": {"KEY": "${UNSET}"}},
        "b": {"command": "y"},
        "c": {"command": "${input:key}"},
        "d": {"url": "ftp://example.org"},
    }
    loaded = load(written(tmp_path, {"mcpServers": servers}))
    assert [each.name for each in loaded.servers] == ["b"]
    assert loaded.problems == (
        "The tool server a is not used: the environment variable UNSET is not set.",
        "The tool server c is not used: ${input:key} is not supported; use ${NAME}.",
        "The tool server d is not used: 'ftp://example.org' is not an HTTP URL.",
    )


@pytest.mark.parametrize(
    ("servers", "words"),
    [
        ({"a": {}}, "mcpServers.a: give either command or url"),
        ({"a": {"command": "x", "url": "http://a"}}, "mcpServers.a: give either command or url"),
        ({"a": {"command": ["x"]}}, "mcpServers.a.command: must be a string, not ['x']"),
        ({"a": {"command": "x", "args": "y"}}, "mcpServers.a.args: must be a list, not 'y'"),
        ({"a": {"command": "x", "env": {"KEY": 12345}}}, "mcpServers.a.env.KEY: must be a string, not '…'"),
        ({"a": {"command": "x", "env": {"A=B": "c"}}}, "mcpServers.a: a value has characters"),
        ({"a": {"command": "x\0"}}, "mcpServers.a: a value has characters"),
        ({"a": {"url": "http://a", "headers": {"A": "b\r\nC: d"}}}, "mcpServers.a: headers must consist of"),
        ({"a": {"command": "x", "type": "http"}}, "mcpServers.a: unknown type: http"),
        ({"a": {"command": "x", "envFile": ".env"}}, "mcpServers.a: envFile is not supported"),
        ({"\x1b[2J": {"command": "x"}}, "use up to 64 letters"),
        ({"a/b": {"command": "x"}}, "use up to 64 letters"),
        ({"a": None}, "mcpServers.a: missing"),
        ([], "mcpServers: must be a table, not []"),
        ({f"s{number}": {"command": "x"} for number in range(40)}, "more than 32 servers"),
    ],
)
def test_invalid_servers(tmp_path: Path, servers: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(written(tmp_path, {"mcpServers": servers}))
    assert caught.value.code == "TW-C40"
    assert words in caught.value.what
    assert "12345" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "line 1, column 1"),
        (b"{", "line 1, column 2"),
        (b"\xff\xfe", "byte 1 is not UTF-8"),
        (b"[" * 200_000, "nested too deeply"),
        (b"[]", "the object mcpServers is missing"),
        (b"{}", "the object mcpServers is missing"),
        (b" " * (2**20 + 1), "too large"),
    ],
    ids=["empty", "cut", "bytes", "deep", "list", "object", "large"],
)
def test_files_that_are_no_configuration(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        load(file)
    assert caught.value.code == "TW-C40"
    assert words in caught.value.what


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("missing", "pipe", "."):
        with pytest.raises(UsageError) as caught:
            load(tmp_path / name)
        assert caught.value.code == "TW-C40"
