"""A check before any long step: whether the image's tools support the flags that the plan will use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from wizard.kernel.language import tr
from wizard.plan.artefacts import SCRIPTS
from wizard.plan.plan import Done, Estimate, Step, Write
from wizard.plan.runtimes.runtime import Runtime
from wizard.stacks.trtllm import sources
from wizard.stacks.trtllm_engine.job import Call, Job

SCRIPT = "check_tools.py"


def step(job: Job, calls: Sequence[Call], programs: Sequence[str] = ()) -> Step:
    """Compare ``calls`` with the ``--help`` of each tool in the image; ``programs`` must exist."""
    root = sources.folder(job.runtime)
    expected = root / "expected.json"
    tools = [{"tool": call.tool, "program": call.program, "arguments": call.arguments} for call in calls]
    text = json.dumps({"image": job.choice.release, "tools": tools, "programs": list(programs)}, indent=1)
    checked = root / "checked"
    return Step(
        id="check",
        title=tr("Check the tools' flags"),
        why=(
            tr(
                "Releases rename and remove flags of these tools. This step runs each tool's --help in the serving "
                "image and compares the output with this plan, so a mistake shows up now instead of an hour later."
            )
        ),
        actions=(
            Write(str(expected), f"{text}\n"),
            # A GPU is needed although nothing computes: tensorrt_llm cannot be imported without the driver's libraries.
            job.command("check", (job.runtime.python, str(root / SCRIPT), str(expected)), gpus=1),
            Write(str(checked), f"{job.choice.release}\n"),
        ),
        done=Done(files=(str(expected), str(checked))),
        estimate=Estimate(0, unknown=True),
        reads=(*job.runtime.needs, SCRIPTS),
    )


def script(runtime: Runtime) -> Write:
    """Copy the check script."""
    return sources.ours(runtime, Path(__file__).with_name(SCRIPT))
