"""Small values of every stage, for the tests of the stages after it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from wizard.advise.advice import Choice, Memory
from wizard.model.chat_format import ChatFormat
from wizard.model.facts import ModelFacts, Quantization, WeightFile
from wizard.plan.plan import Command, Done, Estimate, Plan, Step
from wizard.probe.host import Cpu, Disk, Host, Interpreter, System

GIB = 1024**3

PYTHON = Interpreter("/opt/python3.11/bin/python3.11", (3, 11, 7), "/opt/python3.11/lib", has_venv=True, usable=True)

CPU_HOST = Host(
    cpu=Cpu("Some CPU", "x86_64", 8, ("avx2", "bmi2", "f16c", "fma")),
    memory_total_bytes=32 * GIB,
    memory_available_bytes=24 * GIB,
    disk=Disk("/data", 500 * GIB, 100 * GIB),
    system=System("Some Linux 12", "6.1.0", "glibc 2.36"),
    interpreters=(PYTHON,),
)

GGUF = ModelFacts(
    ref="demo",
    source="gguf",
    location="/models/demo.gguf",
    name="demo",
    architecture="llama",
    parameters=3_000_000,
    layers=4,
    hidden_size=256,
    heads=4,
    kv_heads=2,
    head_dim=64,
    intermediate_size=640,
    vocabulary=2048,
    max_context=1024,
    dtype="Q8_0",
    weight_bytes=3_500_000,
    weights=(WeightFile("demo.gguf", 3_500_000, "gguf"),),
    quantization=Quantization("gguf", 8.5, "Q8_0", format="gguf_q8_0"),
    chat=ChatFormat("{{ messages }}", None, "<|im_end|>", ("<|im_end|>",)),
    local=True,
)

CHOICE = Choice(
    stack="llamacpp",
    runtime="native",
    dtype="Q8_0",
    quantization="gguf_q8_0",
    kv_cache_dtype="f16",
    tp=1,
    pp=1,
    max_batch_size=4,
    max_seq_len=1024,
    release="triton 2.51.0",
    memory=Memory(3_500_000, 2048, 4096, 1_000_000, 76_000_000, 90_000_000, 10_000_000_000),
)


def python_step(identifier: str, code: str, *files: Path, reads: tuple[Path | str, ...] = ()) -> Step:
    """A step that runs Python code, reads ``reads``, and promises and writes ``files``."""
    return Step(
        identifier,
        f"Step {identifier}",
        "For a test.",
        (Command((sys.executable, "-c", code)),),
        Done(files=tuple(map(str, files))),
        Estimate(1.0),
        reads=tuple(map(str, reads)),
        writes=tuple(map(str, files)),
    )


def plan_of(workspace: Path, *steps: Step, name: str = "test") -> Plan:
    """A plan of just these steps."""
    return Plan(name, str(workspace), name, replace(GGUF, ref=name), CHOICE, steps)
