"""How Triton is started: alone for a single GPU, otherwise under MPI with a rank per GPU."""

from __future__ import annotations

from pathlib import Path

from wizard.plan.plan import Write
from wizard.plan.runtimes.runtime import EXIT_TIMEOUT_S
from wizard.stacks.trtllm import sources
from wizard.stacks.trtllm_engine.job import Call, Job

TOOL = "launch_triton_server.py"
SCRIPT = "launch_and_wait.py"
GRACE_S = EXIT_TIMEOUT_S
"""Seconds that MPI waits between SIGTERM and SIGKILL; its default is 1, too short for requests to finish."""
ENVIRONMENT = (("OMPI_MCA_odls_base_sigkill_timeout", str(GRACE_S)),)


def call(job: Job) -> Call:
    """Triton's ranks for the engine of ``job``."""
    program = (job.runtime.python, script_of(job))
    return job.call(TOOL, program, {"world_size": job.world, "model_repository": job.runtime.server.repository})


def script_of(job: Job) -> str:
    """NVIDIA's script that starts the ranks."""
    return str(job.scripts / "scripts" / TOOL)


def argv(job: Job) -> tuple[str, ...] | None:
    """The command that starts Triton, or None if it is started directly."""
    if job.world == 1:
        return None
    ours = str(sources.folder(job.runtime) / SCRIPT)
    return (job.runtime.python, ours, script_of(job), *call(job).words)


def script(job: Job) -> tuple[Write, ...]:
    """Copy the script that starts and waits, if there are ranks."""
    return (sources.ours(job.runtime, Path(__file__).with_name(SCRIPT)),) if job.world > 1 else ()
