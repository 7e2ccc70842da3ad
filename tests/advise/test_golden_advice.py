"""The advice for real machines and models, figure by figure; ``UPDATE_GOLDEN=1`` regenerates it.

A change of a formula, a table or a rule shows here as the choices and figures that it changes. Every public model is
advised on at least two machines, under constraints that take turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest

from benchmarks.advice.judging import OURS
from tests.advise.worlds import AWQ, BLOCKS, CONFIGS, GPTQ, HOSTS, VENV, facts_of
from tests.plan.golden import GOLDEN, compared
from wizard.advise.advice import Choice, Constraints, Rejection
from wizard.advise.cases import GOALS, RUNTIMES
from wizard.advise.cases import cases as read
from wizard.advise.ranking import advise
from wizard.catalog.stacks import gpu_stacks
from wizard.kernel.errors import UsageError
from wizard.kernel.values import to_data
from wizard.model.facts import ModelFacts
from wizard.model.formats import FORMATS

CONSTRAINTS = (
    Constraints(),
    Constraints(goal="throughput"),
    Constraints(users=64, max_len=16384),
    Constraints(goal="smallest"),
    Constraints(goal="quality", users=1),
    Constraints(stack="vllm", quantization="fp8"),
    Constraints(tp=2, kv_dtype="fp8"),
    Constraints(stack="trtllm-engine"),
    Constraints(max_gpus=1, gpu_memory_utilization=0.6),
    Constraints(pp=2, max_len=4096),
    Constraints(stack="transformers", runtime="native"),
    Constraints(as_published=True),
    Constraints(release="24.09"),
    Constraints(stack="trtllm-llmapi", users=256, max_len=1024),
    Constraints(tp=8, users=500),
    Constraints(stack="sglang"),
    Constraints(quantization="int4_awq", max_len=100_000),
    Constraints(pp=4, users=32),
    Constraints(runtime="docker"),
    Constraints(engine_python=VENV.path),
    Constraints(quantization="int4_gptq", users=16),
    Constraints(tp=4, max_gpus=4, goal="throughput"),
    Constraints(goal="throughput", pp=2),
)
STORED: dict[str, Any] = {"AWQ": AWQ, "GPTQ": GPTQ, "FP8": BLOCKS}
"""How the checkpoints of the last models of a machine are quantized."""
STORED_LAST = {9: "AWQ", 10: "GPTQ", 11: "FP8"}


def facts_in(name: str, stored: str) -> ModelFacts:
    return facts_of(name, quantization_config=STORED[stored]) if stored else facts_of(name)


def cases(machine: str) -> Iterator[tuple[str, ModelFacts, Constraints]]:
    """Title, model and constraints of every case on ``machine``."""
    offset, models = sorted(HOSTS).index(machine), sorted(CONFIGS)
    for number in range(12):
        name = models[(offset * 12 + number) % len(models)]
        constraints = CONSTRAINTS[(offset * 5 + number * 3) % len(CONSTRAINTS)]
        stored = STORED_LAST.get(number, "")
        asked = {field: value for field, value in asdict(constraints).items() if value != getattr(Constraints(), field)}
        title = " · ".join([name, *([stored] if stored else []), *(f"{field}={asked[field]}" for field in asked)])
        yield title, facts_in(name, stored), constraints


def figures(value: Any) -> str:
    """Plain data in few characters; numbers with nine digits, so that no other order of adding shows."""
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, dict):
        filled = {name: item for name, item in value.items() if item not in (None, [], {})}
        if set(filled) <= {"code", "params"} and "code" in filled:  # a reason, a note
            return filled["code"] + (f"({figures(filled['params'])})" if "params" in filled else "")
        return " ".join(f"{name}={figures(item)}" for name, item in filled.items())
    return f"[{', '.join(map(figures, value))}]" if isinstance(value, list) else str(value)


def lines(choice: Choice, *, first: bool) -> Iterator[str]:
    data = to_data(choice)
    del data["cost"]  # of the speed, at a rate that none of these gives: test_cost.py
    memory, speed, reasons, warnings = (data.pop(name) for name in ("memory", "speed", "reasons", "warnings"))
    yield f"+ {figures([*data.values()])}"
    yield f"  memory {figures([*memory.values()])}"
    yield f"  speed {figures([*speed.values()] if speed else None)}"
    for notes in (reasons, warnings):
        yield f"  {figures(notes if first else [note['code'] for note in notes])}"


def refusal(rejection: Rejection) -> str:
    data = to_data(rejection)
    reason, remedies = (data.pop(name) for name in ("reason", "remedies"))
    return f"- {' '.join(figures(item) for item in data.values())}: {figures(reason)} -> {figures(remedies)}"


def shown(machine: str) -> str:
    """All that is advised on ``machine``; the notes of the first choices with their figures, of others their codes."""
    text: list[str] = []
    for title, facts, constraints in cases(machine):
        advice = advise(HOSTS[machine], facts, constraints)
        text += ["", f"# {title}"]
        for choice in advice.choices:
            text += lines(choice, first=choice is advice.choices[0])
        text += map(refusal, advice.rejections)
    return "\n".join(text).lstrip() + "\n"


WITH_OPTIONS = {
    "1xL4": "meta-llama/Llama-3.2-3B",
    "2xV100": "Qwen/Qwen2.5-7B",
    "2xH100 without containers": "deepseek-ai/DeepSeek-V2-Lite",
    "4xH200 with a Python": "Qwen/Qwen3-30B-A3B",
    "8xL40S": "mistralai/Mixtral-8x7B-v0.1",
    "8xB200": "meta-llama/Llama-3.1-70B",
}
"""Machine → the model that every format of every stack is asked for."""
OPTIONS = (
    *(Constraints(stack=stack, quantization=name) for stack in gpu_stacks() for name in FORMATS),
    *(Constraints(goal=goal, runtime=runtime) for goal in GOALS for runtime in RUNTIMES),
    *(Constraints(stack=stack, kv_dtype="fp8", tp=tp) for stack in gpu_stacks() for tp in (1, 2)),
    *(Constraints(users=users, max_len=length) for users in (1, 7) for length in (1, 4096)),
)


def with_options(machine: str) -> Iterator[str]:
    """The first choice, or why there is none, for all `OPTIONS` on ``machine``."""
    for constraints in OPTIONS:
        advice = advise(HOSTS[machine], facts_of(WITH_OPTIONS[machine]), constraints)
        given = {field: value for field, value in asdict(constraints).items() if value != getattr(Constraints(), field)}
        yield f"# {machine} · {figures(given)}"
        yield from lines(advice.choices[0], first=False) if advice.choices else map(refusal, advice.rejections[:1])


def test_every_option_is_answered_as_in_the_golden_file() -> None:
    compared("advice", "options", "\n".join(line for machine in WITH_OPTIONS for line in with_options(machine)) + "\n")


def file_name(machine: str) -> str:
    return machine.replace(" ", "-")


@pytest.mark.parametrize("machine", sorted(HOSTS))
def test_the_advice_is_the_golden_one(machine: str) -> None:
    compared("advice", file_name(machine), shown(machine))


def test_the_cases_are_read_as_the_golden_ones() -> None:
    """The facts, machines and constraints of all cases of ``tests/cases/advice.yaml``."""
    parsed = {name: case for name, case in read(OURS) if not isinstance(case, UsageError)}
    rows = [f"{name} {figures(to_data(list(parsed[name])))}" for name in parsed]
    compared("advice", "cases", "\n".join(rows) + "\n")


def test_every_model_is_advised_on_two_machines() -> None:
    titles = [title.split(" · ")[0] for machine in HOSTS for title, _facts, _constraints in cases(machine)]
    assert {name for name in CONFIGS if titles.count(name) < 2} == set()
    assert {path.stem for path in (GOLDEN / "advice").iterdir()} == {*map(file_name, HOSTS), "cases", "options"}
