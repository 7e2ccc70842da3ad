"""The engine in the user's Python (``--engine-python``): what prevents it from serving here. Pure."""

from __future__ import annotations

from dataclasses import replace

from wizard.advise.advice import Constraints
from wizard.advise.devices import Device
from wizard.advise.needs import dots
from wizard.advise.reasons import Obstacle, Refused, Remedy, because, change, do, without
from wizard.advise.rules import instead
from wizard.catalog import stacks
from wizard.catalog.environments import environment_of
from wizard.catalog.releases import architectures, drivers, version
from wizard.kernel.errors import HostError, UsageError
from wizard.probe.engine_python import known
from wizard.probe.host import EnginePython, Host

WITHOUT = without("engine_python")
TURING_CUDA, TURING = (13, 0), (7, 5)
"""CUDA 13 and later do not support older GPUs, see ``compute_capability`` in ``profiles/environments``. Builds for
CUDA 12 differ: PyTorch 2.10 for 12.8 still has Volta's code, so the plan checks that PyTorch itself.
"""


def packages(stack: str) -> dict[str, str]:
    """Packages of a user's Python that can serve ``stack`` → their titles; empty if it supports none."""
    native = stacks.facts(stack).native if stack in stacks.names() else None
    return native.packages if native else {}


def engine_version(python: EnginePython, stack: str) -> str:
    """Version of the stack's engine in ``python``; empty if it has none."""
    return python.packages.get(next(iter(environment_of(stack).needs)), "")


def title(python: EnginePython, stack: str) -> str:
    """``vLLM 0.26.0``."""
    return f"{packages(stack)[next(iter(environment_of(stack).needs))]} {engine_version(python, stack)}"


def whole_title(python: EnginePython, stack: str) -> str:
    """``vLLM 0.26.0 (PyTorch 2.11.0, CUDA 13.0)``."""
    torch = python.packages.get("torch")
    parts = [f"PyTorch {torch.partition('+')[0]}"] if torch else []
    parts += [f"CUDA {python.cuda}"] if python.cuda else []
    return f"{title(python, stack)} ({', '.join(parts)})" if parts else title(python, stack)


def obstacle(host: Host, python: EnginePython, stack: str) -> Obstacle | None:
    """The first obstacle to serving ``stack`` on ``host`` with the engine in ``python``; None if there is none.

    The codes: ``own-missing`` (a package), ``own-old`` (its version), ``own-cuda`` (CUDA and the driver).
    """
    for package, oldest in environment_of(stack).needs.items():
        has = python.packages.get(package)
        if has is None:
            why = because("own-missing", path=python.path, package=packages(stack)[package])
            return Obstacle("own-missing", why, _install(package, oldest))
        if version(has)[:3] < version(oldest):
            why = because("own-old", path=python.path, package=packages(stack)[package], has=has, oldest=oldest)
            return Obstacle("own-old", why, _install(package, oldest))
    return _cuda(host, python)


def _install(package: str, oldest: str) -> tuple[Remedy, ...]:
    return WITHOUT, do("install-package", requirement=f"{package}>={oldest}")


def _cuda(host: Host, python: EnginePython) -> Obstacle | None:
    torch = f"PyTorch {python.packages.get('torch', '')}".strip()
    if not host.gpus:
        return None
    if python.cuda is None:
        why = because("own-without-cuda", torch=torch, path=python.path)
        return Obstacle("own-cuda", why, (WITHOUT, do("torch-with-cuda")))
    major = python.cuda.partition(".")[0]
    branch, here = drivers().branches.get(major), version(host.driver_version or "")
    newest = version(host.cuda_driver_version or "")
    # The reported driver version includes forward compatibility: in NVIDIA's containers an older branch runs newer
    # CUDA.
    behind = bool(branch and here and here < (branch,))
    if not (newest < version(major) if newest else behind):
        return None
    why = because("own-cuda", torch=torch, path=python.path, cuda=python.cuda, driver=host.driver_version)
    newer = do("newer-driver", branch=branch) if behind else do("any-newer-driver")
    older = (do("torch-for-cuda", cuda=host.cuda_driver_version),) if host.cuda_driver_version else ()
    return Obstacle("own-cuda", why, (WITHOUT, newer, *older))


def gpu_obstacle(device: Device, python: EnginePython) -> Obstacle | None:
    """What prevents the user's PyTorch from computing on ``device``: its CUDA is too old for the GPU, or too new."""
    have, cuda = dots(device.compute_capability), version(python.cuda or "")[:2]
    first = next((gpu for gpu in architectures().gpus if gpu.name == have), None)
    about = {"path": python.path, "gpu": device.name, "capability": device.compute_capability, "has": python.cuda}
    if first and cuda and cuda < version(first.cuda):
        return Obstacle("own-gpu", because("own-gpu-cuda", cuda=first.cuda, **about), (WITHOUT,))
    if cuda >= TURING_CUDA and device.compute_capability < TURING:
        return Obstacle("own-gpu", because("own-gpu-capability", wanted=TURING, **about), (WITHOUT,))
    return None


def against_constraints(constraints: Constraints, stack: str) -> Obstacle | None:
    """What conflicts with serving ``stack`` from the user's Python under these constraints, whatever that Python
    has.
    """
    if constraints.engine_python is None:
        return None
    if constraints.runtime not in (None, "native"):
        why = because("own-and-runtime", runtime=constraints.runtime)
        return Obstacle("own-runtime", why, (change(runtime="native"), WITHOUT))
    if not packages(stack):
        return Obstacle("own-stack", because("own-stack", stack=stack), (WITHOUT, *instead(stack)))
    if constraints.release:
        return Obstacle("own-runtime", because("own-and-release", release=constraints.release), (without("release"),))
    return None


def unknown(path: str) -> Obstacle:
    """A Python of another machine, of which nothing is known but its path."""
    return Obstacle("own-missing", because("own-unknown", path=path), (WITHOUT,))


def described(host: Host, path: str) -> EnginePython:
    """The description of the Python at ``path`` in ``host``.

    Raises:
        Refused: TW-A21 if it has none: the machine was described without it.
    """
    if (engine_python := known(host, path)) is None:
        raise Refused("TW-A21", HostError, replace(unknown(path), remedies=(do("plan-there"),)))
    return engine_python


def check(host: Host, constraints: Constraints) -> None:
    """Reject a Python that can serve none of the requested stacks.

    Args:
        host: The machine, with the Python's packages, see `wizard.probe.engine_python.with_python`.
        constraints: Its Python and stack.

    Raises:
        Refused: TW-A20 if other constraints conflict with it, TW-A21 if it has no engine, TW-A22 if that is too old,
            TW-A23 if the driver does not support its CUDA.
    """
    python = known(host, constraints.engine_python) if constraints.engine_python else None
    if python is None:
        return
    names = (constraints.stack,) if constraints.stack else tuple(filter(packages, stacks.names()))
    answers = [against_constraints(constraints, name) or obstacle(host, python, name) for name in names]
    problems = [problem for problem in answers if problem is not None]
    if len(problems) < len(answers):
        return
    _refuse(max(problems, key=lambda problem: ORDER.index(problem.code)))


ORDER = ("own-missing", "own-old", "own-cuda", "own-stack", "own-runtime")
"""Codes of obstacles; of several stacks the last in this order is reported: that stack came nearest to working."""


def _refuse(why: Obstacle) -> None:
    if why.code == "own-missing":
        raise Refused("TW-A21", HostError, why)
    if why.code == "own-old":
        raise Refused("TW-A22", HostError, why)
    if why.code == "own-cuda":
        raise Refused("TW-A23", HostError, why)
    raise Refused("TW-A20", UsageError, why)
