"""A scripted child process instead of an MCP server, which misbehaves: the argument says how.

Its good messages follow modelcontextprotocol.io/specification/2025-11-25 (lifecycle, tools).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import Any

HOW = sys.argv[1]
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS: dict[str, list[Any]] = {
    "schemas": [
        {"name": "good", "inputSchema": SCHEMA},
        {"name": "long", "inputSchema": {"type": "object", "description": "x" * 70_000}},
        {"name": "\x1b]0;title\x07evil", "inputSchema": SCHEMA},
        {"name": "x" * 200, "inputSchema": SCHEMA},
    ],
    "array": [{"name": "good", "inputSchema": SCHEMA}, {"name": "bad", "inputSchema": {"type": "array"}}],
    "no-schema": [{"name": "good", "inputSchema": SCHEMA}, {"name": "bad"}],
    "many": [{"name": f"tool{number}", "inputSchema": SCHEMA} for number in range(200)],
    "twice": [{"name": "same", "inputSchema": SCHEMA}, {"name": "same", "inputSchema": SCHEMA}],
}
NORMAL = [{"name": "do", "description": "Do \x1b[31mit\u202e.", "inputSchema": SCHEMA}]
RESULTS: dict[str, Any] = {
    "huge-result": {"content": [{"type": "text", "text": "x" * 3_000_000}]},
    "escapes": {"content": [{"type": "text", "text": "\x1b]52;c;aGk=\x07\x1b[2Jred"}]},
    "wrong-result": {"content": [{"type": "hologram"}]},
    "no-content": {"content": [], "structuredContent": {"a": 1}},
    "empty": {"content": []},
}


def send(message: object) -> None:
    sys.stdout.write(f"{json.dumps(message)}\n")
    sys.stdout.flush()


def flood() -> None:
    """A line without an end."""
    while True:
        sys.stdout.write("x" * 65536)


def answer(request: dict[str, Any]) -> object:
    match request["method"]:
        case "initialize":
            about = {"name": "fake", "version": "1"}
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            if HOW == "hang-list":
                threading.Event().wait()
            if HOW == "endless-list":
                return {"tools": NORMAL, "nextCursor": "more"}
            if HOW == "wrong-list":
                return {"tools": "none"}
            return {"tools": TOOLS.get(HOW, NORMAL)}
        case "tools/call":
            if HOW == "hang-call":
                threading.Event().wait()
            if HOW == "flood-call":
                flood()
            if HOW == "die-call":
                print("\x1b[31mout of memory", file=sys.stderr, flush=True)
                os._exit(9)
            return RESULTS.get(HOW, {"content": [{"type": "text", "text": "done"}]})
    return None


def begin() -> None:
    if HOW == "stubborn":
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
    if HOW == "hang":
        threading.Event().wait()
    if HOW == "flood":
        flood()
    if HOW == "noise":
        while True:
            print("Listening …", flush=True)
    if HOW == "exit":
        sys.exit("cannot find the database")
    if HOW == "chatty":
        print("Welcome to my server!\n\n{broken json\n[1, 2]\n" + "[" * 100_000, flush=True)


def main() -> None:
    begin()
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        if (result := answer(request)) is None:
            send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "Method not found"}})
        else:
            send({"jsonrpc": "2.0", "id": request["id"], "result": result})
    if HOW == "stubborn":
        while True:
            threading.Event().wait()


if __name__ == "__main__":
    main()
