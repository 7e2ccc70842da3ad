"""The rows of the public silicon sample that the speed model is fitted to and judged by, and why others are left out.

The sample is ``systems/silicon_sample.csv`` of the wheel ``aiconfigurator-core`` 0.12.0 (Apache-2.0): servers that were
measured by InferenceX and by NVIDIA. What a row does not say is taken from the public scripts that made it
(github.com/SemiAnalysisAI/InferenceX, ``benchmarks/*.sh`` of October 2025 to April 2026): lengths are uniform between
0.8 and 1 of the stated (``RANDOM_RANGE_RATIO=0.8``), so 0.9 of it on average; the KV cache is fp8 for Llama-3.1-70B,
for DeepSeek on TensorRT-LLM, for DeepSeek with SGLang on a B200 or B300, and for gpt-oss on a B200; Kimi and NVFP4
checkpoints have only their experts quantised.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path

from wizard.advise.devices import Device, devices
from wizard.advise.setup import Setup
from wizard.advise.speed import Load, work
from wizard.kernel.units import GIB
from wizard.model import formats
from wizard.model.anatomy import Parts
from wizard.model.config import describe
from wizard.model.facts import ModelFacts, Quantization
from wizard.probe.shorthand import host

CONFIGS = {
    "meta-llama/Llama-3.1-8B-Instruct": "meta-llama--Meta-Llama-3.1-8B",
    "nvidia/Llama-3.1-8B-Instruct-FP8": "meta-llama--Meta-Llama-3.1-8B",
    "meta-llama/Llama-3.1-70B": "meta-llama--Meta-Llama-3.1-70B",
    "nvidia/Qwen3-32B-NVFP4": "Qwen--Qwen3-32B",
    "nvidia/DeepSeek-R1-NVFP4": "deepseek-ai--DeepSeek-R1",
}
"""Model of the sample → its config in the wheel, where the name differs."""
GPUS = {"h100_sxm": "H100", "h200_sxm": "H200", "b200_sxm": "B200", "b300_sxm": "B300", "gb200": "GB200"}
STACKS = {"vllm": "vllm", "trtllm": "trtllm-llmapi", "sglang": "sglang"}
FORMATS = {"": "none", "nvfp4": "nvfp4", "fp8": "fp8", "fp8_block": "fp8_block", "int4_wo": "int4_gptq"}


@dataclass(frozen=True, slots=True)
class Row:
    """One measured server."""

    id: str
    stack: str
    model: str
    gpu: str
    facts: ModelFacts
    device: Device
    setup: Setup
    load: Load
    dense: bool
    era: str
    """``2025`` (70B of InferenceX), ``nvidia`` (engines of 2025, scheduled synchronously) or ``2026``."""
    tpot_ms: float
    ttft_ms: float

    @property
    def held_out(self) -> bool:
        """Not fitted to: the last bit of the SHA-256 of the row's id."""
        return bool(hashlib.sha256(self.id.encode()).digest()[-1] & 1)


def read(package: Path) -> tuple[list[Row], Counter[str]]:
    """The rows of ``package`` (the folder ``aiconfigurator_core``), and how many are left out for which reason."""
    rows: list[Row] = []
    left_out: Counter[str] = Counter()
    seen: set[tuple[str, str]] = set()
    models: dict[str, ModelFacts | None] = {}
    gpus = {name: devices(host(f"8x{short}" if short != "GB200" else short))[0] for name, short in GPUS.items()}
    with (package / "systems" / "silicon_sample.csv").open() as file:
        for line in csv.DictReader(file):
            if line["model_path"] not in models:
                models[line["model_path"]] = _facts(package, line["model_path"])
            facts = models[line["model_path"]]
            why = next((text for text, holds in LEFT_OUT.items() if holds(line, facts)), None)
            measured = (line["silicon_ttft_ms"], line["silicon_tpot_ms"])
            if why is None and measured in seen:
                why = TWICE
            seen.add(measured)
            row = None if why or facts is None else _row(line, facts, gpus[line["system"]])
            if row is None or _crowded(row):
                left_out[why or CROWDED] += 1
            else:
                rows.append(row)
    return rows, left_out


def _facts(package: Path, model: str) -> ModelFacts | None:
    path = package / "model_configs" / f"{CONFIGS.get(model, model.replace('/', '--'))}_config.json"
    if not path.exists():
        return None
    bare = ModelFacts(model, "folder", str(path.parent), model, None, None)
    return describe(bare, json.loads(path.read_text()))


FEW_USERS = 16
Line = dict[str, str]
LEFT_OUT: dict[str, Callable[[Line, ModelFacts | None], bool]] = {
    "prompts and answers on separate servers": lambda line, _: line["mode"] != "agg",
    "an architecture that the wizard does not know": lambda _, facts: facts is None or facts.anatomy is None,
    "recurrent states, of one model only": lambda _, facts: bool(
        facts and facts.anatomy and any(group.state for group in facts.anatomy.attention)
    ),
    "data-parallel attention or expert parallelism": lambda line, _: (
        float(line["attention_dp_size"] or 1) > 1 or float(line["moe_ep_size"] or 1) > 1
    ),
    "more than eight GPUs, or a GB300": lambda line, _: float(line["tp_size"]) > 8 or line["system"] not in GPUS,
    "the number of users is not stated": lambda line, _: "silicon_concurrency" not in line["silicon_data_source"],
    "GB200 with Qwen3-32B: two users five times slower than one, 64 slower than 128": lambda line, _: (
        line["system"] == "gb200" and "Qwen3-32B" in line["model_path"]
    ),
    "Llama-3.1-8B in FP8 on H200: taken to be limited by the rate of requests": lambda line, _: (
        "Llama-3.1-8B-Instruct-FP8" in line["model_path"]
    ),
    "DeepSeek-R1 on TensorRT-LLM: taken to be partly speculative decoding, which is not stated": lambda line, _: (
        line["backend"] == "trtllm" and "DeepSeek-R1" in line["model_path"]
    ),
    "vLLM 0.11.2 with gpt-oss: far faster than any fit allows, cause unknown": lambda line, _: (
        line["backend_version"] == "0.11.2"
    ),
}
"""Why a row says nothing about a setup that the wizard can make → whether that is so; the first that holds counts."""
TWICE = "the same measurement under another id"
CROWDED = "more users than the KV cache holds"
"""Some of them waited; how many is not said."""
QUEUE = 2
"""A first token that takes more than this many answers waited for others'; SGLang's rows only."""


def _row(line: dict[str, str], facts: ModelFacts, device: Device) -> Row:
    match = re.search(r"silicon_concurrency=(\d+)", line["silicon_data_source"])
    users = int(match.group(1)) if match else 0
    nvidia = "aic-auto-gap-analysis" in line["silicon_data_source"]
    share = 1.0 if nvidia else 0.9
    model, dense = line["model_path"], not (facts.anatomy and facts.anatomy.experts)
    format_ = "mxfp4" if "gpt-oss" in model else FORMATS[line["gemm_quant_mode"]]
    eight = (
        ("Llama-3.1-70B" in model)
        or ("DeepSeek" in model and line["backend"] == "trtllm")
        or ("DeepSeek" in model and line["backend"] == "sglang" and line["system"] in ("b200_sxm", "b300_sxm"))
        or ("gpt-oss" in model and line["system"] == "b200_sxm")
        or ("Qwen3-32B" in model and line["backend"] == "trtllm")  # 64 users x 4,608 tokens ran; 16 bits hold 35
    )
    if facts.anatomy and facts.anatomy.experts and format_ in ("int4_gptq", "nvfp4"):
        facts = _stored(facts, format_)
    return Row(
        id=line["id"],
        stack=STACKS[line["backend"]],
        model=model,
        gpu=GPUS[line["system"]],
        facts=facts,
        device=device,
        setup=Setup(
            STACKS[line["backend"]], "bfloat16", format_, "fp8" if eight else "auto", int(float(line["tp_size"]))
        ),
        load=Load(users, round(int(line["isl"]) * share), round(int(line["osl"]) * share)),
        dense=dense,
        era="nvidia" if nvidia else "2025" if "Llama-3.1-70B" in model else "2026",
        tpot_ms=float(line["silicon_tpot_ms"]),
        ttft_ms=float(line["silicon_ttft_ms"]),
    )


def _stored(facts: ModelFacts, format_: str) -> ModelFacts:
    """``facts`` with only the experts in ``format_``, as the checkpoints are."""
    assert facts.anatomy is not None
    parts, experts = facts.anatomy.parts, formats.weight_bytes(facts, facts.anatomy, format_).experts
    sizes = {field.name: 2 * getattr(parts, field.name) for field in fields(Parts)}
    return replace(facts, stored=Parts(**{**sizes, "experts": experts}), quantization=Quantization("-", format=format_))


def _crowded(row: Row) -> bool:
    """Whether some users waited: a rough bill, of 0.9 of the memory and 3 GiB beside weights and KV cache."""
    assert row.facts.anatomy is not None
    assert row.device.rates is not None
    todo = work(row.facts, row.facts.anatomy, row.device.rates, row.setup)
    room = 0.9 * row.device.total_bytes - 3 * GIB - todo.dense_bytes - todo.expert_bytes
    length = row.load.isl + row.load.osl
    sequence = sum(each * min(length, window or length) for each, window in todo.cache)
    if row.stack == "sglang" and row.ttft_ms > QUEUE * row.load.osl * row.tpot_ms:
        return True
    return row.load.users > max(1, int(room / sequence))


def few_users(row: Row) -> bool:
    """Whether its time to the first token says how long reading a prompt takes, rather than how long a queue is."""
    return row.load.users <= FEW_USERS and row.era != "nvidia"
