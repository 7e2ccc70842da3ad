"""This machine as a `Host`."""

from __future__ import annotations

from pathlib import Path

from wizard.kernel.language import tr
from wizard.probe import engine_python, engines, gpus, interpreters, ports, processor, system
from wizard.probe.ask import asking
from wizard.probe.host import Host
from wizard.probe.other_gpus import other_gpus


def describe(workspace: Path) -> Host:
    """Describe this machine and the disk at ``workspace``.

    Other programs (docker, podman, interpreters) are started first and read last, each with a time limit, so that
    everything else runs meanwhile. Failures are recorded in the value; nothing is raised.
    """
    with (
        asking(engines.questions()) as asked_engines,
        asking(interpreters.questions()) as asked_interpreters,
        asking(engine_python.questions(system.container())) as asked_pythons,
    ):
        memory = processor.memory()
        part = gpus.find(memory)
        cpu = processor.cpu()
        busy = tuple(port for port in ports.TRITON_PORTS if not ports.is_free(port))
        pythons, silent = interpreters.read({path: question.answer() for path, question in asked_interpreters.items()})
        engine_pythons, mute = engine_python.read({path: question.answer() for path, question in asked_pythons.items()})
        container_engines = engines.read({key: question.answer() for key, question in asked_engines.items()})
    unknown = dict(part.unknown)
    if cpu.model is None:
        unknown["cpu.model"] = tr("/proc/cpuinfo contains no model name")
    if None in memory:
        unknown["memory_total_bytes"] = unknown["memory_available_bytes"] = tr("cannot read /proc/meminfo")
    if silent:
        unknown["interpreters"] = silent
    if mute:
        unknown["engine_pythons"] = mute
    return Host(
        cpu=cpu,
        memory_total_bytes=memory[0],
        memory_available_bytes=memory[1],
        disk=system.disk(workspace),
        system=system.system(),
        gpus=part.gpus,
        gpu_links=part.links,
        gpu_problem=part.problem,
        other_gpus=other_gpus(),
        driver_version=part.driver_version,
        cuda_driver_version=part.cuda_driver_version,
        engines=container_engines,
        interpreters=pythons,
        engine_pythons=engine_pythons,
        busy_ports=busy,
        unknown=unknown,
    )
