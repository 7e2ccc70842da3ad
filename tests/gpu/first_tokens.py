"""The stage ``first_tokens`` of ``journey.py``: predicted and measured time to the first token, time between two tokens
and tokens per second, for 1 to 64 users with short and long prompts.

All users send their first prompt at once (``burst``); each sends the next one when its answer has ended (``steady``).
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stack_parts import prompts

if TYPE_CHECKING:
    from journey import Journey

PARTS = Path(__file__).with_name("stack_parts.py")
USERS = (1, 4, 16, 64)
LENGTHS = (128, 2048)
"""Tokens of a prompt."""
ANSWER, ROUNDS, CLIENTS = 128, 4, 4
"""Tokens of an answer, answers for each user, and processes that ask for them."""
PAUSE = 0.3
"""Seconds until all processes begin: more than they need to read what to send."""


def first_tokens(journey: Journey) -> list[dict[str, Any]]:
    """Serve the model with room for all users, and measure each load on it."""
    wanted = ("--tp", str(journey.given.tp), "--replicas", "1", "--users", str(max(USERS)))
    before = journey.free("first_tokens-before")
    up = journey.up("first_tokens", journey.model, "vllm", *wanted, "--max-len", str(max(LENGTHS) + ANSWER))
    try:
        journey.note("first_tokens: tokens of a step", up["choice"]["step_tokens"])
        began = time.monotonic()
        rows = measured(journey, up["endpoint"])
        journey.note("first_tokens: measured within", f"{time.monotonic() - began:.1f} s")
    finally:
        journey.down("first_tokens", before)
    return rows


def measured(journey: Journey, endpoint: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each number of users and length of prompts, on a server that runs."""
    rows: list[dict[str, Any]] = []
    with clients(journey, endpoint) as processes:
        for length in LENGTHS:
            for users in USERS:
                if users in (min(USERS), max(USERS)):  # the engine compiles what it has not met yet
                    played(processes, users, length, 1, seed=1000 + len(rows))
                rows.append(figures(played(processes, users, length, ROUNDS, seed=len(rows)), users, length))
                full = rows[-1]["tokens"] == users * ROUNDS * ANSWER
                journey.check(f"first_tokens: {users} users, {length} tokens: all answers", full, rows[-1])
    for row in rows:
        speed = predicted(journey, row)
        row["predicted"] = speed
        label = f"first_tokens: {row['users']} users, {row['isl']} tokens"
        steady, low, high, alone, last = (
            f"{speed[f'ttft_{name}ms'] or 0:.0f}" for name in ("", "low_", "high_", "alone_", "last_")
        )
        journey.note(f"{label}: TTFT ms", f"{steady} ({low} to {high}) predicted, {row['steady_ms']} measured")
        measured_last = f"{row['burst_ms']} and {row['burst_last_ms']} measured (median, last)"
        journey.note(f"{label}: all at once", f"{alone} to {last} predicted, {measured_last}")
        journey.note(f"{label}: ITL ms", f"{speed['tpot_ms']:.2f} predicted, {row['itl_ms']} measured")
        total = f"{speed['throughput_tokens_per_s']:.0f} predicted, {row['tokens_per_s']} measured"
        journey.note(f"{label}: tokens/s", total)
    return rows


def predicted(journey: Journey, row: dict[str, Any]) -> dict[str, Any]:
    """The wizard's estimate for the load of ``row``."""
    load = ("--concurrency", str(row["users"]), "--isl", str(row["isl"]), "--osl", str(ANSWER))
    wanted = (journey.model, "--offline", "--stack", "vllm", "--tp", str(journey.given.tp), *load)
    return dict(journey.json("speed", *wanted, name=f"first_tokens-{row['users']}-{row['isl']}"))


@contextlib.contextmanager
def clients(journey: Journey, endpoint: dict[str, Any]) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that play users, ready to begin."""
    argument = {"address": f"{endpoint['host']}:{endpoint['ports']['grpc']}", "model": endpoint["model"]}
    words = [sys.executable, str(PARTS), "users", json.dumps({**argument, "answer": ANSWER})]
    with (journey.out / "clients.log").open("ab") as errors:
        processes = [
            subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
            for _ in range(CLIENTS)
        ]
    try:
        for process in processes:
            reply(process)
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def reply(process: subprocess.Popen[str]) -> Any:
    """The next line that ``process`` prints, as a value."""
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise RuntimeError("a client failed, see clients.log")
    return json.loads(line)


def played(
    processes: list[subprocess.Popen[str]], users: int, length: int, rounds: int, seed: int
) -> list[list[dict[str, float]]]:
    """What each user saw, prompt by prompt: ``sent``, ``first`` and ``end`` in seconds, and ``tokens``."""
    texts = prompts(users * rounds, length, seed)
    each = [texts[user * rounds : (user + 1) * rounds] for user in range(users)]
    begin = time.monotonic() + PAUSE
    for number, process in enumerate(processes):
        if process.stdin:
            process.stdin.write(json.dumps({"begin": begin, "load": each[number :: len(processes)]}) + "\n")
            process.stdin.flush()
    return [user for process in processes for user in reply(process)]


def figures(seen: list[list[dict[str, float]]], users: int, length: int) -> dict[str, Any]:
    """A row: medians over the requests (the first token of all at once also for the last user), and all tokens/s."""
    requests = [request for user in seen for request in user]
    first = sorted(1e3 * (user[0]["first"] - user[0]["sent"]) for user in seen)
    later = [1e3 * (request["first"] - request["sent"]) for user in seen for request in user[1:]]
    between = [1e3 * (each["end"] - each["first"]) / max(1, each["tokens"] - 1) for each in requests]
    tokens = sum(request["tokens"] for request in requests)
    seconds = max(request["end"] for request in requests) - min(request["sent"] for request in requests)
    return {
        "users": users,
        "isl": length,
        "osl": ANSWER,
        "tokens": tokens,
        "burst_ms": round(statistics.median(first), 1),
        "burst_last_ms": round(first[-1], 1),
        "steady_ms": round(statistics.median(later), 1),
        "steady_mean_ms": round(statistics.fmean(later), 1),
        "mean_ms": round(statistics.fmean(first + later), 1),
        "itl_ms": round(statistics.median(between), 3),
        "itl_mean_ms": round(statistics.fmean(between), 3),
        "tokens_per_s": round(tokens / seconds, 1),
    }
