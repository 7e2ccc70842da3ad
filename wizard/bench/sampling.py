"""Samples of the machine and the server beside a run: once a second, by a task of its own."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from wizard.bench.run import GpuSample, Sample
from wizard.kernel import http, proctable
from wizard.probe.live import GpuReading, Reading

EVERY_S = 1.0
METRIC = re.compile(r"^(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>[^}]*)\})? (?P<value>[-+.\deE]+)$", re.MULTILINE)
"""A line of Prometheus' text format; histograms' buckets are left out by `METRICS`."""
METRICS = re.compile(
    r"nv_inference_(?:pending_request_count|request_failure)"
    r"|triton_wizard_gateway_(?:num_requests_running|prompt_tokens_total|generation_tokens_total)"
    r"|(?:vllm|sglang):(?:num_requests_(?:running|waiting)|gpu_cache_usage_perc|kv_cache_usage_perc"
    r"|num_running_reqs|num_queue_reqs|token_usage|num_preemptions_total)"
    r"|trtllm_(?:num_requests_(?:running|waiting)|kv_cache_utilization)"
)
"""The metrics that are kept: what waits, what runs, and how full the KV cache is."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What is sampled.

    Attributes:
        read: Reads the machine; blocks for some milliseconds.
        metrics: Addresses of metrics in Prometheus' text format.
        model: The model's name in them.
        server: The server's process group; None if it is unknown, and others on its GPUs cannot be told from it.
        gpus: Indices of the server's GPUs; None if they are unknown: all are sampled.
    """

    read: Callable[[], Reading]
    metrics: tuple[str, ...] = ()
    model: str = ""
    server: int | None = None
    gpus: tuple[int, ...] | None = None


async def watch(watched: Watched, generator: int, add: Callable[[Sample], None]) -> None:
    """Call ``add`` with a sample every `EVERY_S`, its time in seconds since 1970, until the task is cancelled.

    Args:
        watched: What is sampled.
        generator: The load generator's process group.
        add: Takes a sample.
    """
    used, before = cpu_seconds(generator), time.monotonic()
    while True:
        await asyncio.sleep(EVERY_S)
        reading, server, memory = await asyncio.gather(
            asyncio.to_thread(watched.read), metrics(watched), asyncio.to_thread(memory_bytes, watched.server)
        )
        now, seconds = time.monotonic(), cpu_seconds(generator)
        cores = (seconds - used) / (now - before) if now > before and seconds >= used else None
        used, before = seconds, now
        mine = _members(watched.server)
        add(
            Sample(
                at_s=time.time(),
                generator_cores=cores,
                cpu=reading.cpu.utilisation,
                memory_available_bytes=reading.cpu.memory_available_bytes,
                gpus=tuple(
                    _gpu(gpu, mine) for gpu in reading.gpus if watched.gpus is None or gpu.index in watched.gpus
                ),
                server=server,
                server_memory_bytes=memory,
            )
        )


def cpu_seconds(group: int) -> float:
    """Processor time that the living processes of a group have used (proc_pid_stat(5), fields 14 and 15)."""
    ticks = 0
    for row in proctable.group_members(group):
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{row.pid}/stat", encoding="utf-8") as file:  # noqa: PTH123
            fields = file.read().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_bytes(group: int | None) -> int | None:
    """Main memory of the processes of a group; what several share counts once (proc_pid_smaps(5), ``Pss``). None if it
    is unknown.
    """
    amounts = []
    for row in proctable.group_members(group) if group is not None else ():
        with suppress(OSError, ValueError, StopIteration):
            lines = Path(f"/proc/{row.pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
            amounts.append(int(next(line for line in lines if line.startswith("Pss:")).split()[1]) * 1024)
    return sum(amounts) or None


def _watches(watched: Watched, gpu: GpuReading) -> bool:
    return watched.gpus is None or gpu.index in watched.gpus


def _members(group: int | None) -> set[int] | None:
    return None if group is None else {row.pid for row in proctable.group_members(group)}


def _gpu(reading: GpuReading, mine: set[int] | None) -> GpuSample:
    others = [each for each in reading.processes if mine is not None and each.pid not in mine]
    return GpuSample(
        index=reading.index,
        power_watts=reading.power_watts,
        memory_used_bytes=reading.memory_used_bytes,
        sm_clock_mhz=reading.sm_clock_mhz,
        utilization=reading.utilisation,
        temperature_c=reading.temperature_c,
        throttled=reading.clocks_reduced,
        others=len(others),
        server_memory_bytes=_held(reading, mine or set()),
    )


def _held(reading: GpuReading, mine: set[int]) -> int | None:
    """Memory of the processes ``mine`` on a GPU; None if NVML does not list them, or not with their memory."""
    amounts = [each.used_bytes for each in reading.processes if each.pid in mine]
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known and len(known) == len(amounts) else None


async def metrics(watched: Watched) -> dict[str, float]:
    """The server's metrics now; those that cannot be read are left out."""
    values: dict[str, float] = {}
    for address in watched.metrics:
        with suppress(OSError, ValueError):
            reply = await http.glance(address, within_s=EVERY_S)
            if reply.status == 200:
                values |= parsed(reply.body.decode(errors="replace"), watched.model)
    return values


def parsed(text: str, model: str) -> dict[str, float]:
    """Name → value of the metrics of ``model`` that are kept; those of several instances are added."""
    values: dict[str, float] = {}
    for match in METRIC.finditer(text):
        labels = match["labels"] or ""
        others = "model" in labels and f'"{model}"' not in labels
        if METRICS.fullmatch(match["name"]) and not others:
            with suppress(ValueError):
                values[match["name"]] = values.get(match["name"], 0.0) + float(match["value"])
    return values


def within(samples: Sequence[Sample], begin: float) -> list[Sample]:
    """``samples`` with times since ``begin``."""
    return [replace(each, at_s=each.at_s - begin) for each in samples]
