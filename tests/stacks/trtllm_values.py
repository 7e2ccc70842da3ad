"""Models, choices and a runtime for the plans of TensorRT-LLM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tests.values import CHOICE
from wizard.advise import engines
from wizard.advise.advice import Choice, Memory
from wizard.catalog.releases import images
from wizard.catalog.trtllm_tools import tools
from wizard.kernel.paths import Workspace
from wizard.model.facts import ModelFacts, Quantization, WeightFile
from wizard.plan.options import Options
from wizard.plan.plan import Action, Command, Start, Step
from wizard.plan.ports import Ports
from wizard.plan.runtimes.docker import Docker
from wizard.probe.shorthand import host
from wizard.stacks.trtllm_engine import plan as trtllm_engine
from wizard.stacks.trtllm_llmapi import plan as trtllm_llmapi

WORKSPACE = Workspace(Path("/w"))
IMAGE = "nvcr.io/nvidia/tritonserver"
QUESTION = "What is Triton?"
TAGS = {release.engine: release.tag for release in reversed(images("trtllm").releases) if not engines.obstacle(release)}
"""TensorRT-LLM's version → newest image with it, of those that build engines."""
ARCHITECTURES = tuple(name for family in tools().families for name in family.architectures)

LLAMA = ModelFacts(
    ref="meta-llama/Llama-2-7b-hf",
    source="hub",
    location="meta-llama/Llama-2-7b-hf",
    name="Llama-2-7b-hf",
    architecture="LlamaForCausalLM",
    parameters=6_738_415_616,
    layers=32,
    hidden_size=4096,
    heads=32,
    kv_heads=32,
    head_dim=128,
    intermediate_size=11008,
    vocabulary=32000,
    max_context=4096,
    dtype="float16",
    weight_bytes=13_476_831_232,
    weights=(WeightFile("model.safetensors", 13_476_831_232, "safetensors"),),
)
AWQ = Quantization("awq", 4, format="int4_awq", group_size=128)
GPTQ = Quantization("gptq", 4, format="int4_gptq", group_size=128)


def model(architecture: str, quantization: Quantization | None = None, **changes: object) -> ModelFacts:
    """A model of Llama 2's size with another architecture."""
    # Phi's conversion of 0.10 knows Phi-3 mini only, by its width.
    width = 3072 if architecture == "Phi3ForCausalLM" else 4096
    return replace(LLAMA, architecture=architecture, hidden_size=width, quantization=quantization, **changes)  # type: ignore[arg-type]


def choice(
    version: str,
    quantization: str = "none",
    *,
    tp: int = 1,
    pp: int = 1,
    kv: str = "auto",
    dtype: str = "float16",
    batch: int = 8,
    length: int = 2048,
    stack: str = "trtllm-engine",
) -> Choice:
    """A choice of the image that has TensorRT-LLM ``version``."""
    return replace(
        CHOICE,
        stack=stack,
        runtime="docker",
        dtype=dtype,
        quantization=quantization,
        kv_cache_dtype=kv,
        tp=tp,
        pp=pp,
        max_batch_size=batch,
        max_seq_len=length,
        release=f"{TAGS[version]}-trtllm-python-py3",
        memory=Memory(7_000_000_000 // (tp * pp), 2048, 4096, 0, 0, 0, 80 * 1024**3),
        devices=tuple(range(tp * pp)),
    )


def runtime(chosen: Choice, name: str = "demo") -> Docker:
    """Containers of the choice's image."""
    return Docker(WORKSPACE, WORKSPACE.server(name), f"{IMAGE}:{chosen.release}", devices=chosen.devices)


def planned(
    facts: ModelFacts,
    chosen: Choice,
    options: Options | None = None,
    *,
    question: str = QUESTION,
    machine: str = "4xH100",
) -> tuple[Step, ...]:
    """The steps."""
    make = trtllm_engine.steps if chosen.stack == "trtllm-engine" else trtllm_llmapi.steps
    return make(chosen, host(machine), facts, runtime(chosen), Ports(), question, options or Options())


def inside(steps: tuple[Step, ...]) -> Iterator[tuple[str, ...]]:
    """Every command, of those in containers what runs in there."""
    for step in steps:
        for action in step.actions:
            if argv := _argv(action):
                yield argv


def _argv(action: Action) -> tuple[str, ...]:
    if isinstance(action, Start):
        return action.argv
    if not isinstance(action, Command) or action.unless:  # the pull
        return ()
    if action.argv[:2] == ("docker", "run"):
        image = next(index for index, word in enumerate(action.argv) if word.startswith(IMAGE))
        return action.argv[image + 1 :]
    return action.argv


def command(steps: tuple[Step, ...], program: str) -> tuple[str, ...]:
    """The command with a word that ends in ``program``."""
    (match,) = [argv for argv in inside(steps) if any(word.endswith(program) for word in argv[:6])]
    return match
