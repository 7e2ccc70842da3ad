"""The stack `transformers`: Hugging Face's library behind our proxy; the baseline, and tutorial 003's second model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from wizard.advise import memory
from wizard.advise.advice import Choice
from wizard.advise.devices import group
from wizard.advise.driver import engine_environment
from wizard.advise.setup import Setup
from wizard.catalog.environments import Environment, environment, pins
from wizard.kernel.errors import InfeasibleError
from wizard.kernel.language import mark, tr
from wizard.kernel.units import size
from wizard.kernel.values import fingerprint
from wizard.model.facts import ModelFacts
from wizard.plan import checkpoint
from wizard.plan.artefacts import ENGINE_ENVIRONMENT, MODEL, REPOSITORY
from wizard.plan.fetch import fetch
from wizard.plan.options import Options
from wizard.plan.plan import LINK_BYTES_PER_S, Command, Done, Estimate, Step, Write
from wizard.plan.ports import Ports
from wizard.plan.runtimes.runtime import WITHOUT_GPUS, Runtime
from wizard.plan.runtimes.venv import check_driver, environment_changes, replicas
from wizard.plan.serving import question_step, repository_step, serve_steps
from wizard.plan.stack import Second, StackPlan
from wizard.probe.host import Host
from wizard.repository import proxy
from wizard.repository.repository import Repository
from wizard.stacks.transformers.repository import ENGINE, settings

READY_SECONDS = 900.0
"""Large weights on a slow disk take minutes."""
OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
BESIDE = "transformers"
"""Name of the model that is served next to another stack's."""


@dataclass(frozen=True, slots=True)
class Engine:
    """How the engine is prepared and started.

    Attributes:
        steps: The steps that prepare its packages.
        python: Its interpreter.
        env: Differences between its environment and the server's.
        reads: Paths that the server must be able to read for it.
    """

    steps: tuple[Step, ...]
    python: str
    env: dict[str, str | None]
    reads: tuple[Path, ...] = ()


def steps(
    choice: Choice, host: Host, facts: ModelFacts, runtime: Runtime, ports: Ports, question: str, options: Options
) -> tuple[Step, ...]:
    """All steps from nothing to a first answer; see `wizard.plan.stack.Steps`.

    Of the options, ``batching`` is used. Without ``devices`` the CPU computes.

    Raises:
        InfeasibleError: TW-L30 to TW-L33 for a checkpoint that is not supported.
        HostError: TW-L01 if the driver is too old.
    """
    checkpoint.check(choice, facts)
    engine = _engine(choice, host, runtime)
    get = fetch(facts, runtime.workspace)
    made = _repository(runtime.server.name, choice, facts, engine, get.path, options)
    write = repository_step(runtime, made, tr(WHY))
    prepared = (*runtime.prepare(), *engine.steps, get.step, write)
    start = runtime.start(
        runtime.server.name,
        ports,
        fingerprint([step.fingerprint for step in prepared]),
        env=WITHOUT_GPUS,
        reads=(*get.reads, *engine.reads),
    )
    reads = (*runtime.server_needs, *(name for step in engine.steps for name in step.writes), MODEL, REPOSITORY)
    return (*prepared, *serve_steps(start, reads, READY_SECONDS), question_step(runtime, question))


WHY = mark(
    "This repository contains model.py, a thin engine proxy that starts transformers in its own process and "
    "forwards requests, streamed text and cancellations. 'decoupled' means that one request can have many "
    "responses, one per piece of text."
)


def beside(choice: Choice, host: Host, facts: ModelFacts, runtime: Runtime, options: Options, model: Path) -> Second:
    """A model for another stack's repository, for comparison.

    Args:
        choice: The other stack's choice.
        host: The machine.
        facts: The model; it must be stored in 16 bits.
        runtime: The other stack's runtime.
        options: ``beside`` and ``batching`` are used.
        model: The model's folder, which the other stack's plan downloads.

    Raises:
        InfeasibleError: TW-L30 to TW-L33 for a checkpoint that is not supported, TW-L35 if the GPU has no room for
            both.
        HostError: TW-L01 if the driver is too old.
    """
    second = replace(
        choice, stack="transformers", quantization="none", replicas=1, environment=_environment(choice, host)
    )
    checkpoint.check(second, facts)
    _check_room(choice, host, facts, options)
    engine = _engine(second, host, runtime)
    return Second(engine.steps, _repository(BESIDE, second, facts, engine, model, options), engine.reads)


def _check_room(choice: Choice, host: Host, facts: ModelFacts, options: Options) -> None:
    """Both must fit: each as the advice computes it, with the KV cache for its constraints.

    Raises:
        InfeasibleError: TW-L35 if they do not.
    """
    device = group(host, choice.devices[:1], choice.slices[:1]) if choice.devices else None
    if device is None or facts.anatomy is None:
        return  # without a GPU or the model's shape there is no memory breakdown
    users, length, first = choice.max_batch_size, choice.max_seq_len, choice.memory
    mine = 1 if options.batching == "none" else users
    setup = Setup("transformers", choice.dtype, "none", tp=choice.tp)
    second = memory.bill(facts, facts.anatomy, device, setup, mine, length, 0)
    engine = first.weights_bytes + first.activation_bytes + first.overhead_bytes
    engine += first.kv_bytes_per_token * users * length
    beside = second.total_bytes + second.kv_bytes_per_token * mine * length
    if engine + beside > first.budget_bytes:
        raise InfeasibleError(
            "TW-L35",
            tr(
                "the engine needs {engine} per GPU and the second model {beside}, but only {budget_bytes} is available",
                engine=size(engine),
                beside=size(beside),
                budget_bytes=size(first.budget_bytes),
            ),
            tr("Use a GPU with more memory, fewer --users, or a smaller --max-len."),
        )


def _repository(
    name: str, choice: Choice, facts: ModelFacts, engine: Engine, model: Path, options: Options
) -> Repository:
    return proxy.repository(
        name,
        engine=ENGINE,
        python=engine.python,
        settings=settings(str(model), choice, unbatched=options.batching == "none"),
        env=engine.env,
        facts=facts,
        choice=choice,
        replicas=replicas(choice),
    )


def _engine(choice: Choice, host: Host, runtime: Runtime) -> Engine:
    if choice.runtime == "native":  # the runtime has created it
        return Engine((), runtime.python, {**environment_changes(runtime.python, choice), **OFFLINE})
    env = environment(choice.environment or "transformers")
    if choice.devices:
        check_driver(host, env)
    return _in_image(choice, runtime, env)


def _environment(choice: Choice, host: Host) -> str:
    """Name of the environment that driver and GPUs support; empty, which means the newest, without GPUs."""
    device = group(host, choice.devices[:1], choice.slices[:1]) if choice.devices else None
    env = engine_environment(host, "transformers", device.compute_capability) if device else None
    return env.name if env else ""


def _in_image(choice: Choice, runtime: Runtime, env: Environment) -> Engine:
    """The image's Python with the pinned packages: images have various versions of transformers, or none."""
    text = pins(env).read_text(encoding="utf-8")
    folder = runtime.workspace.environments / f"{env.name}-{fingerprint([text, choice.release])}"
    packages, requirements, complete = folder / "packages", folder / "requirements.txt", folder / "complete"
    pip = (runtime.python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--no-cache-dir")
    options = ("--no-deps", "--require-hashes", "--upgrade", "--target", str(packages), "-r", str(requirements))
    path = (("PYTHONPATH", str(packages)),)
    step = Step(
        id="engine-environment",
        title=tr("Install the engine's packages"),
        why=(
            tr(
                "{engine} is installed into its own folder with the image's Python. The image's packages stay "
                "unchanged for the server, and the engine gets the versions it requires.",
                engine=env.engine,
            )
        ),
        actions=(
            Command(("mkdir", "-p", str(folder), str(runtime.workspace.models), str(runtime.server.root))),
            Write(str(requirements), text),
            runtime.command("engine-environment", (*pip, *options), writes=(folder,)),
            runtime.command("engine-environment", (runtime.python, "-c", env.check), env=path, reads=(folder,)),
            Command(("touch", str(complete))),
        ),
        done=Done(files=(str(requirements), str(complete))),
        estimate=Estimate(10 + env.download_bytes / LINK_BYTES_PER_S, env.download_bytes, env.disk_bytes),
        identity=str(folder),
        reads=runtime.needs,
        writes=(ENGINE_ENVIRONMENT,),
    )
    own = {"LD_LIBRARY_PATH": None, "CUDA_VISIBLE_DEVICES": None}  # the container's GPUs are the choice's
    changes: dict[str, str | None] = {**own, **dict(path), "LOGNAME": "triton-wizard", **OFFLINE}
    return Engine((step,), runtime.python, changes, (folder,))


PORT = StackPlan(steps, options=frozenset({"batching"}), beside=beside)
