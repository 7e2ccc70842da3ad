"""The stack `trtllm-engine`: an engine built by TensorRT-LLM's own tools, served by its C++ backend as an ensemble."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from wizard.advise import engines
from wizard.advise.advice import Choice
from wizard.catalog.trtllm_tools import tools
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.values import fingerprint
from wizard.model.facts import ModelFacts
from wizard.plan import artefacts
from wizard.plan.artefacts import ENGINE, REPOSITORY, SCRIPTS
from wizard.plan.fetch import fetch
from wizard.plan.options import Options
from wizard.plan.plan import Action, Command, Step
from wizard.plan.ports import Ports
from wizard.plan.runtimes.runtime import Runtime
from wizard.plan.serving import question_step, repository_step, serve_steps
from wizard.plan.stack import Second, StackPlan, stack_plan
from wizard.probe.host import Host
from wizard.repository.repository import Repository
from wizard.stacks.trtllm import sources
from wizard.stacks.trtllm_engine import build, check, convert, feasible, launch, quantize, run
from wizard.stacks.trtllm_engine import repository as trtllm
from wizard.stacks.trtllm_engine.job import Call, Job

READY_SECONDS = 900.0
"""All ranks read their engine, and the tokenizers start; large engines on slow disks take minutes."""
MODELS = "inflight_batcher_llm"
"""The folder of the backend's ``all_models`` with the Python models."""
MODEL = "ensemble"
"""The model that receives text, whose readiness counts: it is ready when all its parts are."""


def steps(
    choice: Choice, host: Host, facts: ModelFacts, runtime: Runtime, ports: Ports, question: str, options: Options
) -> tuple[Step, ...]:
    """All steps from nothing to a first answer; see `wizard.plan.stack.Steps`.

    Of the options, ``max_input_len``, ``bls``, and ``beside`` with ``batching`` are used.

    Raises:
        UsageError: TW-L09 if the stack of ``beside`` does not support it.
        InfeasibleError: TW-L40 to TW-L47 if the image's tools cannot build such an engine, TW-L30 to TW-L35 if the
            model beside it cannot be served.
        HostError: TW-L01 if the driver is too old for the model beside it.
    """
    version = feasible.builder(choice)
    get = fetch(facts, runtime.workspace)
    family = feasible.family_of(facts, version)
    job = Job(choice, facts, version, family, tools(), runtime, options, get.path, get.reads)
    feasible.check(job, host)
    second = _beside(job, host)
    prepared = (
        *runtime.prepare(),
        _sources(job),
        check.step(job, calls(job, question), ("mpirun",) if job.world > 1 else ()),
        get.step,
        quantize.step(job) if job.calibrated else convert.step(job),
        build.step(job, host),
        run.step(job, question),
        *(second.steps if second else ()),
        _repository(job, second.repository if second else None),
    )
    start = runtime.start(
        MODEL,
        ports,
        fingerprint([step.fingerprint for step in prepared]),
        argv=launch.argv(job),
        env=launch.ENVIRONMENT if job.world > 1 else (),
        reads=(*get.reads, *(second.reads if second else ())),
    )
    more = (name for step in second.steps for name in step.writes) if second else ()
    ranks = (SCRIPTS,) if job.world > 1 else ()
    reads = (*runtime.server_needs, *ranks, artefacts.MODEL, ENGINE, *more, REPOSITORY)
    return (*prepared, *serve_steps(start, reads, READY_SECONDS), question_step(runtime, question))


def _beside(job: Job, host: Host) -> Second | None:
    """The model of another stack that the options request, in the same repository."""
    if job.options.beside is None:
        return None
    stack = stack_plan(job.options.beside)
    if stack is None or stack.beside is None:
        raise UsageError(
            "TW-L09",
            tr("the stack {stack} cannot serve a second model in another stack's repository", stack=job.options.beside),
            tr("Omit the option `beside`."),
        )
    return stack.beside(job.choice, host, job.facts, job.runtime, job.options, job.model)


def calls(job: Job, question: str) -> tuple[Call, ...]:
    """All tool calls of the plan."""
    checkpoint = quantize.call(job) if job.calibrated else convert.call(job)
    ranks = (launch.call(job),) if job.world > 1 else ()
    return (checkpoint, build.call(job), run.call(job, question), *ranks)


def _sources(job: Job) -> Step:
    parts = {"examples": run.TOOL, "all_models": f"{MODELS}/preprocessing/1/model.py"}
    if job.world > 1:
        parts["scripts"] = launch.TOOL
    more: tuple[Action, ...] = (check.script(job.runtime), *launch.script(job), *_library(job))
    return sources.step(job.runtime, job.version, parts, *more)


def _library(job: Job) -> tuple[Command, ...]:
    """``quantize.py``'s library if the image lacks it, next to the scripts and without packages that the image has."""
    library = job.tools.library(job.version)
    if library is None or not job.needs_library:
        return ()
    target = str(job.scripts / "python")
    pip = (job.runtime.python, "-m", "pip", "install", "--no-deps", "--no-cache-dir", "--upgrade")
    argv = (*pip, "--target", target, "--index-url", library.index, library.requirement)
    return (job.command("sources", argv, gpus=0),)


def _repository(job: Job, second: Repository | None) -> Step:
    # Alone, the engine's KV cache uses all free memory; with another model it uses what the choice reserves.
    tokens = job.choice.max_batch_size * job.choice.max_seq_len
    made = trtllm.repository(
        job.version,
        engine_dir=str(job.engine),
        tokenizer_dir=str(job.model),
        max_batch_size=job.choice.max_batch_size,
        decoupled=True,
        bls=job.options.bls,
        kv_cache_fraction=job.choice.kv_cache_fraction,
        settings={"max_tokens_in_paged_kv_cache": str(tokens)} if second else None,
    )
    made = replace(made, files=(*made.files, *(second.files if second else ())))
    target = job.runtime.server.repository
    return repository_step(
        job.runtime,
        made,
        tr(
            "Text goes to the ensemble: preprocessing turns it into token IDs, tensorrt_llm (the C++ backend "
            "with the engine) generates new ones, and postprocessing turns those into text. The Python models "
            "come with the backend. The wizard generates complete configurations. To do this by hand, you would "
            "fill in each of the backend's templates, as in `python3 tools/fill_template.py -i "
            "preprocessing/config.pbtxt "
            "tokenizer_dir:{model},triton_max_batch_size:{max_batch_size},preprocessing_instance_count:1`, and "
            "any variable you forgot would stay unfilled. 'decoupled' lets one request have many responses, so "
            "that answers can be streamed.",
            model=job.model,
            max_batch_size=job.choice.max_batch_size,
        ),
        # Leftovers of an earlier plan would be served too.
        Command(("rm", "-rf", str(target))),
        *(command for folder in made.copied for command in _copy(job, target, folder)),
        reads=(SCRIPTS,),
    )


def _copy(job: Job, target: Path, folder: str) -> tuple[Command, ...]:
    source = job.scripts / "all_models" / MODELS / folder
    return (
        Command(("mkdir", "-p", str((target / folder).parent))),
        Command(("cp", "-rT", str(source), str(target / folder))),
    )


def notes(choice: Choice, host: Host, facts: ModelFacts) -> tuple[str, ...]:
    """Remarks about the model's own code, and that newer images no longer build engines.

    The preprocessing model of TensorRT-LLM's Triton backend loads the tokenizer with permission to run such code
    (``model.py`` of ``all_models/inflight_batcher_llm/preprocessing``, triton-inference-server/tensorrtllm_backend).
    """
    ended = engines.ended(facts.ref, "" if host.is_here else host.source, *engines.successors(facts))
    if not facts.needs_remote_code:
        return (ended,)
    where = facts.location if facts.local else f"https://huggingface.co/{facts.location}/tree/main"
    code = tr(
        "The model contains its own Python code, which TensorRT-LLM's scripts may run in the container: review the "
        ".py files in {where} first.",
        where=where,
    )
    return (code, ended)


PORT = StackPlan(steps, options=frozenset({"max_input_len", "bls", "beside"}), notes=notes)
