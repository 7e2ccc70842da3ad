"""How long a recommendation takes for every public model on many machines.

    python benchmarks/advice/fleet_time.py

Each model of ``tests/model/configs/public.json`` on each of `MACHINES`, shared by two processes. Bar: 60 s for all of
them; on a machine that other programs use, their processor time counts, shared by two cores.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from functools import cache
from multiprocessing import Pool
from pathlib import Path

from wizard.advise.advice import Constraints
from wizard.advise.ranking import advise
from wizard.model.config import describe
from wizard.model.facts import ModelFacts
from wizard.probe import shorthand
from wizard.probe.host import Host

CONFIGS = Path(__file__).parents[2] / "tests" / "model" / "configs" / "public.json"
MACHINES = (
    *(
        "1xT4",
        "4xT4",
        "1xV100",
        "8xV100",
        "1xA10",
        "4xA10",
        "1xL4",
        "2xL4",
        "4xL4",
        "8xL4",
        "1xL40S",
        "4xL40S",
        "8xL40S",
    ),
    *("2xA6000", "4xA6000", "1x3090", "1x4090", "2x4090", "1x5090", "1xA100", "4xA100", "8xA100", "1xH100", "8xH100"),
    *("1xH200", "8xH200", "8xB200", "1xGB10", "1xGH200", "3xA6000"),
)
CORES, BAR_S = 2, 60.0


@cache
def machine(text: str) -> Host:
    """The machine described by ``text``."""
    return shorthand.host(text)


def answer(case: tuple[str, ModelFacts]) -> tuple[bool, float]:
    """Whether a case can be served, and the seconds of processor time until that was known."""
    text, facts = case
    host, begun = machine(text), time.process_time()
    return advise(host, facts, Constraints()).feasible, time.process_time() - begun


def main() -> int:
    """Print the figures; the exit status says whether the bar is kept."""
    models = []
    for name, entry in json.loads(CONFIGS.read_text(encoding="utf-8")).items():
        config = {"torch_dtype": "bfloat16", **entry["config"]}
        models.append(describe(ModelFacts(name, "folder", name, name, None, None), config))
    cases = [(text, facts) for facts in models for text in MACHINES]
    begun = time.perf_counter()
    with Pool(CORES) as pool:
        answers = pool.map(answer, cases, chunksize=30)
    seconds = time.perf_counter() - begun
    times = [each * 1e3 for _, each in answers]
    used = sum(times) / 1e3 / CORES
    print(
        f"{len(models)} models × {len(MACHINES)} machines: {seconds:.1f} s, of which {used:.1f} s computing on each of"
    )
    print(
        f"{CORES} cores (bar: {BAR_S:.0f} s); processor time of one answer: median {statistics.median(times):.1f} ms,"
    )
    print(f"slowest {max(times):.1f} ms")
    print(f"{sum(feasible for feasible, _ in answers)} of {len(answers)} can be served")
    return 1 if min(seconds, used) > BAR_S else 0


if __name__ == "__main__":
    sys.exit(main())
