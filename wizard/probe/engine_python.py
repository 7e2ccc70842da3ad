"""A user's Python that may have an engine: inspected once, without importing any of its packages."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from wizard.catalog import stacks
from wizard.catalog.stack_facts import Native
from wizard.kernel.errors import UsageError
from wizard.kernel.language import join, tr
from wizard.kernel.text import one_line
from wizard.probe.ask import Answer, asking
from wizard.probe.host import EnginePython, Host

SECONDS = 20.0
"""Time limit for a named interpreter; on a network file system the first start takes seconds."""

_QUESTION = """
import ast, importlib.metadata, importlib.util, json, os, sys

packages = {}
for name in sys.argv[1:]:
    try:
        version = importlib.metadata.version(name)
    except Exception:
        continue
    if version:
        packages[name] = version
cuda = None
try:
    folder = next(iter(importlib.util.find_spec("torch").submodule_search_locations))
    with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
        lines = ast.parse(file.read()).body
    for line in lines:
        for target in getattr(line, "targets", None) or [getattr(line, "target", None)]:
            if getattr(target, "id", None) == "cuda":
                cuda = ast.literal_eval(line.value)
except Exception:
    pass
found = {"version": list(sys.version_info[:3]), "prefix": sys.prefix, "packages": packages}
print(json.dumps({**found, "cuda": cuda if isinstance(cuda, str) else None}))
"""
"""Prints a line of JSON. PyTorch writes its CUDA into ``torch/version.py`` (``torch.version.cuda``); importing
that module would import all of PyTorch, so the file is read. -I keeps variables and the user's own packages out, as
serving does.
"""


def _argv(path: str) -> tuple[str, ...]:
    return (path, "-I", "-c", _QUESTION, *packages())


def packages() -> tuple[str, ...]:
    """Distributions to look for: those that can serve one of the stacks, each stack's engine first."""
    known = [tuple(native.packages) for native in _natives()]
    engines, others = [names[0] for names in known], [name for names in known for name in names[1:]]
    return tuple(dict.fromkeys((*engines, *others)))


def _natives() -> list[Native]:
    return [native for name in stacks.native_stacks() if (native := stacks.facts(name).native)]


def questions(container: str | None) -> dict[str, tuple[str, ...]]:
    """Path of each Python that may have an engine → the command to inspect it.

    Args:
        container: The container that the wizard runs in (`System.container`): there ``python3`` on the path counts.
    """
    folders = [Path(folder) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if (folder := os.environ.get(name))]
    paths = [str(folder / "bin" / "python") for folder in folders if folder.is_absolute()]
    if container and (python := shutil.which("python3")):
        paths.append(python)
    return {path: _argv(path) for path in dict.fromkeys(paths) if os.access(path, os.X_OK)}


def read(answers: Mapping[str, Answer]) -> tuple[tuple[EnginePython, ...], str | None]:
    """(Pythons with an engine, one per environment; those that did not respond, with the reason)."""
    pythons: dict[str, EnginePython] = {}
    silent: list[str] = []
    for path, answer in answers.items():
        engine_python = _read(path, answer)
        if engine_python is None:
            silent.append(join(": ", path, _why(answer)))
        elif _has_engine(engine_python):
            pythons.setdefault(engine_python.prefix, engine_python)
    return tuple(pythons.values()), join("; ", *silent) or None


def _has_engine(python: EnginePython) -> bool:
    """Whether it can serve a stack.

    The wizard's own environment may have packages for the wizard itself: only those that would be offered count there.
    """
    its_own = os.path.realpath(python.prefix) == os.path.realpath(sys.prefix)
    return any(
        native.packages.keys() <= python.packages.keys() for native in _natives() if native.offered or not its_own
    )


def inspect(path: str) -> EnginePython:
    """Inspect the Python that was passed with ``--engine-python`` (some 0.1 s; at most `SECONDS`).

    Raises:
        UsageError: TW-P15 if it is not a working Python.
    """
    whole = absolute(path)
    with asking({path: _argv(whole)}, SECONDS) as questions:
        answer = questions[path].answer()
    engine_python = _read(whole, answer)
    if engine_python is None:
        inside, why = Path(whole, "bin", "python"), _why(answer).replace(whole, whole[:200])
        todo = tr("Pass the interpreter of the environment that has the engine, such as /opt/venv/bin/python.")
        if os.path.exists(inside):  # noqa: PTH110  # which raises nothing without permission, or if the name is too long
            todo = tr("This is a folder; pass its interpreter: --engine-python {path}.", path=inside)
        elif os.path.isdir(whole):  # noqa: PTH112
            why = tr("this is a folder without bin/python")
        raise UsageError(
            "TW-P15",
            tr("--engine-python {path} is not a Python interpreter: {why}", path=path[:200], why=why),
            todo,
        )
    return engine_python


def absolute(path: str) -> str:
    """The absolute ``path`` without resolving links: a virtual environment's Python is identified by its link.

    A bare name is looked up on ``PATH``, as in a shell.
    """
    if os.sep not in path:
        path = shutil.which(path) or path
    return str(Path(os.path.expanduser(path)).absolute())  # noqa: PTH111  # which leaves an unknown user's ~ alone


def known(host: Host, path: str) -> EnginePython | None:
    """The description of the Python at ``path`` in ``host``; None if it has none."""
    return next(
        (engine_python for engine_python in host.engine_pythons if engine_python.path in (path, absolute(path))), None
    )


def with_python(host: Host, path: str | None) -> Host:
    """``host`` with the description of the Python at ``path``, which is inspected if it is unknown and the machine is
    this one.

    Raises:
        UsageError: TW-P15 if it is not a Python.
    """
    if path is None or not host.is_here or known(host, path):
        return host
    return replace(host, engine_pythons=(*host.engine_pythons, inspect(path)))


def _read(path: str, answer: Answer) -> EnginePython | None:
    try:
        data = json.loads(answer.out.strip().splitlines()[-1])
        major, minor, micro = map(int, data["version"])
        packages = {str(name): str(version) for name, version in data["packages"].items()}
        return EnginePython(path, (major, minor, micro), str(data["prefix"]), packages, data["cuda"])
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _why(answer: Answer) -> str:
    """Why the output is not readable."""
    if answer.status is None:
        return answer.err
    lines = [one_line(line) for line in answer.err.splitlines() if line.strip()]
    if not lines:
        return tr("it returned no readable response (exit status {status})", status=answer.status)
    return lines[-1 if any(line.startswith("Traceback") for line in lines) else 0][:200]
