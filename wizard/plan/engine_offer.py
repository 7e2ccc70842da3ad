"""Offer an existing engine, in an active environment or in the container that the wizard runs in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from wizard.advise import engine_python
from wizard.advise.advice import Constraints
from wizard.advise.devices import devices
from wizard.advise.release import no_containers
from wizard.catalog.environments import environment
from wizard.catalog.stacks import facts as facts_of
from wizard.catalog.stacks import native_stacks
from wizard.kernel.language import tr
from wizard.kernel.text import one_line
from wizard.kernel.units import size
from wizard.model.facts import ModelFacts
from wizard.plan.questions import ENGINE_PYTHON, NO_PYTHON, constraints
from wizard.probe.host import EnginePython, Host


@dataclass(frozen=True, slots=True)
class Offer:
    """The question whether to use an existing engine; the first answer is the default.

    Attributes:
        question: The question.
        options: Answers to `wizard.plan.questions.ENGINE_PYTHON`, each with its text.
    """

    question: str
    options: tuple[tuple[str, str], ...]


def offer(host: Host, facts: ModelFacts, known: Mapping[str, object]) -> Offer | None:
    """The question to ask before the advice; None if it is answered, or no engine could serve.

    Args:
        host: The machine, with the Pythons that its probe found.
        facts: The model; llama.cpp, which serves GGUF files, is in Triton's environment.
        known: All answers so far.

    Raises:
        UsageError: TW-U31 or TW-U32 if an answer does not fit.
    """
    if ENGINE_PYTHON.name in known or any(file.format == "gguf" for file in facts.weights):
        return None
    usable = next(_usable(host, constraints(known)), None)
    if usable is None:
        return None
    python, stack = usable
    values = {"engine": engine_python.title(python, stack), "prefix": one_line(python.prefix)}
    new = tr("NVIDIA's image with its own engine")
    if no_containers(host):
        download = environment(stack).download_bytes
        new = tr("a new environment ({size} to download)", size=size(download)) if download else tr("a new environment")
    return Offer(
        tr("Found {engine} in {prefix}. Use it?", **values),
        (
            (python.path, tr("{engine} in {prefix} (no download)", **values)),
            (NO_PYTHON, new[:1].upper() + new[1:]),
        ),
    )


def hint(host: Host, stack: str) -> tuple[str, ...]:
    """A hint if no question is asked: an existing engine of ``stack`` that is not used."""
    constraints = Constraints(stack=stack)
    return tuple(
        tr(
            "{engine} is in {prefix}: use --engine-python {path} to serve with it instead of downloading an engine.",
            engine=engine_python.title(python, stack),
            prefix=one_line(python.prefix),
            path=python.path,
        )
        for python, _ in _usable(host, constraints)
    )


def _usable(host: Host, constraints: Constraints) -> Iterator[tuple[EnginePython, str]]:
    """Pythons with an engine that could serve on this machine's GPUs, and the stack."""
    stacks = [
        name for name in native_stacks() if name == constraints.stack or (constraints.stack is None and _offered(name))
    ]
    if constraints.release or constraints.runtime not in (None, "native"):
        return
    gpus = devices(host)
    for python in host.engine_pythons:
        if any(engine_python.gpu_obstacle(gpu, python) is None for gpu in gpus):
            yield from ((python, stack) for stack in stacks if engine_python.obstacle(host, python, stack) is None)


def _offered(stack: str) -> bool:
    native = facts_of(stack).native
    return native is not None and native.offered
