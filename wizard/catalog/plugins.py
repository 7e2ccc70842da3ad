"""The code of serving stacks, found by entry points: a stage looks up what it needs of a stack and never imports one.

A stack is a package that some distribution, this one or another, names under `GROUP`; the name is the stack's::

    [project.entry-points."triton_wizard.stacks"]
    vllm = "wizard.stacks.vllm"

What the package does for a stage is its *port*: the value `PORT` of its module that is named for the stage. Modules are
imported when a stage asks for them. A package without the module is a stack that does without that stage.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TypeVar

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr

GROUP = "triton_wizard.stacks"
PORT = "PORT"
T = TypeVar("T")


@lru_cache(maxsize=1)
def packages() -> dict[str, str]:
    """Name of each installed stack → its package; the first on ``sys.path`` hides its namesakes."""
    from importlib.metadata import entry_points  # 10 ms, which `--help` does not pay

    names: dict[str, str] = {}
    for entry in entry_points(group=GROUP):
        names.setdefault(entry.name, entry.value)
    return dict(sorted(names.items()))


def port(stack: str, stage: str, kind: type[T]) -> T | None:
    """What ``stack`` does for ``stage``; None if it does without that stage, or if there is no such stack.

    Args:
        stack: Its name.
        stage: The module's name in the stack's package: ``plan``, ``lint``, ``chat``, ``serve``.
        kind: What the stage takes.

    Raises:
        UsageError: TW-D30 if the package cannot be imported or its port is something else.
    """
    package = packages().get(stack)
    if package is None:
        return None
    name = f"{package}.{stage}"
    try:
        if find_spec(name) is None:
            return None
        value = getattr(import_module(name), PORT)
    except Exception as error:  # other people's code may fail in any way
        raise _damaged(stack, name, f"{type(error).__name__}: {error}") from error
    if not isinstance(value, kind):
        raise _damaged(stack, name, tr("{name} is not a {kind}", name=PORT, kind=kind.__name__))
    return value


def ports(stage: str, kind: type[T]) -> dict[str, T]:
    """`port` of every stack that has one for ``stage``, by the stack's name."""
    values = {stack: port(stack, stage, kind) for stack in packages()}
    return {stack: value for stack, value in values.items() if value is not None}


def _damaged(stack: str, module: str, why: str) -> UsageError:
    return UsageError(
        "TW-D30",
        tr("cannot load the serving stack {stack} from {module}: {why}", stack=stack, module=module, why=why),
        tr("Update or uninstall the package that provides it."),
    )
