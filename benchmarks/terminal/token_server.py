"""An OpenAI-compatible server that computes nothing: it sends `RATE` tokens per second of a long Markdown answer.

As a script: ``token_server.py TOKENS`` prints its port and serves until it is stopped.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time

RATE = 500
"""Tokens per second, each in an event of its own; what it is late with it makes up for."""
PIECE = 4
"""Characters of a token."""
PARAGRAPH = (
    "Triton is **NVIDIA's** inference server; it *batches* what comes at the same time, see `max_batch_size`. " * 4
)
CODE = "\n".join(f"def step_{line}(value: int) -> str:  # line {line}\n    return 'x' * value" for line in range(30))
FORMULA = r"""$$
\int_{-\infty}^{\infty} e^{-x^2}\,dx = \sqrt{\pi}, \qquad A = \begin{pmatrix} a & b \\ c & d \end{pmatrix}
$$"""
LIST = "\n".join(f"{item}. **Step {item}** costs $O(n^{item} \\log n)$, see `step_{item}`" for item in range(1, 81))
ROWS = "\n".join(f"| {row} | $x_{{{row}}}^2 + \\alpha$ | the row *number* {row} |" for row in range(200))
TABLE = f"| n | formula | text |\n|--:|:-:|---|\n{ROWS}"
PART = f"## A part\n\n{PARAGRAPH}\n\n{FORMULA}\n\n{LIST}\n\n```python\n{CODE}\n```\n\n{TABLE}\n\n"


def tokens(count: int) -> list[str]:
    """The first ``count`` pieces of an answer."""
    text = "".join(itertools.islice(itertools.cycle(PART), count * PIECE))
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def event(text: str, number: int, finish: str | None = None) -> bytes:
    """A piece as an event; its usage counts as vLLM does with ``continuous_usage_stats``."""
    chunk = {
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 1, "completion_tokens": number, "total_tokens": number + 1},
    }
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


async def answer(writer: asyncio.StreamWriter, count: int) -> None:
    """Send the tokens when they are due."""
    pieces, begun = tokens(count), time.monotonic()
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    sent = 0
    while sent < count:
        due = min(count, int((time.monotonic() - begun) * RATE) + 1)
        writer.write(b"".join(event(pieces[at], at + 1) for at in range(sent, due)))
        await writer.drain()
        sent = due
        await asyncio.sleep(1 / RATE)
    writer.write(event("", count, "stop") + b"data: [DONE]\n\n")
    await writer.drain()


async def serve(count: int) -> None:
    """Serve until cancelled."""

    async def serve_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET"):
                body = json.dumps({"data": [{"id": "tokens", "max_model_len": 1_000_000}]}).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)
            else:
                await answer(writer, count)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve_connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
