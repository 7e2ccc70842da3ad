"""The stack `trtllm-llmapi`: a checkpoint on TensorRT-LLM's PyTorch backend, without building an engine.

In an image the image's own model starts it; natively it has a separate environment behind our proxy.
"""

from __future__ import annotations

import os
from pathlib import Path

from wizard.advise.advice import Choice
from wizard.catalog.environments import environment
from wizard.catalog.releases import images
from wizard.catalog.stacks import on_gpu
from wizard.catalog.trtllm_tools import version_of
from wizard.kernel.errors import InfeasibleError
from wizard.kernel.language import mark, tr
from wizard.kernel.values import fingerprint
from wizard.model.facts import ModelFacts
from wizard.plan.arguments import check_step
from wizard.plan.artefacts import REPOSITORY, SCRIPTS
from wizard.plan.fetch import FetchedModels, fetch_models
from wizard.plan.options import Options
from wizard.plan.plan import Command, Estimate, Step
from wizard.plan.ports import Ports
from wizard.plan.runtimes.runtime import WITHOUT_GPUS, Runtime
from wizard.plan.runtimes.venv import SYSTEM_PATH, environment_changes, replicas
from wizard.plan.serving import question_step, repository_step, serve_steps
from wizard.plan.stack import StackPlan
from wizard.probe.host import Host
from wizard.repository import proxy
from wizard.stacks.trtllm import sources
from wizard.stacks.trtllm.images import image
from wizard.stacks.trtllm_llmapi import repository

READY_SECONDS = 1200.0
"""Loading weights, tuning kernels and recording CUDA graphs."""
SCRIPT = "llmapi/tensorrt_llm/1/model.py"
"""The image's own model, below ``all_models``."""
NATIVELY = {"HF_HUB_OFFLINE": "1"}
"""All files are local."""
CHECK = """
import json, sys
from tensorrt_llm.llmapi.llm_args import TorchLlmArgs
if wrong := sorted(set(json.loads(sys.argv[1])) - set(TorchLlmArgs.model_fields)):
    sys.exit("this TensorRT-LLM does not support: " + ", ".join(wrong))
print("this TensorRT-LLM supports all arguments")
"""
LIMITS, FP8_CACHE, STEPS = (0, 20), (1, 0), (1, 0)
"""First releases whose LLM accepts its limits, its KV cache's dtype, and the size of a step as arguments
(docs/source/features and ``llmapi/llm_args.py`` of 1.0).
"""


def steps(
    choice: Choice, host: Host, facts: ModelFacts, runtime: Runtime, ports: Ports, question: str, options: Options
) -> tuple[Step, ...]:
    """All steps from nothing to a first answer; see `wizard.plan.stack.Steps`.

    Raises:
        InfeasibleError: TW-L40 if the image is unknown, TW-L47 if its release has no LLM API in Triton or does not
            support the choice, TW-L48 if it cannot load the repository.
    """
    get = fetch_models(facts, choice.draft, runtime.workspace)
    if choice.runtime == "native":
        return _native(choice, facts, runtime, ports, question, get)
    version = image(choice).engine
    check(choice, facts, version)
    model = runtime.server.name
    made = repository.repository(
        model,
        model=get.path,
        facts=facts,
        choice=choice,
        limits=version_of(version) >= LIMITS,
        steps=version_of(version) >= STEPS,
        draft=get.draft_path,
    )
    scripts = sources.folder(runtime) / "all_models" / SCRIPT
    target = runtime.server.repository
    write = repository_step(
        runtime,
        made,
        tr(
            "model.py is part of TensorRT-LLM and starts its LLM class with the settings in model.yaml: no checkpoint "
            "conversion, no engine build. 'decoupled' lets one request have many responses, so that answers stream."
        ),
        Command(("rm", "-rf", str(target))),
        Command(("mkdir", "-p", str(target / model))),
        Command(("cp", "-rT", str(scripts.parent), str(target / model / "1"))),
        reads=(SCRIPTS,),
    )
    brought = sources.step(runtime, version, {"all_models": SCRIPT})
    prepared = (*runtime.prepare(), brought, *get.steps, write)
    start = runtime.start(model, ports, fingerprint([step.fingerprint for step in prepared]), reads=get.reads)
    reads = (*runtime.server_needs, *get.needs, REPOSITORY)
    return (*prepared, *serve_steps(start, reads, READY_SECONDS), question_step(runtime, question))


WHY_PROXY = mark(
    "The wizard's repository contains model.py, a thin engine proxy that starts TensorRT-LLM's LLM class in its "
    "own environment and forwards requests, streamed text and cancellations. 'decoupled' means that one request "
    "can have many responses, one per piece of text."
)


def _native(
    choice: Choice, facts: ModelFacts, runtime: Runtime, ports: Ports, question: str, get: FetchedModels
) -> tuple[Step, ...]:
    check(choice, facts, environment(choice.stack).engine.split()[1])
    settings = repository.llm_args(get.path, choice, draft=get.draft_path)
    made = proxy.repository(
        runtime.server.name,
        engine=repository.ENGINE,
        python=runtime.python,
        settings=settings,
        env={**environment_changes(runtime.python, choice), **_with_mpi(runtime.python, choice), **NATIVELY},
        facts=facts,
        choice=choice,
        replicas=replicas(choice),
    )
    asked = check_step("TensorRT-LLM", runtime, CHECK, settings, Estimate(0, unknown=True), gpus=len(choice.devices))
    prepared = (*runtime.prepare(), asked, *get.steps, repository_step(runtime, made, tr(WHY_PROXY)))
    made_from = fingerprint([step.fingerprint for step in prepared])
    start = runtime.start(runtime.server.name, ports, made_from, env=WITHOUT_GPUS, reads=get.reads)
    reads = (*runtime.server_needs, *get.needs, REPOSITORY)
    return (*prepared, *serve_steps(start, reads, READY_SECONDS), question_step(runtime, question))


def _with_mpi(python: str, choice: Choice) -> dict[str, str | None]:
    """The path of a user's Python as it is here: NVIDIA's images have MPI and CUDA's compiler on it."""
    if choice.engine_python is None:
        return {}
    return {"PATH": f"{Path(python).parent}:{os.environ.get('PATH', SYSTEM_PATH)}"}


def check(choice: Choice, facts: ModelFacts, version: str) -> None:
    """Reject what the release cannot load.

    Raises:
        InfeasibleError: TW-L47 for the release, TW-L48 for the repository's quantization.
    """
    first = next(release for release in reversed(images("trtllm").releases) if release.llm_api)
    if version_of(version) < version_of(first.engine):
        raise InfeasibleError(
            "TW-L47",
            tr(
                "the image {release} has TensorRT-LLM {version}, which has no Triton model for the LLM API",
                release=choice.release,
                version=version,
            ),
            tr("Use --release {tag} or later, or --stack trtllm-engine.", tag=first.tag),
        )
    if choice.kv_cache_dtype == "fp8" and version_of(version) < FP8_CACHE:
        raise InfeasibleError(
            "TW-L47",
            tr(
                "the LLM API of TensorRT-LLM {version} does not accept the setting for an FP8 KV cache", version=version
            ),
            tr("Use --kv-dtype auto, or use --release to choose an image with TensorRT-LLM 1.0 or later."),
        )
    stored, chosen = facts.quantization, choice.quantization or "none"
    if stored and stored.method not in on_gpu(choice.stack).formats.methods:
        raise InfeasibleError(
            "TW-L48",
            tr(
                "{ref} is quantized with {method}, which TensorRT-LLM's LLM API does not load",
                ref=facts.ref,
                method=stored.method,
            ),
            tr(
                "Use the model's unquantized repository or one quantized to FP8 or NVFP4 with ModelOpt, or use "
                "--stack vllm."
            ),
        )
    if chosen != ((stored.format or stored.method) if stored else "none"):
        raise InfeasibleError(
            "TW-L48",
            tr(
                "TensorRT-LLM's LLM API serves weights as stored; {ref} is not stored as {wanted}",
                ref=facts.ref,
                wanted=chosen,
            ),
            tr(
                "Use a repository in that format, or --quantization none. To quantize the model here, use --stack "
                "trtllm-engine."
            ),
        )


PORT = StackPlan(steps)
