"""The driver, its parts, and the CUDA toolkit."""

from __future__ import annotations

import re

from wizard.doctor.checks.without import without_gpus
from wizard.doctor.facts import Facts
from wizard.doctor.finding import Finding, failed, inapplicable, passed, unknown, warned
from wizard.plan.prerequisites import has_gpu, prerequisites
from wizard.probe.host import NO_GPU

_FIXED_BY = {"TW-P02": "driver-not-communicating", "TW-P03": "nvml-driver-library-mismatch"}
"""Code of the probe's problem → the failure whose command fixes it."""
_MISMATCH = "TW-P03"
_NO_LIBRARY = "TW-P01"


def driver(facts: Facts) -> Finding:
    """Whether NVML, NVIDIA's management library, works."""
    host = facts.host
    problem = host.gpu_problem
    if problem is not None and problem.code == NO_GPU:
        return inapplicable("driver.no-gpu")
    if problem is not None:
        missing = problem.code == _NO_LIBRARY and not host.system.container and not host.system.wsl2
        commands = next(item.commands for item in prerequisites(host) if item.name == "driver") if missing else ()
        known = _FIXED_BY.get(problem.code, "")
        return failed("driver.broken", *commands, known=known, what=problem.what, todo=problem.todo)
    if host.driver_version is None:
        return unknown("driver.unknown", why=host.unknown.get("driver_version", ""))
    return passed("driver.works", version=host.driver_version, cuda=host.cuda_driver_version or "")


def versions(facts: Facts) -> Finding:
    """Whether kernel module and library have the same version, which NVML requires (nvml.h,
    NVML_ERROR_LIB_RM_VERSION_MISMATCH).
    """
    host, module, library = facts.host, facts.kernel.module_version, facts.kernel.library_version
    problem = host.gpu_problem
    if problem is None and host.driver_version is not None:
        return passed("driver-versions.same", version=host.driver_version)
    if problem is not None and problem.code == _MISMATCH:
        known = _FIXED_BY[_MISMATCH]
        return failed("driver-versions.differ", known=known, module=module or "?", library=library or "?")
    if module is None and library is None and not has_gpu(host):
        return inapplicable("driver-versions.none")
    if module is None or library is None:
        return unknown("driver-versions.unknown", module=module or "?", library=library or "?")
    if module == library:
        return passed("driver-versions.same", version=module)
    return failed("driver-versions.differ", known=_FIXED_BY[_MISMATCH], module=module, library=library)


def responding(facts: Facts) -> Finding:
    """Whether every GPU responds: one that fell off the bus has no memory to report."""
    gpus = facts.host.gpus
    silent = {gpu.index: gpu.unknown.get("memory_total_bytes", "") for gpu in gpus if gpu.memory_total_bytes is None}
    if silent:
        why = next(iter(silent.values()))
        return failed("gpus.silent", "sudo dmesg | grep -i xid", gpus=tuple(silent), why=why)
    if gpus:
        return passed("gpus.respond", count=len(gpus))
    if facts.host.driver_version is not None and facts.host.gpu_problem is None:
        return warned("gpus.none")
    return without_gpus(facts.host, "gpus")


def toolkit(facts: Facts) -> Finding:
    """Whether an installed CUDA toolkit is older than the driver.

    Programs compiled by a toolkit with a newer major version than the driver's do not run
    (docs.nvidia.com/deploy/cuda-compatibility).
    """
    version, newest = facts.kernel.toolkit, facts.host.cuda_driver_version
    if version == "":
        return inapplicable("cuda-toolkit.none")
    if not has_gpu(facts.host):
        return inapplicable("cuda-toolkit.no-gpu")
    if version is None:
        return unknown("cuda-toolkit.unreadable")
    if newest is None:
        return unknown("cuda-toolkit.no-driver", version=version)
    if _major(version) > _major(newest):
        return warned("cuda-toolkit.newer", version=version, cuda=newest)
    return passed("cuda-toolkit.fits", version=version, cuda=newest)


def _major(version: str) -> int:
    match = re.match(r"\d+", version)
    return int(match[0]) if match else 0
