"""The stages of ``journey.py`` for a machine with several GPUs: two servers, and one server with two replicas."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import machine_parts
from machine_parts import MIB, engines, gone, marked

if TYPE_CHECKING:
    from journey import Journey

    from wizard.serve.replicas import Replica

SHARE = 0.25
"""At least, of the requests that each of two replicas gets: the proxy sends each to the one with the fewest."""
BUSY = 50
"""Percent of the time with a running kernel that NVML shows at least once on a GPU that serves 64 streams."""


def copies(journey: Journey, streams: int, answer: int) -> dict[str, Any]:
    """Two servers of one model, each on a GPU of its own."""
    before = journey.free("copies-before")
    wanted = ("--tp", "1", "--replicas", "1", "--users", str(streams), "--max-len", "1024")
    servers: dict[str, Any] = {}
    try:
        for name in ("one", "two"):
            servers[name] = journey.up(name, journey.model, "vllm", *wanted)
            journey.note(
                f"copies: {name}", f"GPUs {servers[name]['choice']['devices']}, {servers[name]['seconds']:.1f} s"
            )
        used = [set(server["choice"]["devices"]) for server in servers.values()]
        journey.check("copies: each has a GPU of its own", not used[0] & used[1], used)
        for server in servers.values():
            server["load"] = journey.load(server["endpoint"], 3)
            journey.check("copies: all tokens", server["load"]["tokens"] == streams * answer, server["load"])
    finally:
        for name in reversed(tuple(servers)):
            journey.wizard("down", name, name=f"{name}-down")
    now = journey.free("copies-after")
    kept = {index: (bytes_ - now[index]) // MIB for index, bytes_ in before.items()}
    journey.check("copies: no GPU memory is left", gone(kept), f"MiB kept: {kept}")
    return servers


def replicas(journey: Journey, streams: int, answer: int) -> dict[str, Any]:
    """One server, two GPUs: both serve, and an engine that is killed comes back while the other answers."""
    wanted = ("--tp", "1", "--replicas", "2", "--users", str(2 * streams), "--max-len", "1024")
    before = journey.free("replicas-before")
    up = journey.up("replicas", journey.model, "vllm", *wanted)
    endpoint, gpus = up["endpoint"], up["choice"]["devices"]
    try:
        journey.note("replicas: ready after", f"{up['seconds']:.1f} s on GPUs {gpus}")
        journey.check("replicas: two GPUs", len(set(gpus)) == up["choice"]["replicas"] == 2, gpus)
        journey.memory("replicas", up, before)
        journey.load(endpoint, 4)  # the first one compiles what the engines have not met yet
        up["load"] = _shared_load(journey, "together", endpoint, gpus, 5, streams * answer)
        up["restart"] = _killed(journey, endpoint)
        up["again"] = _shared_load(journey, "after a restart", endpoint, gpus, 6, streams * answer)
    finally:
        journey.down("replicas", before)
    return up


def _shared_load(
    journey: Journey, when: str, endpoint: dict[str, Any], gpus: list[int], run: int, tokens: int
) -> dict[str, Any]:
    earlier = seen(endpoint)
    with watched(gpus) as most:
        load = journey.load(endpoint, run)
    got = [now.requests - then.requests for now, then in zip(seen(endpoint), earlier, strict=True)]
    journey.check(f"replicas: all tokens, {when}", load["tokens"] == tokens, load)
    journey.check(f"replicas: both get requests, {when}", min(got) >= SHARE * sum(got), got)
    journey.check(f"replicas: both GPUs are busy, {when}", min(most.values()) >= BUSY, f"percent at most: {most}")
    return {**load, "requests_of_each": got, "most_busy": dict(most)}


def _killed(journey: Journey, endpoint: dict[str, Any]) -> dict[str, Any]:
    """Kill the first engine; the other answers at once, and the first comes back."""
    server = Path(endpoint["folder"]) if endpoint.get("folder") else journey.workspace / "servers" / "replicas"
    pids = engines(marked(server))
    gpus, pid = min(pids.items(), key=lambda engine: int(engine[0]))
    began = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    until(journey, endpoint, lambda: [each.state for each in seen(endpoint)] == [0, 1])
    words = journey.wizard("chat", "replicas", "--max-tokens", "16", "-m", "What is Triton?", name="replicas-chat")
    journey.check("replicas: the other one answers", bool(words.strip()))
    (status,) = (each for each in journey.json("status", name="replicas-status") if each["name"] == "replicas")
    journey.check("replicas: status counts them", "1 of 2" in status["detail"], status["detail"])
    until(journey, endpoint, lambda: [each.state for each in seen(endpoint)] == [1, 1])
    seconds = time.monotonic() - began
    now = engines(marked(server))
    restarts = [each.restarts for each in seen(endpoint)]
    journey.check(
        "replicas: it comes back", restarts == [1, 0] and now.get(gpus) not in (None, pid), f"{seconds:.1f} s"
    )
    journey.check("replicas: the other one stays", {**now, gpus: pid} == pids, now)
    return {"seconds": seconds, "engines": [pids, now]}


def seen(endpoint: dict[str, Any]) -> tuple[Replica, ...]:
    """The replicas, as Triton's metrics show them."""
    from wizard.serve.replicas import parsed

    with urllib.request.urlopen(
        f"http://{endpoint['host']}:{endpoint['ports']['metrics']}/metrics", timeout=30
    ) as reply:
        return parsed(reply.read().decode(), endpoint["model"])


def until(journey: Journey, endpoint: dict[str, Any], holds: Callable[[], bool]) -> None:
    """Wait for ``holds``, at most as long as a command may take, and only while the server's process is there."""
    limit = time.monotonic() + journey.given.limit
    process = os.pidfd_open(endpoint["pid"])
    try:
        while not holds():
            if time.monotonic() > limit:
                raise RuntimeError(f"not within {journey.given.limit} s")
            if select.select([process], [], [], 0.1)[0]:
                raise RuntimeError(f"the server's process {endpoint['pid']} exited")
    finally:
        os.close(process)


@contextlib.contextmanager
def watched(gpus: list[int]) -> Iterator[dict[int, int]]:
    """The highest utilization of each of ``gpus`` while the block runs, in percent."""
    most, over = dict.fromkeys(gpus, 0), threading.Event()

    def watch() -> None:
        while not over.is_set():
            busiest(most, machine_parts.smi("gpu", "index,utilization.gpu"))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()


def busiest(most: dict[int, int], rows: list[list[str]]) -> None:
    """Note the utilization in ``rows`` of the GPUs that ``most`` has; ``[N/A]`` is none."""
    for index, percent in rows:
        if int(index) in most and percent.isdecimal():
            most[int(index)] = max(most[int(index)], int(percent))
