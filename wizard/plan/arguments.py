"""Before anything is fetched: does the very engine that will serve know the arguments that it will be given?"""

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
    """Ask the engine once for each of its environments and each set of arguments: importing it takes a while.

    Args:
        engine: Its name for people.
        runtime: Where its interpreter is.
        script: Python code that gets the names as JSON and fails with a sentence on those that are not known.
        arguments: The names.
        estimate: Of the step.
        env: Variables of the interpreter.
        gpus: GPUs that it sees in a container.
    """
    names = sorted(arguments)
    checked = str(runtime.checked / f"arguments-{fingerprint([runtime.python, script, names])}")
    return Step(
        id="check",
        title=tr("Check {engine}'s arguments", engine=engine),
        why=tr(
            "A single argument unknown to this {engine} prevents it from loading. The check runs now, before the "
            "model download.",
            engine=engine,
        ),
        actions=(
            # A container sees them, and a plan that is pasted line by line has not made them.
            Command(("mkdir", "-p", str(runtime.workspace.models), str(runtime.server.root))),
            runtime.command("check", (runtime.python, "-c", script, json.dumps(names)), env=env, gpus=gpus),
            Write(checked, "\n".join((*names, ""))),
        ),
        done=Done(files=(checked,)),
        estimate=estimate,
        identity=checked,
        reads=runtime.needs,
    )
