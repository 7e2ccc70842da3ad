"""The code of serving stacks, found by entry points: a stage looks up the code of a stack and never imports it
directly.

A stack is a package that a distribution, this one or another, registers under `GROUP` with the stack's name::

    [project.entry-points."triton_wizard.stacks"]
    vllm = "wizard.stacks.vllm"

The package's interface for a stage is its *port*: the value `PORT` of the module with the stage's name. Modules are
imported on first use. A stack whose package lacks the module does not take part in that stage.
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
    """Installed stack name → package; the first on ``sys.path`` hides others with the same name."""
    from importlib.metadata import entry_points  # 10 ms, which `--help` avoids

    names: dict[str, str] = {}
    for entry in entry_points(group=GROUP):
        names.setdefault(entry.name, entry.value)
    return dict(sorted(names.items()))


def port(stack: str, stage: str, kind: type[T]) -> T | None:
    """The port of ``stack`` for ``stage``; None if it has none, or if the stack is unknown.

    Args:
        stack: Its name.
        stage: The module's name in the stack's package: ``plan``, ``lint``, ``chat``, ``serve``.
        kind: The port's expected type.

    Raises:
        UsageError: TW-D30 if the package cannot be imported or its port has another type.
    """
    package = packages().get(stack)
    if package is None:
        return None
    name = f"{package}.{stage}"
    try:
        if find_spec(name) is None:
            return None
        value = getattr(import_module(name), PORT)
    except Exception as error:  # third-party code may fail in any way
        raise _damaged(stack, name, f"{type(error).__name__}: {error}") from error
    if not isinstance(value, kind):
        raise _damaged(stack, name, tr("{name} is not a {kind}", name=PORT, kind=kind.__name__))
    return value


def ports(stage: str, kind: type[T]) -> dict[str, T]:
    """The ports of all stacks that have one for ``stage``, by stack name."""
    values = {stack: port(stack, stage, kind) for stack in packages()}
    return {stack: value for stack, value in values.items() if value is not None}


def _damaged(stack: str, module: str, why: str) -> UsageError:
    return UsageError(
        "TW-D30",
        tr("cannot load the serving stack {stack} from {module}: {why}", stack=stack, module=module, why=why),
        tr("Update or uninstall the package that provides it."),
    )
