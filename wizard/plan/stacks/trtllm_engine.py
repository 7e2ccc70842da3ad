"""The stack `trtllm-engine`: an engine built by TensorRT-LLM's own tools, served by its C++ backend as an ensemble."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from wizard.advise.advice import Choice
from wizard.catalog.trtllm_tools import tools
from wizard.kernel.language import tr
from wizard.kernel.values import fingerprint
from wizard.model.facts import ModelFacts
from wizard.plan.fetch import fetch
from wizard.plan.options import Options
from wizard.plan.plan import Action, Command, Step
from wizard.plan.ports import Ports
from wizard.plan.runtimes.runtime import Runtime
from wizard.plan.serving import question_step, repository_step, serve_steps
from wizard.plan.stacks import transformers
from wizard.plan.stacks.trtllm import build, check, convert, feasible, launch, quantize, run, sources
from wizard.plan.stacks.trtllm.job import Call, Job, after
from wizard.probe.host import Host
from wizard.repository import trtllm
from wizard.repository.repository import Repository

READY_SECONDS = 900.0
"""All ranks read their engine, and the tokenizers start; large engines on slow disks take minutes."""
MODELS = "inflight_batcher_llm"
"""The folder of the backend's ``all_models`` whose Python models are used."""
MODEL = "ensemble"
"""The model that text is sent to, whose readiness counts: it is ready when all that it is made of is."""


def steps(
    choice: Choice, host: Host, facts: ModelFacts, runtime: Runtime, ports: Ports, question: str, options: Options
) -> tuple[Step, ...]:
    """All steps from nothing to a first answer.

    Args:
        choice: What was chosen.
        host: The machine.
        facts: The model.
        runtime: Where and how the commands run.
        ports: Ports that are free now.
        question: The first question.
        options: ``max_input_len``, ``bls``, and ``beside`` with ``batching`` mean something here.

    Raises:
        InfeasibleError: TW-L40 to TW-L47 if the image's tools cannot make such an engine, TW-L30 to TW-L35 if the model
            beside it cannot be served.
        HostError: TW-L01 if the driver is too old for the model beside it.
    """
    version = feasible.builder(choice)
    get = fetch(facts, runtime.workspace)
    family = feasible.family_of(facts, version)
    job = Job(choice, facts, version, family, tools(), runtime, options, get.path, get.reads)
    feasible.check(job, host)
    second = transformers.beside(choice, host, facts, runtime, options, get.path)
    scripts = _sources(job)
    prepared = (
        *runtime.prepare(),
        scripts,
        check.step(job, calls(job, question), ("mpirun",) if job.world > 1 else ()),
        get.step,
        *_engine(job, host, scripts, get.step),
        run.step(job, question),
        *(second.steps if second else ()),
        after(_repository(job, second.repository if second else None), scripts),
    )
    start = runtime.start(
        MODEL,
        ports,
        fingerprint([step.fingerprint for step in prepared]),
        argv=launch.argv(job),
        env=launch.ENVIRONMENT if job.world > 1 else (),
        reads=(*get.reads, *(second.reads if second else ())),
    )
    return (*prepared, *serve_steps(start, READY_SECONDS), question_step(runtime, question))


def calls(job: Job, question: str) -> tuple[Call, ...]:
    """Every tool that the plan calls, as it calls it."""
    checkpoint = quantize.call(job) if job.calibrated else convert.call(job)
    ranks = (launch.call(job),) if job.world > 1 else ()
    return (checkpoint, build.call(job), run.call(job, question), *ranks)


def _engine(job: Job, host: Host, scripts: Step, model: Step) -> tuple[Step, ...]:
    """The checkpoint and the engine; made anew with what they are made from."""
    checkpoint = after(quantize.step(job) if job.calibrated else convert.step(job), scripts, model)
    return checkpoint, after(build.step(job, host), scripts, model, checkpoint)


def _sources(job: Job) -> Step:
    parts = {"examples": run.TOOL, "all_models": f"{MODELS}/preprocessing/1/model.py"}
    if job.world > 1:
        parts["scripts"] = launch.TOOL
    more: tuple[Action, ...] = (check.script(job.runtime), *launch.script(job), *_library(job))
    return sources.step(job.runtime, job.version, parts, *more)


def _library(job: Job) -> tuple[Command, ...]:
    """``quantize.py``'s library where the image lacks it, beside the scripts and without what the image has."""
    library = job.tools.library(job.version)
    if library is None or not job.needs_library:
        return ()
    target = str(job.scripts / "python")
    pip = (job.runtime.python, "-m", "pip", "install", "--no-deps", "--no-cache-dir", "--upgrade")
    argv = (*pip, "--target", target, "--index-url", library.index, library.requirement)
    return (job.command("sources", argv, gpus=0),)


def _repository(job: Job, second: Repository | None) -> Step:
    # Alone, the engine's KV cache takes what is free; beside another model it takes what the choice promises.
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
            "Text is sent to the ensemble: preprocessing makes token ids of it, tensorrt_llm "
            "(the C++ backend with the engine) continues them, postprocessing makes text of "
            "them again. The Python models are the backend's own. The configurations are "
            "written whole; by hand each is filled in from the backend's templates, as in "
            "`python3 tools/fill_template.py -i preprocessing/config.pbtxt "
            "tokenizer_dir:{model},triton_max_batch_size:{max_batch_size},preprocessing_instance_count:1`, "
            "and a variable that is forgotten stays in it. 'decoupled' lets one request have many responses, so "
            "that answers stream.",
            model=job.model,
            max_batch_size=job.choice.max_batch_size,
        ),
        # What an earlier plan left there would be served too.
        Command(("rm", "-rf", str(target))),
        *(command for folder in made.copied for command in _copy(job, target, folder)),
    )


def _copy(job: Job, target: Path, folder: str) -> tuple[Command, ...]:
    source = job.scripts / "all_models" / MODELS / folder
    return (
        Command(("mkdir", "-p", str((target / folder).parent))),
        Command(("cp", "-rT", str(source), str(target / folder))),
    )
