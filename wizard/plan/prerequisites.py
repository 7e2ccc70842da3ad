"""The prerequisites of GPU containers that a machine lacks, and the commands to install them. Nothing here runs
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from wizard.catalog.prerequisites import Commands, DistributionCommands, commands
from wizard.kernel.language import tr
from wizard.probe.engines import NO_INIT, NO_RIGHTS
from wizard.probe.host import NO_GPU, ContainerEngine, Host

GUIDE = "docs.nvidia.com/datacenter/tesla/driver-installation-guide"


@dataclass(frozen=True, slots=True)
class Prerequisite:
    """A prerequisite.

    Attributes:
        name: ``driver``, ``engine``, ``toolkit``.
        title: Display name.
        met: Whether it is installed.
        found: What was found or is missing, as text.
        why: Its purpose.
        commands: Shell lines that install it on this distribution; empty if it is installed, or if none are known.
        source: Source of the commands.
        needed: False on a machine without an NVIDIA GPU: the CPU serves there, without containers.
    """

    name: str
    title: str
    met: bool
    found: str
    why: str
    commands: tuple[str, ...] = ()
    source: str | None = None
    needed: bool = True


def prerequisites(host: Host) -> tuple[Prerequisite, ...]:
    """The prerequisites of `host`, in installation order."""
    known = commands()
    family = known.of(host.system.name)
    engine = usable_engine(host) or next(iter(host.engines), None)
    driver, installed = _driver(host, family), _engine(engine, known, family)
    if has_gpu(host):
        return driver, installed, _toolkit(engine, known, family)
    return _unneeded(driver), replace(installed, needed=False), _unneeded(_toolkit(engine, known, None))


def has_gpu(host: Host) -> bool:
    """Whether ``host`` has an NVIDIA GPU, or may have one: without a working driver only its bus shows one."""
    if host.gpus or host.driver_version:
        return True
    return host.gpu_problem is not None and host.gpu_problem.code != NO_GPU


def _unneeded(item: Prerequisite) -> Prerequisite:
    """``item`` on a machine where it would be useless."""
    return replace(item, needed=False, commands=(), source=None)


def usable_engine(host: Host) -> ContainerEngine | None:
    """The container engine to use: one that works with GPUs, else one that works."""
    answering = [engine for engine in host.engines if engine.works]
    return next((engine for engine in answering if engine.nvidia_runtime), next(iter(answering), None))


def _driver(host: Host, family: DistributionCommands | None) -> Prerequisite:
    why = tr("The driver must be installed on this machine; CUDA and all other libraries are in the image.")
    title = tr("NVIDIA driver")
    if host.driver_version:
        return Prerequisite("driver", title, True, f"driver {host.driver_version}", why)
    state = host.gpu_problem.what if host.gpu_problem else tr("no driver detected")
    lines, source = (family.driver, family.driver_source) if family else ((), GUIDE)
    return Prerequisite("driver", title, False, state, why, lines, source)


def _engine(engine: ContainerEngine | None, known: Commands, family: DistributionCommands | None) -> Prerequisite:
    why = tr("Triton's images run as containers, so the software versions in them never conflict with yours.")
    title = tr("Container engine")
    if engine is None:
        lines, source = (family.docker, family.docker_source) if family else ((), "docs.docker.com/engine/install")
        state = tr("neither docker nor podman is installed")
        return Prerequisite("engine", title, False, state, why, (*lines, *known.common.group[:1]), source)
    if engine.works:
        return Prerequisite("engine", title, True, f"{engine.name} {engine.server_version}", why)
    problem = engine.problem or tr("{name} does not respond", name=engine.name)
    if engine.obstacle == NO_INIT:
        lines, source = (
            (family.podman_init, family.podman_init_source) if family else ((), "podman-run(1), --init: catatonit")
        )
        return Prerequisite("engine", title, False, problem, why, lines, source)
    start = known.common.start if engine.name == "docker" else ()
    lines = known.common.group if engine.obstacle == NO_RIGHTS else start
    return Prerequisite("engine", title, False, problem, why, lines, "docs.docker.com/engine/install/linux-postinstall")


def _toolkit(engine: ContainerEngine | None, known: Commands, family: DistributionCommands | None) -> Prerequisite:
    why = tr("The NVIDIA Container Toolkit gives containers access to GPUs and driver libraries.")
    title = tr("NVIDIA Container Toolkit")
    if engine and engine.nvidia_runtime:
        return Prerequisite("toolkit", title, True, tr("{name} supports GPUs in containers", name=engine.name), why)
    podman = bool(engine and engine.name == "podman")
    configure = known.common.podman_runtime if podman else known.common.docker_runtime
    lines = (*family.toolkit, *configure) if family else ()
    if lines and not podman:
        why += " " + tr(
            "Restarting Docker stops all containers on this machine, including other served models, unless its "
            "live-restore option is on (it is off by default)."
        )
    name = engine.name if engine else tr("the container engine")
    state = tr("{name} has no NVIDIA runtime", name=name)
    return Prerequisite("toolkit", title, False, state, why, lines, known.common.toolkit_source)
