"""Docker, podman, and GPUs in containers: what `wizard.plan.prerequisites` installs."""

from __future__ import annotations

from wizard.doctor.facts import Facts
from wizard.doctor.finding import Finding, failed, inapplicable, passed, unknown, warned
from wizard.plan.prerequisites import has_gpu, prerequisites, usable_engine


def docker(facts: Facts) -> Finding:
    """Whether this user may use Docker."""
    return _engine(facts, "docker")


def podman(facts: Facts) -> Finding:
    """Whether podman can start containers; its ``--init`` needs catatonit (podman-run(1))."""
    return _engine(facts, "podman")


def _engine(facts: Facts, name: str) -> Finding:
    """Images serve on GPUs; only a machine that has one needs an engine, and only one of the two."""
    host = facts.host
    engine = next((each for each in host.engines if each.name == name), None)
    usable = usable_engine(host)
    if engine is not None and engine.works:
        return passed(f"{name}.works", version=engine.server_version or "")
    if not has_gpu(host):
        return inapplicable(f"{name}.no-gpu")
    if engine is not None and usable:
        return warned(f"{name}.other-works", why=engine.problem or "", other=usable.name)
    if engine is not None:
        commands = _commands(facts, "engine") if engine is host.engines[0] else ()  # they are for the first one
        return failed(f"{name}.broken", *commands, why=engine.problem or "")
    if host.engines or host.system.container or name == "podman":
        return inapplicable(f"{name}.not-installed")
    return warned("docker.missing", *_commands(facts, "engine"))


def gpus(facts: Facts) -> Finding:
    """Whether containers get GPUs: the NVIDIA Container Toolkit, as Docker's runtime or as a CDI specification."""
    host, engine = facts.host, usable_engine(facts.host)
    if not has_gpu(host):
        return inapplicable("gpu-containers.no-gpu")
    if engine is None:
        return inapplicable("gpu-containers.no-engine")
    if engine.nvidia_runtime is None:
        return unknown("gpu-containers.unknown", engine=engine.name)
    if engine.nvidia_runtime:
        return passed("gpu-containers.work", engine=engine.name)
    return failed("gpu-containers.none", *_commands(facts, "toolkit"), engine=engine.name)


def _commands(facts: Facts, name: str) -> tuple[str, ...]:
    return next(item.commands for item in prerequisites(facts.host) if item.name == name)
