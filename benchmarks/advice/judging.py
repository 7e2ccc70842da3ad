"""Judges advice by what a file of cases expects (the head of ``tests/cases/advice.yaml`` explains the fields)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wizard.advise.advice import Advice, Choice
from wizard.texts import reasons
from wizard.texts import remedies as texts

FOLDER = Path(__file__).parents[2] / "tests" / "cases"
OURS = FOLDER / "advice.yaml"
ALL = sorted(FOLDER.glob("advice*.yaml"))
"""Every file of cases that is judged; `OURS` is the one whose values are kept word for word in ``tests/golden``."""
FAMILIES = {
    "vllm": "vllm",
    "trtllm-llmapi": "trtllm",
    "trtllm-engine": "trtllm",
    "sglang": "sglang",
    "transformers": "python",
    "llamacpp": "python",
}
SIXTEEN = {"bfloat16": "bf16", "float16": "fp16"}
NOTES = {"reason", "note", "severity", "version", "container", "expert_parallel"}
"""Fields of an expectation that say why, or what a choice does not state."""
UPPER = {
    "max_model_len_le": "max_seq_len",
    "gpu_memory_utilization_le": "gpu_memory_utilization",
}
EQUAL = {"max_model_len": "max_seq_len"}


def quant(choice: Choice) -> str:
    """A choice's format in the words of the cases."""
    stored = choice.quantization or "none"
    return SIXTEEN.get(choice.dtype, choice.dtype) if stored == "none" else stored


def _among(wanted: Any, value: Any) -> bool:
    """Whether ``value`` is one of ``said``: a value, a list of them, ``a|b``, or ``*``."""
    listed = wanted if isinstance(wanted, list) else [wanted]
    return any(
        alternative in (value, "*") or (isinstance(alternative, str) and str(value) in alternative.split("|"))
        for alternative in listed
    )


def matches(choice: Choice, wanted: dict[str, Any], gpus: list[dict[str, Any]]) -> bool:
    """Whether ``choice`` is one that the expectation ``said`` speaks of."""
    for key, value in wanted.items():
        if key in NOTES:
            continue
        if key == "backend":
            ok = _among(value, FAMILIES[choice.stack])
        elif key == "quant":
            mine = quant(choice)
            ok = _among(value, mine) or (mine == "fp8_block" and _among(value, "fp8"))
        elif key in UPPER:
            ok = getattr(choice, UPPER[key]) <= value
        elif key == "release_le":
            ok = choice.release.partition("-")[0] <= value
        elif key == "device":
            ok = set(choice.devices) <= set(_indices(value, gpus))
        else:
            ok = _among(value, getattr(choice, EQUAL.get(key, key)))
        if not ok:
            return False
    return True


def _indices(device: Any, gpus: list[dict[str, Any]]) -> list[int]:
    """``device`` as NVML's indices: itself, or all GPUs whose name has it."""
    if isinstance(device, list):
        return device
    names = [kind["name"] for kind in gpus for _ in range(kind.get("count", 1))]
    return [index for index, name in enumerate(names) if device in name]


def faults(case: dict[str, Any], advice: Advice) -> Iterator[str]:
    """What is wrong with ``advice``; nothing if it is right."""
    expected, gpus = case["expected"], case["gpus"]
    if advice.feasible != expected["feasible"]:
        yield f"feasible is {advice.feasible}"
    if advice.feasible and not any(matches(advice.choices[0], rule, gpus) for rule in expected["acceptable"]):
        yield f"the first choice is not acceptable: {shown(advice.choices[0])}"
    for choice in advice.choices:
        for rule in expected["forbidden"]:
            if set(rule) <= NOTES or "version" in rule or not matches(choice, rule, gpus):
                continue  # a mere note, or about releases that the next expectation of the case bounds
            if rule.get("severity") != "warn" or not choice.warnings:
                yield f"forbidden ({rule['reason']}): {shown(choice)}"
    for rejection in advice.rejections:
        if not (reasons.text(rejection.reason).strip() and texts.text(rejection.remedies).strip()):
            yield f"a rejection without a reason or a remedy: {rejection}"
    yield from _refusal(expected, advice)
    yield from _notes(expected, advice)
    order = [
        next(
            (place for place, group in enumerate(expected.get("rank", ())) if _among(group, FAMILIES[candidate.stack])),
            0,
        )
        for candidate in advice.choices
    ]
    if order != sorted(order):
        yield f"the stacks do not come in the order {expected['rank']}"


def _refusal(expected: dict[str, Any], advice: Advice) -> Iterator[str]:
    if advice.feasible or "codes" not in expected:
        return
    codes = {rejection.code for rejection in advice.rejections}
    if not codes & set(expected["codes"]):
        yield f"refused for {sorted(codes)} instead of {expected['codes']}"
    remedies = [
        texts.text(rejection.remedies) for rejection in advice.rejections if rejection.code in expected["codes"]
    ]
    if not any(expected.get("remedy", "") in remedy for remedy in remedies):
        yield f"no remedy has {expected['remedy']!r}: {remedies}"


def _notes(expected: dict[str, Any], advice: Advice) -> Iterator[str]:
    if advice.feasible and "notes" in expected:
        codes = {note.code for note in (*advice.choices[0].warnings, *advice.choices[0].reasons)}
        if missing := set(expected["notes"]) - codes:
            yield f"the first choice has no note {sorted(missing)}"


def shown(choice: Choice) -> str:
    """A choice in one cell of a table."""
    split = f"tp {choice.tp}" + (f" × pp {choice.pp}" if choice.pp > 1 else "")
    cache = ", FP8 KV cache" if choice.kv_cache_dtype == "fp8" else ""
    return f"{choice.stack} {quant(choice)}{cache}, {split}, {choice.max_batch_size} × {choice.max_seq_len:,}"
