"""Machines, models and constraints for the tests of the advice: real ones, and whatever hypothesis can make of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from wizard.advise.advice import Constraints
from wizard.catalog import stacks
from wizard.model.config import describe
from wizard.model.facts import ModelFacts
from wizard.model.formats import FORMATS
from wizard.probe import hardware, shorthand
from wizard.probe.host import EnginePython, GpuProcess, Host, MigSlice

TESTS = Path(__file__).parents[1]
CONFIGS: dict[str, dict[str, Any]] = {
    name: entry["config"]
    for name, entry in json.loads((TESTS / "model/configs/public.json").read_text(encoding="utf-8")).items()
}
GIB = 1024**3
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": True}
BLOCKS = {"quant_method": "fp8", "weight_block_size": [128, 128]}
MXFP4 = {"quant_method": "mxfp4"}
LLAMA_8B, LLAMA_70B, LLAMA_405B = (f"meta-llama/Llama-3.1-{size}" for size in ("8B", "70B", "405B"))


def facts_of(name: str, **changes: Any) -> ModelFacts:
    """The public model ``name``, bfloat16 unless its config says otherwise, with some fields of its config changed."""
    config = {"torch_dtype": "bfloat16", **CONFIGS[name], **changes}
    return describe(ModelFacts(name, "folder", name, name, None, None), config)


def machine(text: str) -> Host:
    """``4xA6000`` and the like; one of two GPUs with ``A100+T4``."""
    first, *others = [shorthand.host(part) for part in text.split("+")]
    gpus = first.gpus
    for other in others:
        gpus += tuple(replace(gpu, index=gpu.index + len(gpus)) for gpu in other.gpus)
    return replace(first, gpus=gpus, source=text)


def busy(text: str, held: int) -> Host:
    """A machine whose first GPU has ``held`` bytes taken by a process."""
    host = machine(text)
    first = host.gpus[0]
    free = max(0, (first.memory_free_bytes or 0) - held)
    taken = replace(first, memory_free_bytes=free, processes=(GpuProcess(4242, "python", held),))
    return replace(host, gpus=(taken, *host.gpus[1:]))


def sliced(text: str, profile: str, memory: int, slices: int) -> Host:
    """A machine whose GPUs are cut into MIG slices."""
    host = machine(text)

    def made(gpu: int) -> tuple[MigSlice, ...]:
        return tuple(MigSlice(f"MIG-{gpu}-{number}", profile, memory, number) for number in range(slices))

    return replace(host, gpus=tuple(replace(gpu, mig_enabled=True, mig_slices=made(gpu.index)) for gpu in host.gpus))


VENV = EnginePython(
    "/opt/venv/bin/python",
    (3, 12, 3),
    "/opt/venv",
    {"vllm": "0.26.0", "torch": "2.11.0+cu130", "transformers": "5.17.0"},
    "13.0",
)
"""A Python with engines, as vLLM's own installation makes one."""


HOSTS: dict[str, Host] = {
    **{
        text: machine(text)
        for text in (
            "cpu",
            "1xT4",
            "2xV100",
            "1xL4",
            "4xA10",
            "8xL40S",
            "3xA100",
            "8xH100",
            "16xA100",
            "1xGB10",
            "2x4090",
            "8xB200",
            "A100+T4",
        )
    },
    "busy H100": busy("1xH100", 50 * GIB),
    "4xH200 with a Python": replace(machine("4xH200"), engine_pythons=(VENV,)),
    "2xH100 without containers": replace(machine("2xH100"), engines=(), engine_pythons=(VENV,)),
    "MIG": sliced("1xA100", "1g.10gb", 9856 * 1024**2, 4),
    **{path.stem: hardware.find(str(path), TESTS) for path in sorted((TESTS / "cases/hosts").glob("host-*.json"))},
}
machines = st.sampled_from(sorted(HOSTS))

_numbers = st.one_of(st.none(), st.integers(-1, 9), st.sampled_from([16, 48, 64, 127, 128, 4096, 29568, 131072, 2**31]))
_values = st.one_of(
    _numbers, st.text(max_size=5), st.booleans(), st.floats(), st.lists(st.integers(0, 4096), max_size=3)
)
_quantised = st.one_of(
    st.sampled_from([AWQ, GPTQ, BLOCKS, MXFP4, {"quant_method": "bitsandbytes", "load_in_4bit": True}, {}]),
    st.dictionaries(st.sampled_from(["quant_method", "bits", "group_size", "weight_block_size"]), _values),
)


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    """A public config of which some fields are changed, gone, or nonsense."""
    config = dict(CONFIGS[draw(st.sampled_from(sorted(CONFIGS)))])
    for name in draw(st.lists(st.sampled_from(sorted(config)), max_size=4)):
        config[name] = draw(_values)
    for name in draw(st.lists(st.sampled_from(sorted(config)), max_size=2)):
        config.pop(name, None)
    if draw(st.booleans()):
        config["quantization_config"] = draw(_quantised)
    config["torch_dtype"] = draw(st.sampled_from(["bfloat16", "float16", "float32", "int8", None]))
    return config


def constraints(
    goals: tuple[str, ...] = ("chat", "throughput", "quality", "smallest"),
) -> st.SearchStrategy[Constraints]:
    """Anything that the command line lets somebody ask for."""
    return st.builds(
        Constraints,
        goal=st.sampled_from(goals),
        users=_maybe(st.integers(1, 2000)),
        max_len=_maybe(st.integers(1, 300_000)),
        max_gpus=_maybe(st.integers(0, 20)),
        gpu_memory_utilization=_maybe(st.floats(0.01, 1.0)),
        stack=_maybe(st.sampled_from([*stacks.names(), "magic"])),
        quantization=_maybe(st.sampled_from([*FORMATS, "gguf_q8_0", "q8_0", "magic"])),
        tp=_maybe(st.integers(1, 20)),
        pp=_maybe(st.integers(1, 20)),
        kv_dtype=_maybe(st.sampled_from(["auto", "fp8", "f16", "magic"])),
        as_published=st.booleans(),
        dp=_maybe(st.integers(1, 20)),
        expert_parallel=st.sampled_from([False, False, False, True]),
        speculative=_maybe(st.sampled_from(["none", "ngram", "mtp", "eagle3", "magic"])),
        release=_maybe(st.sampled_from(["23.11", "24.09", "26.08", "v0.13.0", "0.9.0", "99.99", "magic"])),
        runtime=_maybe(st.sampled_from(["native", "docker", "podman"])),
        engine_python=_maybe(st.sampled_from([VENV.path, "/no/such/python"])),
    )


def _maybe(some: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """None three times in four: all at once can seldom be met."""
    return st.one_of(st.none(), st.none(), st.none(), some)
