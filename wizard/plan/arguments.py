"""A check before any download: whether the engine supports the arguments that the plan will pass."""

from __future__ import annotations

import json
from collections.abc import Iterable

from wizard.kernel.language import tr
from wizard.kernel.values import fingerprint
from wizard.plan.plan import Command, Done, Estimate, Step, Write
from wizard.plan.runtimes.runtime import Runtime


def check_step(
    engine: str,
    runtime: Runtime,
    script: str,
    arguments: Iterable[str],
    estimate: Estimate,
    *,
    env: tuple[tuple[str, str], ...] = (),
    gpus: int,
) -> Step:
    """Check once per engine environment and set of arguments: importing the engine takes a while.

    Args:
        engine: Its display name.
        runtime: The runtime with its interpreter.
        script: Python code that gets the names as JSON and fails with a sentence about unknown ones.
        arguments: The names.
        estimate: Estimate of the step.
        env: Environment variables of the interpreter.
        gpus: Number of GPUs that it sees in a container.
    """
    names = sorted(arguments)
    checked = str(runtime.checked / f"arguments-{fingerprint([runtime.python, script, names])}")
    return Step(
        id="check",
        title=tr("Check {engine}'s arguments", engine=engine),
        why=tr(
            "A single argument that this {engine} version does not support prevents the model from loading. The "
            "check runs now, before the model download.",
            engine=engine,
        ),
        actions=(
            # A container sees them, and a plan that is pasted line by line has not created them.
            Command(("mkdir", "-p", str(runtime.workspace.models), str(runtime.server.root))),
            runtime.command("check", (runtime.python, "-c", script, json.dumps(names)), env=env, gpus=gpus),
            Write(checked, "\n".join((*names, ""))),
        ),
        done=Done(files=(checked,)),
        estimate=estimate,
        identity=checked,
        reads=runtime.needs,
    )
