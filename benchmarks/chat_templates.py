"""What the process of a chat template costs: a prompt rendered here, by the process, and by it in an event loop.

``python benchmarks/chat_templates.py [--turns N]`` prints medians and 99th percentiles in microseconds as JSON. The
template is the first one of `tests/chat/chat_templates.py` that has functions.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from tests.chat.chat_templates import TEMPLATES
from wizard.chat.readers.template import answer
from wizard.chat.templates import process as process_for
from wizard.kernel.fenced_process import FencedProcess, frame

ROUNDS = 2000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=6)
    turns = parser.parse_args().turns
    name, template = next((name, text) for name, text in TEMPLATES.items() if "tools" in text)
    messages = [{"role": ("user", "assistant")[n % 2], "content": "What is Triton? " * 20} for n in range(turns | 1)]
    given: dict[str, Any] = {"do": "render", "messages": messages, "variables": {"bos_token": "", "eos_token": ""}}
    process = process_for(template)
    began = time.perf_counter()
    text = process.ask(frame(given))["text"]
    first = time.perf_counter() - began
    figures = {
        "here": _measured(lambda: answer(template, **given)),
        "by the process": _measured(lambda: process.ask(frame(given))),
        "in an event loop": asyncio.run(_aside(process, given)),
    }
    print(
        json.dumps(
            {"template": name, "characters": len(text), "first_ms": round(1000 * first), "µs": figures},
            ensure_ascii=False,
        )
    )


def _measured(work: Callable[[], object]) -> dict[str, float]:
    return _figures([_seconds(work) for _ in range(ROUNDS)])


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


async def _aside(process: FencedProcess, given: dict[str, Any]) -> dict[str, float]:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await process.ask_aside(frame(given))
        times.append(time.perf_counter() - began)
    return _figures(times)


def _figures(seconds: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(seconds, n=100)
    return {"median": round(1e6 * cuts[49]), "p99": round(1e6 * cuts[98])}


if __name__ == "__main__":
    main()
