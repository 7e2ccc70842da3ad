"""GGUF files on a real GPU by the wizard's own commands: all layers, a part of them, experts on the host.

    python tests/gpu/llamacpp_offload.py --out OUT
    python tests/gpu/llamacpp_offload.py --out OUT --stages several    # on two or more GPUs

An ordinary script for a machine with an NVIDIA GPU and driver 570 or newer. The Python that runs it has the wizard,
gguf and numpy; the wizard installs llama.cpp for CUDA from its publisher's index, or, where that does not answer, from
a folder of wheels (``PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER``, for uv ``UV_OFFLINE=1 UV_FIND_LINKS=FOLDER``). The files
have random weights. Every stage compares the predicted memory with NVML's, the planned layers with llama.cpp's log
and, with one user, the estimated speed with the measured one; logs, plans and ``results.json`` are kept under OUT.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import traceback
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT), str(CHECKOUT / "benchmarks" / "advice"), str(Path(__file__).parent)]

from journey import MIB, Journey, kept  # noqa: E402
from measure_llamacpp import SHAPES, write  # noqa: E402

STAGES = ("whole", "split", "experts")
SEVERAL = "several"
OVER, UNDER = 0.10, 0.25
"""By how much NVML may exceed the predicted memory, and stay below it: the context depends on the GPU."""
TOKENS = 128
ALONE = ("--max-gpus", "1")
"""For the stages on one GPU, whatever GPUs there are beside it."""
SHARE = 2.2e9
"""Bytes of GPU memory in the stages with little of it, given as a share by --gpu-memory-utilization."""


class Offload(Journey):
    """The stages; `Journey` has the commands and the checks."""

    def gguf(self, shape: str) -> str:
        """The file with random weights in ``shape``, in Q8_0."""
        path = self.out / f"{shape}.gguf"
        if not path.exists():
            write(path, SHAPES[shape], "Q8_0")
        return str(path)

    def whole(self) -> dict[str, Any]:
        """All layers of a dense model."""
        return self._stage("whole", "llama3.2-1b", *ALONE)

    def split(self) -> dict[str, Any]:
        """A part of them, because little of the GPU may be used."""
        return self._stage("split", "llama3.2-1b", *ALONE, *self._share(0.75))

    def experts(self) -> dict[str, Any]:
        """All layers, but some experts on the host."""
        return self._stage("experts", "olmoe-6-layers", *ALONE, *self._share(1.0))

    def several(self) -> dict[str, Any]:
        """All layers on two GPUs, because little of each may be used."""
        return self._stage(SEVERAL, "llama3.2-1b", "--max-gpus", "2", *self._share(1.0))

    def _share(self, part: float) -> tuple[str, ...]:
        total = self.json("probe", name="probe")["gpus"][0]["memory_total_bytes"]
        return ("--gpu-memory-utilization", f"{part * SHARE / total:.4f}")

    def _stage(self, name: str, shape: str, *more: str) -> dict[str, Any]:
        before = self.free(f"{name}-before")
        up = self.up(name, self.gguf(shape), "llamacpp", "--users", "1", "--max-len", "2048", *more)
        try:
            choice, log = up["choice"], Path(up["endpoint"]["log"]).read_text(errors="replace")
            offload = choice["offload"]
            self.check(f"{name}: the GPU has layers", bool(offload), offload)
            partial = offload["expert_layers"] > 0 if name == "experts" else offload["gpu_layers"] < offload["layers"]
            self.check(f"{name}: as much as was wanted", partial == (name not in ("whole", SEVERAL)), offload)
            self.check(f"{name}: as many GPUs as were wanted", len(choice["devices"]) == 1 + (name == SEVERAL), offload)
            loaded = re.findall(r"offloaded (\d+)/(\d+) layers to GPU", log)
            wanted = (str(offload["gpu_layers"]), str(offload["layers"]))
            self.check(f"{name}: llama.cpp's own count", loaded[-1:] == [wanted], loaded)
            sizes = re.findall(r"CUDA\d+ +(\w+) buffer size += +([\d.]+) MiB", log)
            self.note(f"{name}: buffers in llama.cpp's log, MiB", ", ".join(f"{kind} {size}" for kind, size in sizes))
            self._compare(name, choice, before)
            self._pace(name, choice)
        finally:
            self.down(name, before)
        return up

    def _compare(self, name: str, choice: dict[str, Any], before: dict[int, int]) -> None:
        shares = choice["offload"]["shares"] or [choice]
        self.wizard("chat", name, "--max-tokens", "4", "-m", "Hello", name=f"{name}-warm")  # buffers are used then
        after = self.free(f"{name}-serving")
        for index, share in zip(choice["devices"], shares, strict=True):
            used, predicted = before[index] - after[index], share["memory"]["total_bytes"]
            within = predicted * (1 - UNDER) <= used <= predicted * (1 + OVER)
            detail = f"MiB: {predicted / MIB:,.0f} predicted, {used / MIB:,.0f} by NVML"
            self.check(f"{name}: memory of GPU {index} as predicted", within, detail)

    def _pace(self, name: str, choice: dict[str, Any]) -> None:
        self.wizard("chat", name, "--max-tokens", str(TOKENS), "-m", "Count.", name=f"{name}-chat")
        report = (self.out / f"{name}-chat.err").read_text(encoding="utf-8")
        per_s = (re.findall(r"([\d.,]+) tokens/s", report) or ["unknown"])[-1]
        speed = choice["speed"]
        estimate = f"{1000 / speed['tpot_ms']:.1f}" if speed else "no estimate"
        self.note(f"{name}: tokens/s, estimated and measured", f"{estimate}, {per_s}")


def main(given: argparse.Namespace) -> int:
    run = Offload(given)
    with kept(run):
        for stage in given.stages:
            print(f"== {stage}", flush=True)
            try:
                run.results[stage] = getattr(run, stage)()
            except Exception as error:
                traceback.print_exc()
                run.check(f"{stage}: {type(error).__name__}", False, f"{error}"[:1500])
    print(json.dumps(run.wrong))
    return bool(run.wrong)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="where everything is kept")
    parser.add_argument("--workspace", help="the wizard's workspace (OUT/workspace)")
    parser.add_argument("--stages", nargs="+", default=list(STAGES), choices=(*STAGES, SEVERAL), metavar="STAGE")
    parser.add_argument("--limit", type=float, default=900, help="seconds that a command may take")
    parser.set_defaults(engine_python=None, model=None, shape="")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(arguments()))
