"""Models, choices and plans of the stacks that serve a checkpoint as it is stored."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2 as pb

from tests.stacks.trtllm_values import LLAMA
from tests.values import CHOICE, PYTHON
from wizard.advise.advice import Choice
from wizard.catalog import stacks
from wizard.kernel.paths import Workspace
from wizard.model.anatomy import Anatomy, Attention, Parts, State
from wizard.model.facts import ModelFacts
from wizard.plan.options import Options
from wizard.plan.plan import Command, Start, Step, Write
from wizard.plan.ports import Ports
from wizard.plan.runtimes.select import runtime_of
from wizard.plan.stack import stack_plan
from wizard.probe.host import Host
from wizard.probe.shorthand import host

WORKSPACE = Workspace(Path("/w"))
QUESTION = "What is machine learning?"
FACTS = replace(LLAMA, dtype="bfloat16")
STATES = (Attention(4, 4, 16, 16), Attention(4, 0, 0, 0, state=State("mamba2", 1024, 0)))
RECURRENT = replace(FACTS, anatomy=Anatomy(Parts(), STATES, 8, 64, 4, 128, 1000))
"""Half of its layers keep a state instead of keys and values."""
ON_GPU = replace(
    CHOICE,
    dtype="bfloat16",
    quantization="none",
    kv_cache_dtype="auto",
    max_seq_len=4096,
    max_batch_size=8,
    gpu_memory_utilization=0.85,
    devices=(0,),
)
IN_IMAGE = replace(ON_GPU, stack="vllm", runtime="docker", release="24.05-vllm-python-py3")


def native(stack: str) -> Choice:
    """``stack`` in environments of its own, with the share of memory that its engine asks for."""
    counts = stacks.on_gpu(stack).cache.counts_of
    return replace(
        ON_GPU,
        stack=stack,
        runtime="native",
        release=stacks.title(stack) or stack,
        gpu_memory_utilization=0.85 if counts == "total" else None,
        kv_cache_fraction=0.9 if counts == "free" else None,
    )


VLLM, LLM_API, TRANSFORMERS = (native(stack) for stack in ("vllm", "trtllm-llmapi", "transformers"))


def machine(name: str = "1xH200") -> Host:
    """A machine with a Python that is always the same."""
    return replace(host(name), interpreters=(PYTHON,))


def planned(
    choice: Choice,
    facts: ModelFacts = FACTS,
    options: Options | None = None,
    *,
    on: Host | None = None,
    workspace: Workspace = WORKSPACE,
) -> tuple[Step, ...]:
    """The steps of a plan for the server ``demo``."""
    on = on or machine()
    runtime = runtime_of(on, choice, workspace, workspace.server("demo"))
    stack = stack_plan(choice.stack)
    assert stack
    return stack.steps(choice, on, facts, runtime, Ports(), QUESTION, options or Options())


def ids(steps: tuple[Step, ...]) -> list[str]:
    return [step.id for step in steps]


def named(steps: tuple[Step, ...], name: str) -> Step:
    (step,) = [step for step in steps if step.id == name]
    return step


def commands(step: Step) -> list[Command]:
    return [action for action in step.actions if isinstance(action, Command)]


def start(steps: tuple[Step, ...]) -> Start:
    (start,) = named(steps, "start").actions
    assert isinstance(start, Start)
    return start


def written(steps: tuple[Step, ...]) -> dict[str, str]:
    """Path below the repository → text."""
    step = named(steps, "repository")
    return {
        action.path.partition("/repository/")[2]: action.text for action in step.actions if isinstance(action, Write)
    }


def arguments(steps: tuple[Step, ...]) -> dict[str, Any]:
    """What Triton's vLLM backend is told."""
    model: dict[str, Any] = json.loads(written(steps)["demo/1/model.json"])
    return model


def engine(steps: tuple[Step, ...], model: str = "demo") -> tuple[list[str], dict[str, Any], dict[str, str | None]]:
    """The engine's command without its settings, its settings, and what is different in its environment."""
    config = text_format.Parse(written(steps)[f"{model}/config.pbtxt"], pb.ModelConfig())
    *argv, settings = json.loads(config.parameters["engine_argv"].string_value)
    return argv, json.loads(settings), json.loads(config.parameters["engine_env"].string_value)
