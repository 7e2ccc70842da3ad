"""Hosts, models, advice, a plan and what a run of it says: what the tests of the screens are given."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.values import CHOICE, GIB
from tests.worded import behind, limited, noted, saying
from wizard.advise.advice import Advice, Choice, Constraints, Memory, Rejection, Speed
from wizard.advise.calibration import FORMULAS, Measured, Measurement
from wizard.advise.reasons import change, do
from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.kernel.units import size
from wizard.model.config import describe
from wizard.model.facts import ModelFacts, Quantization
from wizard.plan.offers import Suggestion
from wizard.plan.plan import Command, Done, Estimate, Plan, Start, Step, Wait, Write
from wizard.plan.ports import Ports
from wizard.probe.host import ContainerEngine, Cpu, Disk, Gpu, GpuLink, Host, Interpreter, Problem, System
from wizard.probe.live import GpuReading, Reading
from wizard.probe.load import CpuReading
from wizard.run.events import Event, Output, Progress, Ready, StepFinished, StepStarted
from wizard.serve.endpoint import Endpoint

HOME = "/home/ada/.local/share/triton-wizard"
WORKSPACE = Workspace(Path(HOME))
MIB = 1024**2

CPU_HOST = Host(
    cpu=Cpu("AMD EPYC 7B13 64-Core Processor", "x86_64", 2, ("avx2", "bmi2", "f16c", "fma")),
    memory_total_bytes=24 * GIB,
    memory_available_bytes=21 * GIB + 300 * MIB,
    disk=Disk(HOME, 250 * GIB, 121 * GIB),
    system=System("Debian GNU/Linux 12 (bookworm)", "6.1.0-18-amd64", "glibc 2.36"),
    gpu_problem=Problem("TW-P03", "The NVIDIA driver is not loaded", "Nothing to do if there is no NVIDIA GPU."),
    engines=(ContainerEngine("docker", "27.1.1", None, None, "the daemon does not respond"),),
    interpreters=(
        Interpreter("/usr/bin/python3.11", (3, 11, 7), "/usr/lib/x86_64-linux-gnu", True, True),
        Interpreter("/usr/local/bin/python3.13", (3, 13, 0), None, True, False, "Triton's stub needs 3.10 to 3.12"),
    ),
    busy_ports=(8000,),
)
NO_PYTHON = replace(CPU_HOST, interpreters=(replace(CPU_HOST.interpreters[1]),))
GPU_HOST = replace(
    CPU_HOST,
    gpus=tuple(
        Gpu(
            i,
            "NVIDIA H100 80GB HBM3",
            memory_total_bytes=80 * GIB,
            memory_free_bytes=79 * GIB,
            compute_capability=(9, 0),
        )
        for i in range(4)
    ),
    gpu_links=(GpuLink(0, 1, "NV18"),),
    gpu_problem=None,
    driver_version="550.54.15",
    cuda_driver_version="12.4",
    engines=(ContainerEngine("docker", "27.1.1", "27.1.1", True),),
    busy_ports=(),
)

SUGGESTIONS = (
    Suggestion(
        "Qwen/Qwen2.5-0.5B-Instruct-GGUF",
        "Qwen2.5 0.5B Instruct",
        "Small and quick; good for first steps in many languages",
        "apache-2.0",
        491 * MIB,
        True,
        True,
    ),
    Suggestion(
        "demo",
        "Offline demo",
        "Comes with the wizard; knows about Triton and its neighbours",
        "Apache-2.0",
        0,
        False,
        True,
    ),
    Suggestion(
        "HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF",
        "SmolLM2 [bold]1.7B[/] Instruct",
        "Better answers, slower on two cores",
        "apache-2.0",
        1_060 * MIB,
        True,
        True,
    ),
    Suggestion(
        "meta-llama/Llama-3.1-8B-Instruct",
        "Llama 3.1 8B Instruct",
        "A large model",
        None,
        None,
        True,
        False,
        "access is gated: accept its licence on the hub and log in",
    ),
)
FACTS = ModelFacts(
    ref="demo",
    source="recipe",
    location="/opt/wizard/models/demo.gguf",
    name="triton-wizard-demo",
    architecture="llama",
    parameters=3_100_000,
    max_context=1024,
    dtype="Q8_0",
    weight_bytes=round(6.2 * MIB),
    quantization=Quantization("gguf", 8.5, "Q8_0"),
    licence="Apache-2.0",
    questions=("What is Triton?", "What does [bold]dynamic batching[/] do?", "Why quantise a model?"),
    local=True,
)

LLAMA = describe(
    ModelFacts("meta-llama/Llama-3.1-8B", "hub", "meta-llama/Llama-3.1-8B", "Llama-3.1-8B", None, None),
    json.loads((Path(__file__).parents[1] / "cases" / "models" / "llama-3.1-8b.json").read_text())["config"],
)


def choice(**changes: object) -> Choice:
    memory = Memory(round(6.2 * MIB), 6 * 1024, 4096, 30 * MIB, 80 * MIB, round(140.2 * MIB), 21 * GIB)
    first = replace(
        CHOICE,
        dtype="q8_0",
        quantization="Q8_0",
        memory=memory,
        reasons=(
            noted("llama.cpp is the quickest way to serve a GGUF file on a CPU", "Triton Python backend"),
            noted("Everything takes 0.7 % of the memory that is free here"),
            noted("1,024 tokens is all that the model was trained for", "GGUF header"),
        ),
        warnings=(noted("A model of this size knows little beyond its own subject"),),
    )
    return replace(first, **changes)  # type: ignore[arg-type]


ADVICE = Advice(
    True,
    (
        choice(),
        choice(
            max_batch_size=1,
            memory=Memory(6 * GIB, 128 * 1024, 32768, 3 * GIB, GIB, 14 * GIB, 16 * GIB),
            speed=Speed(20.0, 50.0, 120.0, 40.0, 60.0, "a measurement on 2 cores"),
        ),
    ),
    (
        Rejection(
            "vllm",
            None,
            1,
            1,
            "gpu",
            saying("vLLM needs an NVIDIA GPU and there is none"),
            (do("Use a machine with an NVIDIA GPU"),),
        ),
    ),
)


def measurement() -> Measurement:
    """A start of the server ``demo``."""
    predicted = choice().memory
    measured = Measured(predicted.weights_bytes, 4096, 24 * MIB, 28 * MIB, None, 71 * MIB)
    return Measurement("2026-01-02T03:04:05+00:00", "demo", "a CPU", "triton", FORMULAS, "demo", choice(), measured)


def gpu_choice(stack: str, quantization: str, tp: int, weights: float, tpot_ms: float) -> Choice:
    """A way to serve `LLAMA` on two GPUs of 80 GB; figures as they are in the pictures, not computed."""
    loaded, budget, token = round(weights * GIB / tp), 73 * GIB, 128 * 1024 // tp
    tokens = (budget - loaded - 3 * GIB) // token // 16 * 16
    first = stack == "vllm" and quantization == "none" and tp == 1
    notes = (
        limited("Memory bandwidth is the limit: for every token the GPU reads all weights, and the KV cache."),
        *(() if first else (behind("It is less precise than bfloat16."),)),
        noted(f"{size(loaded)} of weights on each GPU", "parameters × bits ÷ 8 ÷ ranks"),
    )
    return replace(
        CHOICE,
        stack=stack,
        runtime="docker",
        dtype="bfloat16",
        quantization=quantization,
        kv_cache_dtype="auto",
        tp=tp,
        max_seq_len=32_768,
        release="25.11-vllm-python-py3" if stack == "vllm" else "26.02-trtllm-python-py3",
        memory=Memory(loaded, token, tokens, GIB, 2 * GIB, loaded + 3 * GIB + tokens * token, budget),
        devices=tuple(range(tp)),
        speed=Speed(
            tpot_ms, 4000 / tpot_ms, 90.0, tpot_ms * 0.8, tpot_ms * 1.2, "roofline", "good", "memory", 60, 200, 4
        ),
        warnings=() if quantization == "none" else (noted("This is another checkpoint of the model."),),
        reasons=notes,
    )


GPU_CHOICES = tuple(
    gpu_choice(stack, quantization, tp, weights, tpot_ms / tp)
    for tp in (1, 2)
    for stack in ("vllm", "trtllm-llmapi", "trtllm-engine")
    for quantization, weights, tpot_ms in (("none", 15.0, 7.3), ("fp8", 8.4, 4.6), ("int4_awq", 5.5, 3.9))
)


def gpu_advice(constraints: Constraints) -> Advice:
    """Those of `GPU_CHOICES` that match the constraints, or a refusal."""
    feasible = tuple(
        choice
        for choice in GPU_CHOICES
        if constraints.tp in (None, choice.tp) and constraints.quantization in (None, choice.quantization)
    )
    name, tp = constraints.quantization or "none", constraints.tp or 1
    text = f"tp {tp} × pp 1 needs {tp} like GPUs, and there are 2 GPUs of the kind NVIDIA H100 80GB HBM3."
    refused = tuple(
        Rejection(stack, name, tp, 1, "gpus", saying(text), (change(tp=2),)) for stack in ("vllm", "trtllm-llmapi")
    )
    text = "NVFP4 in vLLM needs compute capability 10.0; the NVIDIA H100 80GB HBM3 has 9.0."
    never = Rejection("vllm", "nvfp4", 1, 1, "format", saying(text), (change(quantization="fp8"), do("newer-gpu")))
    return Advice(True, feasible, (never,)) if feasible else Advice(False, (), refused)


INFEASIBLE = Advice(
    False,
    (),
    (
        Rejection(
            "llamacpp",
            "Q8_0",
            1,
            1,
            "memory",
            saying("It needs 40.2 GiB and 21.3 GiB are free"),
            (do("Take a smaller quantisation"),),
        ),
    ),
)
ENDPOINT = Endpoint(
    "demo",
    "demo",
    "127.0.0.1",
    Ports(8010, 8011, 8012),
    4711,
    "99",
    f"{HOME}/servers/demo/logs/triton.log",
    openai="http://127.0.0.1:9000/v1",
)


SECOND = replace(ENDPOINT, name="second", model="second", ports=Ports(8020, 8021, 8022), pid=4712)
ELSEWHERE = Endpoint(
    "http://far:9000/v1", "far", "far", Ports(9000, 9000, 9000), 0, "", "", protocol="openai", url="http://far:9000/v1"
)


def plan(host: str = "this machine") -> Plan:
    server = f"{HOME}/servers/demo"
    steps = (
        Step(
            "environment",
            tr("Create the server environment"),
            "Triton and its engine get a virtual environment of their own, so that their versions never meet yours.",
            (
                Command(("uv", "venv", "--python", "/usr/bin/python3.11", f"{HOME}/environments/llamacpp-1f2e")),
                Command(
                    ("uv", "pip", "install", "--require-hashes", "-r", "llamacpp.txt"),
                    env=(("UV_LINK_MODE", "hardlink"),),
                ),
            ),
            Done(),
            Estimate(25, 180 * MIB, 540 * MIB),
            writes=("environment",),
        ),
        Step(
            "model",
            tr("Get the model"),
            "The weights are here already.",
            (Command(("ln", "-sfn", "a", "b")),),
            Done(),
            Estimate(0.1),
            writes=("model",),
        ),
        Step(
            "repository",
            tr("Create the model repository"),
            "Triton serves what it finds in a folder: [bold]config.pbtxt[/] and a numbered version.",
            (
                Write(
                    f"{server}/repository/demo/config.pbtxt",
                    'name: "demo"\nbackend: "python"\ninstance_group [ { kind: KIND_CPU } ]\n',
                ),
            ),
            Done(),
            Estimate(0.1),
            writes=("repository",),
        ),
        Step(
            "start",
            tr("Start Triton"),
            "It listens on 127.0.0.1 only and keeps running when you close the wizard.",
            (Start(("tritonserver", f"--model-repository={server}/repository"), (), ENDPOINT.ports, "demo"),),
            Done(server=True),
            Estimate(0.5),
            reads=("environment", "model", "repository"),
            writes=("server", "endpoint"),
        ),
        Step(
            "ready",
            tr("Wait until it is ready"),
            "Loading takes a moment.",
            (Wait("demo", ENDPOINT.ports, 60),),
            Done(),
            Estimate(2),
            reads=("server",),
            writes=("ready",),
        ),
        Step(
            "question",
            tr("Send a first question"),
            "Only an answer proves it.",
            (Command(("triton-wizard", "chat")),),
            Done(),
            Estimate(1),
            reads=("ready", "endpoint"),
        ),
    )
    notes = (
        "Port 8000 is in use: the server takes 8010, 8011 and 8012.",
        "Python 3.11.7 at /usr/bin/python3.11 was chosen.",
    )
    return Plan("demo", HOME, "demo", FACTS, choice(), steps, notes, host)


def events(made: Plan, *, until: str | None = None, error: WizardError | None = None) -> list[Event]:
    """What a run says: all of it, or up to the middle of step ``until``, where ``error`` may happen."""
    recorded: list[Event] = []
    for index, step in enumerate(made.steps, 1):
        recorded.append(StepStarted(step.id, step.title, index, len(made.steps), 0.0))
        recorded.append(
            Output(
                step.id, (f"$ {step.actions[0].shell().splitlines()[0]}", "\x1b[32m[bold]fine[/]\x1b[0m so far"), 0.0
            )
        )
        if step.id == until:
            if error is not None:
                recorded.append(StepFinished(step.id, "failed", 3.0, error.what, 0.0, error=error.as_json()))
            else:
                recorded.append(Progress(step.id, 0.43, 12.0, "78 of 180 MiB", 0.0))
            return recorded
        outcome = "skipped" if step.id == "environment" else "done"
        recorded.append(StepFinished(step.id, outcome, 0.2 + index, "", 0.0))  # type: ignore[arg-type]
    return [*recorded, Ready(ENDPOINT, 0.0)]


ANSWER = (
    "**Triton** is NVIDIA's inference server. It serves models from a *model repository*:\n\n"
    "- many frameworks, one protocol\n- dynamic batching\n\n```python\nprint('[bold]hello[/]')\n```\n\n"
    "It shows `[/]` and <b>tags</b> as they are."
)


def reading(host: Host) -> Reading:
    """What goes on on ``host``, where everything is known."""
    gpus = [
        GpuReading(
            index=gpu.index,
            name=gpu.name,
            memory_total_bytes=gpu.memory_total_bytes,
            memory_used_bytes=(gpu.memory_total_bytes or 0) - (gpu.memory_free_bytes or 0),
            memory_free_bytes=gpu.memory_free_bytes,
            utilisation=0.0,
            temperature_c=31 + gpu.index,
            power_watts=75.0,
            power_limit_watts=700.0,
            sm_clock_mhz=345,
            processes=gpu.processes,
        )
        for gpu in host.gpus
    ]
    cpu = CpuReading(0.03, 0.2, host.memory_total_bytes, host.memory_available_bytes, 41)
    return Reading(cpu, tuple(gpus))
