"""The user's own Python as the engine's environment: it is checked once, unmodified, and nothing is installed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from wizard.catalog.environments import Environment
from wizard.kernel.language import tr
from wizard.kernel.values import fingerprint
from wizard.plan.artefacts import ENGINE_ENVIRONMENT
from wizard.plan.plan import Command, Done, Estimate, Step
from wizard.probe.host import EnginePython

SEES_GPUS = """
import sys, torch
if not torch.cuda.is_available():
    sys.exit(f"PyTorch {torch.__version__} (CUDA {torch.version.cuda}) detects no GPU here")
major, minor = torch.cuda.get_device_capability()
built = torch.cuda.get_arch_list()
if not any(name.startswith((f"sm_{major}", "compute_")) for name in built):
    sys.exit(f"PyTorch {torch.__version__} has no code for compute capability {major}.{minor}: {built}")
"""
"""Code is for one major version of the compute capability (``sm_90``) unless there is PTX (``compute_90``), which the
driver compiles."""


def kept(folder: Path, python: EnginePython) -> Path:
    """The file that records the check of ``python`` in its current state; ``folder`` is that of environments."""
    return folder / f"own-{fingerprint(python)}"


def check_step(folder: Path, engine: Environment, python: EnginePython, *, gpus: Mapping[str, str]) -> Step:
    """The step that checks the user's Python; it stays done until the Python or its packages change.

    Args:
        folder: The folder of environments, in which a file records that it is done.
        engine: The engine's requirements.
        python: The Python.
        gpus: Environment variables that select its GPUs; empty: it computes without GPUs.
    """
    codes = [code for code in (engine.before, SEES_GPUS if gpus else "", engine.check) if code]
    made = kept(folder, python) / f"imports-{fingerprint(codes)}"
    return Step(
        id="engine-environment",
        title=tr("Check the engine's environment"),
        why=tr(
            "{path} already has the engine, so nothing is installed. The check imports it now, before the model "
            "download, to find problems early.",
            path=python.path,
        ),
        actions=(
            # -I: as the server starts it, without PYTHONPATH and the user's own packages.
            *(Command((python.path, "-I", "-c", code), env=tuple(gpus.items())) for code in codes),
            Command(("mkdir", "-p", str(made.parent))),
            Command(("touch", str(made))),
        ),
        done=Done(files=(python.path, str(made))),
        estimate=Estimate(30),
        identity=str(made),
        reads=(python.path,),
        writes=(ENGINE_ENVIRONMENT,),
    )
