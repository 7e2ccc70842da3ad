"""A tiny engine: the wire on its side, by its description in ``proxy_model.py``."""

from __future__ import annotations

import sys

PEER = """
import json, os, struct, sys
def read(size):
    data = b""
    while len(data) < size:
        piece = os.read(0, size - len(data))
        if not piece: sys.exit(7)
        data += piece
    return data
def receive():
    return json.loads(read(struct.unpack(">I", read(4))[0]))
def send(message):
    data = json.dumps(message).encode()
    data = struct.pack(">I", len(data)) + data
    while data:
        data = data[os.write(0, data):]
"""


def peer(program: str) -> list[str]:
    """The command of an engine that runs ``program``."""
    return [sys.executable, "-I", "-S", "-c", PEER + program]
