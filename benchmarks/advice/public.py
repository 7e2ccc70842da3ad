"""Public measurements that are not in the silicon sample, each point with its source: ``public.json``,
``independent.json``, collected after the first fit, and ``later.json``, collected after the second.

Half of ``public.json``, by the last bit of the SHA-256 of the point's id, is held out: no coefficient and no range sees
it.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from wizard.advise.devices import Device, devices
from wizard.advise.setup import Setup
from wizard.advise.speed import Load
from wizard.model.config import describe
from wizard.model.facts import ModelFacts
from wizard.probe.shorthand import host

FILE = Path(__file__).parent / "public.json"
INDEPENDENT = Path(__file__).parent / "independent.json"
LATER = Path(__file__).parent / "later.json"
V1 = 8
"""vLLM's 0.8 made the V1 engine the default."""
EVERYBODY = 10**9
"""Tokens of KV cache: a server whose concurrency is stated held all of it."""


@dataclass(frozen=True, slots=True)
class Point:
    """One measured figure: ``tpot_ms``, or ``tokens_per_s`` of all answers with prompts' time included."""

    id: str
    source: str
    version: str
    gpu: str
    model: str
    facts: ModelFacts
    device: Device
    setup: Setup
    load: Load
    capacity: int | None
    metric: str
    measured: float
    ttft_ms: float | None

    @property
    def held_out(self) -> bool:
        """Not fitted to."""
        return bool(hashlib.sha256(self.id.encode()).digest()[-1] & 1)

    @property
    def engine(self) -> str:
        """The stack, and whether its engine is too old to be one that the estimates are for."""
        return f"{self.setup.stack} before 0.{V1}" if self.old else self.setup.stack

    @property
    def old(self) -> bool:
        """Whether vLLM is older than its V1 engine as the default, which needs far less of the processor."""
        version = re.match(r"0\.(\d+)", self.version)
        return self.setup.stack == "vllm" and (int(version[1]) < V1 if version else self.version == "2024")

    @property
    def release(self) -> str:
        """The engine's version, if it is known; 0 if only that it is old."""
        return "0" if self.old else self.version if re.match(r"\d+\.\d", self.version) else ""

    @property
    def generation(self) -> str:
        """The GPU's compute capability."""
        return ".".join(map(str, self.device.compute_capability))


def read(file: Path = FILE) -> list[Point]:
    """All points of ``file``."""
    content = json.loads(file.read_text(encoding="utf-8"))
    models = {
        name: describe(ModelFacts(name, "folder", name, name, None, None), config)
        for name, config in content["models"].items()
    }
    return [
        Point(
            id=line["id"],
            source=line["source"],
            version=line["version"],
            gpu=line["gpu"],
            model=line["model"],
            facts=models[line["model"]],
            device=devices(host(f"{max(line['tp'], 1)}x{line['gpu']}"))[0],
            setup=Setup(line["stack"], "bfloat16", line["format"], line["kv"], line["tp"]),
            load=Load(line["users"], line["isl"], line["osl"]),
            capacity=None if line.get("saturated") else EVERYBODY,
            metric=line["metric"],
            measured=line["value"],
            ttft_ms=line.get("ttft_ms"),
        )
        for line in content["points"]
    ]
