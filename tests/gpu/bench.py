"""Tutorial 003's comparison and tutorial 004's search on a real GPU, by the wizard's own commands.

    python tests/gpu/bench.py --out OUT --engine-python /opt/venv/bin/python
    python tests/gpu/bench.py --out OUT --engine-python /opt/venv/bin/python --stages tune --shape llama-8b

An ordinary script for a machine with an NVIDIA GPU; no hub is asked. ``--engine-python`` has vLLM, torch and
transformers. Where no package index answers, ``PIP_FIND_LINKS`` and ``UV_FIND_LINKS`` name a folder with the wheels of
``profiles/environments/front.txt`` and ``aiperf.txt``. The model has random weights.

- ``compare``: `transformers` one request at a time and batched, and `vllm`, with prompts of at most 100 tokens, 100 of
  them at once as in the tutorial; servers run together, or with ``--turns`` one after the other.
- ``tune``: batch size, KV cache and tokens per step of `vllm` for a service level.

Reports and pages are in OUT/compare and OUT/tune.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT), str(Path(__file__).parent)]

from journey import PARTS, Journey, kept  # noqa: E402

STAGES = ("compare", "tune")
SERVERS = {
    "vllm": ("vllm", "--gpu-memory-utilization", "0.4"),
    "plain": ("transformers",),
    "batched": ("transformers",),
}
"""Name of a server → its stack and flags, in the order of their starts: transformers takes what memory is left."""
RECIPE = """\
title = "One request at a time"
about = "The plain pipeline of tutorial 003."
model = {model}
source = "tutorial 003"
machines = ["1xH100"]
first_question = "I am going to"

[answers]
stack = "transformers"

[options]
batching = "none"
"""
PROMPTS, TOKENS = 100, 100
LETTERS = 6
"""Tokens of a generated word with the made model's tokenizer, to which each letter and space is one, about."""
USERS = ("--users", "100", "--max-len", "512", "--tp", "1", "--replicas", "1")


class Bench(Journey):
    """The stages; `Journey` has the commands and the checks."""

    def serve(self, name: str, stack: str, *more: str) -> dict[str, Any]:
        """A server; ``plain`` by a recipe, because no flag turns batching off."""
        if name != "plain":
            return self.up(name, self.model, stack, *USERS, *more)
        profiles = self.out / "profiles"
        (profiles / "recipes").mkdir(parents=True, exist_ok=True)
        (profiles / "recipes" / "plain.toml").write_text(RECIPE.format(model=json.dumps(self.model)))
        return self.up(name, "plain", stack, *USERS, "--profiles", str(profiles), *more)

    def words(self, tokens: int) -> int:
        """Words of a generated prompt of at most ``tokens``."""
        return tokens if self.given.model else tokens // LETTERS

    def compare(self) -> dict[str, Any]:
        """All three under the same load, and their ratios to the plain one."""
        before = self.free("compare-before")
        served = {}
        try:
            for name, (stack, *more) in SERVERS.items():
                served[name] = self.serve(name, stack, *more)
                if self.given.turns:
                    self.down(name, before)
            folder = self.out / "compare"
            load = ("--concurrency", str(PROMPTS), "--seconds", str(self.given.long), "--isl", str(self.words(TOKENS)))
            load += ("--osl", str(self.given.osl), "--repeats", str(self.given.repeats))
            price = ("--cost-per-gpu-hour", str(self.given.price)) if self.given.price else ()
            words = ("bench", "--compare", "plain", "batched", "vllm", *load, *price, "--out", str(folder), "--yes")
            self.note("compare: table", "\n" + self.wizard(*words, name="compare"))
        finally:
            for name in () if self.given.turns else served:
                self.wizard("down", name, name=f"{name}-down")
        return self.ratios(json.loads((folder / "report.json").read_text()))

    def ratios(self, made: dict[str, Any]) -> dict[str, Any]:
        """What the comparison says of throughput, checked as far as everybody must find it so."""
        self.check("compare: complete", not any(report["partial"] for report in made["reports"]))
        answered = [not point["errors"] for report in made["reports"] for point in report["points"]]
        self.check("compare: no request failed", all(answered))
        times = {}
        for each in made["ratios"]:
            if each["figure"] == "tokens_per_s":
                name, value = made["names"][each["server"]], each["value"]
                times[name] = value
                self.note(f"compare: {name} ÷ plain", f"{value} from {each['method']}")
        self.check("compare: batching is faster", all((value["low"] or 0) > 1 for value in times.values()), times)
        energy = [point["joules_per_token"] for report in made["reports"] for point in report["points"]]
        self.check("compare: energy is known", None not in energy, energy)
        return times

    def tune(self) -> dict[str, Any]:
        """The settings of vLLM for a service level, and a server with them."""
        before = self.free("tune-before")
        wanted = ("--max-len", "1024", "--users", "16", "--tp", "1", "--replicas", "1")
        self.up("tuned", self.model, "vllm", *wanted)
        self.down("tuned", before)
        folder = self.out / "tune"
        level = ("--ttft", str(self.given.ttft), "--tpot", str(self.given.tpot))
        load = ("--isl", str(self.words(128)), "--osl", "128", "--seconds", str(self.given.seconds))
        load += ("--concurrency", str(self.given.largest))
        words = ("bench", "tuned", "--tune", *level, *load, "--out", str(folder), "--yes")
        self.note("tune: table", "\n" + self.wizard(*words, name="tune"))
        made = json.loads((folder / "report.json").read_text())
        self.check("tune: settings were found", made["chosen"] is not None, made["names"])
        plan = json.loads((folder / "plan.json").read_text())
        self.note("tune: batch", plan["choice"]["max_batch_size"])
        held = {gpu: before[gpu] - free for gpu, free in self.free("tune-after").items()}
        self.check("tune: the server is stopped", not (self.workspace / "servers/tuned/endpoint.json").exists(), held)
        return {"names": made["names"], "chosen": made["chosen"]}


def main(given: argparse.Namespace) -> int:
    bench = Bench(given)
    if not Path(bench.model, "config.json").exists():
        made = {"folder": bench.model, "shape": given.shape}
        words = [given.engine_python or sys.executable, str(PARTS), "make-model", json.dumps(made)]
        subprocess.run(words, check=True, timeout=given.limit)
    with kept(bench):
        for stage in given.stages:
            print(f"== {stage}", flush=True)
            try:
                bench.results[stage] = getattr(bench, stage)()
            except Exception as error:
                traceback.print_exc()
                bench.check(f"{stage}: {type(error).__name__}", False, str(error)[:1500])
    print(f"\n{len(bench.wrong)} of {sum(row[0][:1] != ' ' for row in bench.rows)} checks failed")
    return bool(bench.wrong)


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="where everything is kept")
    parser.add_argument("--workspace", help="the wizard's workspace (OUT/workspace)")
    parser.add_argument("--engine-python", help="an interpreter that has the engines; without it the wizard makes one")
    parser.add_argument("--model", help="a folder with a model instead of one with random weights")
    parser.add_argument("--shape", default="llama-1b", help="of the random weights, see stack_parts.py")
    parser.add_argument("--stages", nargs="+", default=list(STAGES), choices=STAGES, metavar="STAGE")
    parser.add_argument("--turns", action="store_true", help="start the servers one after the other")
    parser.add_argument("--repeats", type=int, default=3, help="runs of the comparison")
    parser.add_argument("--osl", type=int, default=32, help="tokens of an answer in the comparison")
    parser.add_argument("--price", type=float, help="what the GPU costs per hour")
    parser.add_argument("--ttft", type=float, default=500, help="service level of the search, ms")
    parser.add_argument("--tpot", type=float, default=20, help="service level of the search, ms")
    parser.add_argument("--seconds", type=float, default=5, help="of a run of the search")
    parser.add_argument("--long", type=float, default=15, help="seconds of a run of the comparison")
    parser.add_argument("--largest", type=int, default=64, help="largest batch of the search")
    parser.add_argument("--limit", type=float, default=420, help="seconds that a command may take")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main(arguments()))
