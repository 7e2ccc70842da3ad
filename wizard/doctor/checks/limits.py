"""What this user's processes may use (getrlimit(2), ulimit)."""

from __future__ import annotations

from wizard.doctor.facts import UNLIMITED, Facts
from wizard.doctor.finding import Finding, inapplicable, passed, unknown, warned

OPEN_FILES = 65_535
"""What vLLM raises its own soft limit to, if the hard limit allows (vllm/utils, ``set_ulimit``)."""


def open_files(facts: Facts) -> Finding:
    """The hard limit on open files: connections of users and parts of a model count, too."""
    limits = facts.kernel.open_files
    if limits is None:
        return unknown("nofile.unknown")
    soft, hard = limits
    if hard != UNLIMITED and hard < OPEN_FILES:
        return warned("nofile.low", hard=hard, wanted=OPEN_FILES)
    return passed("nofile.unlimited") if hard == UNLIMITED else passed("nofile.enough", soft=soft, hard=hard)


def locked_memory(facts: Facts) -> Finding:
    """Memory that a process may lock, which NCCL needs to register buffers for InfiniBand
    (docs.nvidia.com/deeplearning/nccl, troubleshooting).
    """
    limit = facts.kernel.locked_bytes
    if not facts.kernel.has_infiniband:
        return inapplicable("memlock.no-infiniband")
    if limit is None:
        return unknown("memlock.unknown")
    if limit == UNLIMITED:
        return passed("memlock.unlimited")
    return warned("memlock.low", limit_bytes=limit)
