"""The runtime of a choice on a machine, or the obstacle to running it there."""

from __future__ import annotations

import re
from dataclasses import replace

from wizard.advise import engine_python
from wizard.advise.advice import Choice, Constraints
from wizard.advise.compatibility import obstacles
from wizard.advise.reasons import Refused
from wizard.advise.titles import stack_title
from wizard.catalog.environments import environment
from wizard.catalog.releases import image_bytes
from wizard.catalog.stacks import facts
from wizard.kernel.errors import HostError, InfeasibleError
from wizard.kernel.language import tr
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.plan.prerequisites import Prerequisite, prerequisites, usable_engine
from wizard.plan.runtimes.docker import Docker
from wizard.plan.runtimes.native import Native
from wizard.plan.runtimes.runtime import Runtime
from wizard.plan.runtimes.venv import check_driver
from wizard.probe.engine_python import with_python
from wizard.probe.engines import elsewhere, has_image, is_rootless, lifts_limits
from wizard.probe.host import EnginePython, Host
from wizard.probe.interpreters import usable_interpreter

IMAGE = "nvcr.io/nvidia/tritonserver"
TAG = re.compile(r"\d\d\.\d\d-[\w.-]+")


def runtime_of(host: Host, choice: Choice, workspace: Workspace, server: ServerFolder) -> Runtime:
    """The runtime for ``choice`` on ``host``.

    Raises:
        Refused: TW-L01 if the machine cannot run the environments.
        HostError: TW-L20 to TW-L22 if it has no working container engine with GPU support.
        InfeasibleError: TW-L23 if the stack does not support this runtime.
    """
    if choice.runtime == "native":
        return _native(host, choice, workspace, server)
    return _docker(host, choice, workspace, server)


def _docker(host: Host, choice: Choice, workspace: Workspace, server: ServerFolder) -> Docker:
    if not TAG.fullmatch(choice.release):
        raise InfeasibleError(
            "TW-L23",
            tr(
                "{release!r} is not a Triton image tag, so {stack_title} has no image to run in",
                release=choice.release,
                stack_title=stack_title(choice.stack),
            ),
            tr("Choose one with --release, such as 24.05, or serve natively."),
        )
    name, image = _engine(host, choice.runtime, gpus=bool(choice.devices)), f"{IMAGE}:{choice.release}"
    here = host.is_here
    if here and (address := elsewhere(name)):
        raise HostError(
            "TW-L24",
            tr(
                "{name} is connected to the engine at {address}, which cannot access this machine's folders or ports",
                name=name,
                address=address,
            ),
            tr(
                "Run the wizard on that machine, or unset DOCKER_HOST and choose a local context: `docker context use "
                "default`."
            ),
        )
    size = 0 if here and has_image(name, image) else image_bytes(choice.release)
    rootless = here and is_rootless(name)
    memlock = not here or (lifts_limits() and not rootless)
    return Docker(workspace, server, image, name, _names(host, choice, name), size, memlock, rootless)


def _names(host: Host, choice: Choice, engine: str) -> tuple[int | str, ...]:
    """What the container engine calls the GPUs or MIG slices: podman, as CDI, GPU:SLICE (nvidia-ctk's default)."""
    if not choice.slices or engine != "podman":
        return choice.slices or choice.devices
    parts = ((gpu, part) for gpu in host.gpus for part in gpu.mig_slices)
    numbers = {part.uuid: f"{gpu.index}:{part.index}" for gpu, part in parts if part.index is not None}
    return tuple(numbers.get(uuid, uuid) for uuid in choice.slices)


def _engine(host: Host, preferred: str, *, gpus: bool) -> str:
    """Name of the container engine, ``preferred`` if it works; engines of a described machine count as usable."""
    like = replace(
        host, engines=tuple(sorted(host.engines, key=lambda container_engine: container_engine.name != preferred))
    )
    engine = usable_engine(like)
    if not host.is_here:
        return engine.name if engine else preferred
    _, installed, toolkit = prerequisites(like)
    if not host.engines:
        raise HostError("TW-L20", tr("neither docker nor podman is installed"), _remedy(installed))
    if engine is None:
        raise HostError("TW-L21", installed.found, _remedy(installed))
    if gpus and not engine.nvidia_runtime:
        raise HostError(
            "TW-L22",
            tr("{name} does not give containers access to GPUs: {found}", name=engine.name, found=toolkit.found),
            _remedy(toolkit),
        )
    return engine.name


def _remedy(missing: Prerequisite) -> str:
    commands = f": `{' && '.join(missing.commands)}`" if missing.commands else ""
    return tr(
        "{why} Run `triton-wizard prerequisites --run {name}`, or see {source}{commands}.",
        why=missing.why,
        name=missing.name,
        source=missing.source,
        commands=commands,
    )


def _native(host: Host, choice: Choice, workspace: Workspace, server: ServerFolder) -> Native:
    native = facts(choice.stack).native
    if native is None:
        raise InfeasibleError(
            "TW-L23",
            tr("{stack_title} runs only in NVIDIA's images, not natively", stack_title=stack_title(choice.stack)),
            tr("Use a machine with docker or podman, or --stack vllm."),
        )
    server_environment, engine = environment(choice.environment or native.environment), None
    if not server_environment.triton:  # the engine has a separate environment
        server_environment, engine = environment("front"), server_environment
    python = _own(host, choice)
    interpreter = usable_interpreter(host)
    made = (server_environment, None if python else engine)
    problems = [problem for environment in made if environment for problem in obstacles(host, environment)]
    if interpreter is None or problems:
        raise Refused("TW-L01", HostError, problems[0])
    if engine and choice.devices and not python:
        check_driver(host, engine)
    makes = usable_interpreter(host, engine.pythons) if engine else None
    return Native(
        workspace, server, server_environment, interpreter, engine, choice.slices or choice.devices, python, makes
    )


def _own(host: Host, choice: Choice) -> EnginePython | None:
    """The user's Python in its current state: its packages may have changed since the advice.

    Raises:
        UsageError: TW-P15 if it is not a Python.
        Refused: TW-A20 if it is not usable, TW-A21 to TW-A23 if its engine is not.
    """
    path = choice.engine_python
    if path is None:
        return None
    if host.is_here:
        host = with_python(replace(host, engine_pythons=()), path)
    engine_python.check(host, Constraints(stack=choice.stack, runtime=choice.runtime, engine_python=path))
    return engine_python.described(host, path)
