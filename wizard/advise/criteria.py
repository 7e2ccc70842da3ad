"""What makes a choice better than another, by goal. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import log
from typing import Any

from wizard.advise import gpu, rules, service, speculation
from wizard.advise.advice import Choice, Constraints
from wizard.advise.calibration import Calibration
from wizard.advise.candidates import candidates
from wizard.advise.comparison import idle_gpu, on_host, uncertain, untested
from wizard.advise.fit import LONGEST, cramped
from wizard.catalog import stacks
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host

NOTICED = 1.25
"""Ratio of two paces from which on they differ: more than the range of a good estimate (profiles/speed.toml)."""
HEAVY = 2_000_000_000
"""Parameters of a token from which on it counts how many bits they have: at 8 bits a memory that reads 31 GB/s (the one
of ``[cpu.speed]``) takes 65 ms, and half as long at 4.
"""
LARGE = 20_000_000_000
"""Parameters from which on 8 and 4 bits are worth another checkpoint: they halve the bottleneck at little cost."""
PRECISION = {
    **{"none": 0, "fp8": 1, "fp8_block": 1, "int8_sq": 2, "int8_wo": 2, "nvfp4": 3, "mxfp4": 3, "w4a8_awq": 4},
    **{"gguf_q8_0": 2, "gguf_q6_k": 3, "gguf_q5_k_m": 4},
}
"""How much of the model's quality a format keeps, best first; other 4-bit formats come last."""

Key = Callable[[Choice], tuple[Any, ...]]

READING = (
    *("idle", "measured", "offload", "room", "links", "pace", "pace", "simplicity", "precision"),
    *("download", "room", "links", "pace", "gpus", "replicas", "speed"),
)
CRITERIA = {
    **dict.fromkeys(("chat", "documents", "code"), READING),
    "throughput": ("idle", "measured", "offload", "room", "links", "tokens", "simplicity", "gpus"),
    "quality": (
        *("idle", "measured", "offload", "room", "precision", "links", "pace", "simplicity"),
        *("room", "links", "pace", "gpus", "replicas", "speed"),
    ),
    "smallest": ("idle", "measured", "offload", "gpus", "links", "room", "size", "simplicity", "speed"),
}
"""The criteria that `key_of` compares, by goal."""


def order(host: Host, facts: ModelFacts, constraints: Constraints, past: Calibration) -> Key:
    """`key_of`, which takes the speed without speculative decoding where that with it is unknown."""
    key = key_of(facts, constraints)
    if not speculation.method(constraints):
        return key
    plain, _ = candidates(host, facts, replace(constraints, speculative=None, draft=None), past)
    speeds = {_shape(choice): choice.speed for choice in plain}
    return lambda choice: key(replace(choice, speed=choice.speed or speeds.get(_shape(choice))))


def _shape(choice: Choice) -> tuple[object, ...]:
    split = (choice.tp, choice.pp, choice.dp, choice.replicas, choice.expert_parallel)
    return (choice.stack, choice.runtime, choice.quantization, choice.kv_cache_dtype, *split)


def key_of(facts: ModelFacts, constraints: Constraints) -> Key:
    """The sort key, the most important criterion first; less is better."""
    large = facts.parameters is not None and facts.parameters >= LARGE

    tpot = _tpot
    most = min(facts.max_context or LONGEST, constraints.max_len or LONGEST)

    def short(choice: Choice) -> int:
        return cramped(choice, facts, constraints)

    def room(choice: Choice) -> int:
        return -(min(choice.max_seq_len, most).bit_length())

    def last(choice: Choice) -> tuple[Any, ...]:
        return (room(choice), gpu.waits(choice), _pace(choice), *_used(choice), tpot(choice))

    def chat(choice: Choice) -> tuple[Any, ...]:
        slow = service.misses(choice, constraints)
        fewest = _read_slowly(facts, choice) or (large and _native(choice))
        format_rank = -quality(choice) if fewest else quality(choice)
        need = (short(choice), gpu.wide(choice), slow, _pace(choice) if slow else 0, _steps(choice), format_rank)
        return (*need, _while_loading(choice), *last(choice))

    def throughput(choice: Choice) -> tuple[Any, ...]:
        tokens = choice.speed.throughput_tokens_per_s or 0 if choice.speed else 0
        return (short(choice), gpu.wide(choice), -round(tokens / _margin(choice)), _steps(choice), gpus(choice))

    def best(choice: Choice) -> tuple[Any, ...]:
        slow = service.misses(choice, constraints)
        return (short(choice), quality(choice), gpu.wide(choice), slow, _steps(choice), *last(choice))

    def smallest(choice: Choice) -> tuple[Any, ...]:
        used = choice.memory.weights_bytes * choice.gpus * _margin(choice)
        return (gpus(choice), gpu.wide(choice), short(choice), used, _steps(choice), tpot(choice))

    by_goal = {"throughput": throughput, "quality": best, "smallest": smallest}.get(constraints.goal, chat)
    precise = constraints.goal == "quality"
    return lambda choice: (
        *(idle_gpu(choice), (untested(choice), uncertain(choice)), 0 if precise else on_host(choice)),
        *by_goal(choice),
    )


def quality(choice: Choice) -> int:
    """How much of the model's quality its format loses: less is better."""
    return PRECISION.get(choice.quantization or "none", 5)


def _tpot(choice: Choice) -> float:
    return choice.speed.tpot_ms if choice.speed and choice.speed.tpot_ms else 1000.0


def _pace(choice: Choice) -> int:
    """Steps of `NOTICED` that it is slower than what is felt: no finer than the estimate."""
    return int(log(max(1.0, _tpot(choice) / service.FELT_MS), NOTICED))


def _used(choice: Choice) -> tuple[int, int]:
    """Replicas on a GPU each use those that would be idle; wider ones do not pool their caches: few GPUs then."""
    return (1, -choice.replicas) if choice.gpus == 1 else (gpus(choice), choice.replicas)


def gpus(choice: Choice) -> int:
    """GPUs of all its replicas."""
    return choice.gpus * choice.replicas


def _steps(choice: Choice) -> int:
    return stacks.facts(choice.stack).simplicity.steps


def _while_loading(choice: Choice) -> bool:
    """Whether 16-bit weights are downloaded, although a repository in the format may be known."""
    return choice.checkpoint is not None and choice.checkpoint.how == "loading"


def _margin(choice: Choice) -> float:
    """The ratio by which it must be better than a setup that ran: an estimate is no closer, and it may not start."""
    return NOTICED if stacks.facts(choice.stack).never_ran else 1.0


def _read_slowly(facts: ModelFacts, choice: Choice) -> bool:
    """Whether the CPU's pace is unknown, and reading the weights takes so long that fewer bits count more."""
    used = facts.anatomy.active if facts.anatomy else facts.parameters or 0
    return not choice.devices and choice.speed is None and used >= HEAVY


def _native(choice: Choice) -> bool:
    """Whether the tensor cores multiply the format itself, so that it is faster and not only smaller."""
    unpacked = any(note.code == rules.WEIGHT_ONLY for note in choice.warnings)
    return choice.quantization in ("fp8", "fp8_block", "nvfp4", "mxfp4", "int8_sq") and not unpacked
