"""What all steps of an engine share: the model, the release, the folders, and how a tool is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wizard.advise.advice import Choice
from wizard.catalog.trtllm_tools import Family, Tools, folder
from wizard.model.facts import ModelFacts
from wizard.plan.options import Options
from wizard.plan.plan import Command
from wizard.plan.runtimes.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Call:
    """One tool, told something.

    Attributes:
        tool: Its file name.
        program: What starts it.
        arguments: Flags with their values; None for a switch.
    """

    tool: str
    program: tuple[str, ...]
    arguments: tuple[tuple[str, str | None], ...]

    @property
    def argv(self) -> tuple[str, ...]:
        """Program and arguments."""
        return (*self.program, *self.words)

    @property
    def words(self) -> tuple[str, ...]:
        """The arguments as they are given to the program."""
        return tuple(word for pair in self.arguments for word in pair if word is not None)


def flags_of(names: Mapping[str, str], values: Mapping[str, object]) -> tuple[tuple[str, str | None], ...]:
    """``values`` by meaning as flags; what is None or False, or has no flag in this release, is not said."""
    given = {meaning: value for meaning, value in values.items() if meaning in names and value not in (None, False)}
    return tuple((names[meaning], None if value is True else str(value)) for meaning, value in given.items())


@dataclass(frozen=True, slots=True)
class Job:
    """One engine: from which model, by which release's tools, for which GPUs, and where everything lies.

    Attributes:
        choice: What was chosen.
        facts: The model.
        version: TensorRT-LLM's version in the image.
        family: Whose script converts the model.
        tools: What the release's tools are called.
        runtime: Where the commands run.
        options: What a recipe settles beyond the choice.
        model: The folder with weights, configuration and tokenizer.
        reads: What must be readable beside the workspace.
    """

    choice: Choice
    facts: ModelFacts
    version: str
    family: Family
    tools: Tools
    runtime: Runtime
    options: Options
    model: Path
    reads: tuple[Path, ...] = ()

    @property
    def world(self) -> int:
        """Ranks of the engine, one for each GPU."""
        return self.choice.tp * self.choice.pp

    @property
    def quantization(self) -> str:
        """The format that the weights get."""
        return self.choice.quantization or "none"

    @property
    def fp8_cache(self) -> bool:
        """The KV cache is kept in FP8."""
        return self.choice.kv_cache_dtype == "fp8"

    @property
    def as_published(self) -> bool:
        """The repository is quantised already."""
        return self.facts.quantization is not None

    @property
    def calibrated(self) -> bool:
        """``quantize.py`` makes the checkpoint: the format or the KV cache needs scales that are measured."""
        row = self.tools.format(self.quantization)
        needs_scales = self.fp8_cache or (row is not None and row.precision is None)
        return needs_scales and not self.as_published

    @property
    def scripts(self) -> Path:
        """Where NVIDIA's scripts are brought to."""
        return self.runtime.server.root / "tools"

    @property
    def checkpoint(self) -> Path:
        """TensorRT-LLM's own form of the weights, split into ranks."""
        return self.runtime.server.root / "checkpoint"

    @property
    def engine(self) -> Path:
        """The engine."""
        return self.runtime.server.root / "engine"

    @property
    def weight_bytes(self) -> int:
        """Bytes of the weights in the format that they get, on all GPUs together."""
        return self.choice.memory.weights_bytes * self.world

    @property
    def example(self) -> Path:
        """The folder of the family's script."""
        return self.scripts / "examples" / (folder(self.family, self.version) or self.family.name)

    def names(self, tool: str) -> dict[str, str]:
        """Meaning → flag of ``tool`` in this release, for this family."""
        return self.tools.names(tool, self.version, self.family.name)

    def call(self, tool: str, program: Sequence[str], values: Mapping[str, object]) -> Call:
        """``tool`` told ``values`` by their meanings."""
        return Call(tool, tuple(program), flags_of(self.names(tool), values))

    def command(self, step: str, argv: Sequence[str], *, gpus: int) -> Command:
        """``argv`` where the tools are, with ``quantize.py``'s own library where the image lacks it."""
        path = (("PYTHONPATH", str(self.scripts / "python")),) if self.needs_library else ()
        writes = (self.runtime.server.root,)
        return self.runtime.command(step, argv, env=path, reads=self.reads, writes=writes, gpus=gpus)

    @property
    def needs_library(self) -> bool:
        """``quantize.py`` runs, and imports what the image does not have."""
        return self.calibrated and self.tools.library(self.version) is not None


def whole(target: Path, command: Command) -> tuple[Command, ...]:
    """``command``, which writes to `partial` of ``target``, so that ``target`` is there only when it is whole."""
    return (
        Command(("rm", "-rf", str(partial(target)), str(target))),
        command,
        Command(("mv", "-T", str(partial(target)), str(target))),
    )


def partial(target: Path) -> Path:
    """Where ``target`` is made."""
    return target.with_name(f"{target.name}.partial")
