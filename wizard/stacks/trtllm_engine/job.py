"""Data shared by all steps of an engine: the model, the release, the folders, and how to call a tool."""

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
    """A call of a tool.

    Attributes:
        tool: Its file name.
        program: Program and arguments that start it.
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
        """The arguments as passed to the program."""
        return tuple(word for pair in self.arguments for word in pair if word is not None)


def flags_of(names: Mapping[str, str], values: Mapping[str, object]) -> tuple[tuple[str, str | None], ...]:
    """``values`` by meaning as flags; None, False, and meanings without a flag in this release are omitted."""
    given = {meaning: value for meaning, value in values.items() if meaning in names and value not in (None, False)}
    return tuple((names[meaning], None if value is True else str(value)) for meaning, value in given.items())


@dataclass(frozen=True, slots=True)
class Job:
    """An engine to build: the model, the release's tools, the GPUs, and all paths.

    Attributes:
        choice: The choice.
        facts: The model.
        version: TensorRT-LLM's version in the image.
        family: The family whose script converts the model.
        tools: The release's tools.
        runtime: The runtime of the commands.
        options: A recipe's options beyond the choice.
        model: The folder with weights, configuration and tokenizer.
        reads: Paths outside the workspace that must be readable.
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
        """Ranks of the engine, one per GPU."""
        return self.choice.tp * self.choice.pp

    @property
    def quantization(self) -> str:
        """The target format of the weights."""
        return self.choice.quantization or "none"

    @property
    def fp8_cache(self) -> bool:
        """Whether the KV cache is stored in FP8."""
        return self.choice.kv_cache_dtype == "fp8"

    @property
    def as_published(self) -> bool:
        """Whether the repository is already quantized."""
        return self.facts.quantization is not None

    @property
    def calibrated(self) -> bool:
        """Whether ``quantize.py`` creates the checkpoint: the format or the KV cache needs calibrated scales."""
        row = self.tools.format(self.quantization)
        needs_scales = self.fp8_cache or (row is not None and row.precision is None)
        return needs_scales and not self.as_published

    @property
    def scripts(self) -> Path:
        """Folder of NVIDIA's scripts."""
        return self.runtime.server.root / "tools"

    @property
    def checkpoint(self) -> Path:
        """The weights in TensorRT-LLM's own format, split into ranks."""
        return self.runtime.server.root / "checkpoint"

    @property
    def engine(self) -> Path:
        """The engine."""
        return self.runtime.server.root / "engine"

    @property
    def weight_bytes(self) -> int:
        """Bytes of the weights in the target format, on all GPUs together."""
        return self.choice.memory.weights_bytes * self.world

    @property
    def example(self) -> Path:
        """The folder of the family's script."""
        return self.scripts / "examples" / (folder(self.family, self.version) or self.family.name)

    def names(self, tool: str) -> dict[str, str]:
        """Meaning → flag of ``tool`` in this release, for this family."""
        return self.tools.names(tool, self.version, self.family.name)

    def call(self, tool: str, program: Sequence[str], values: Mapping[str, object]) -> Call:
        """A call of ``tool`` with ``values`` by their meanings."""
        return Call(tool, tuple(program), flags_of(self.names(tool), values))

    def command(self, step: str, argv: Sequence[str], *, gpus: int) -> Command:
        """``argv`` in the tools' environment, with ``quantize.py``'s own library if the image lacks it."""
        path = (("PYTHONPATH", str(self.scripts / "python")),) if self.needs_library else ()
        writes = (self.runtime.server.root,)
        return self.runtime.command(step, argv, env=path, reads=self.reads, writes=writes, gpus=gpus)

    @property
    def needs_library(self) -> bool:
        """Whether ``quantize.py`` runs and imports a package that the image lacks."""
        return self.calibrated and self.tools.library(self.version) is not None


def whole(target: Path, command: Command) -> tuple[Command, ...]:
    """``command``, which writes to `partial` of ``target``, so that ``target`` only exists when it is complete."""
    return (
        Command(("rm", "-rf", str(partial(target)), str(target))),
        command,
        Command(("mv", "-T", str(partial(target)), str(target))),
    )


def partial(target: Path) -> Path:
    """Temporary path of ``target``."""
    return target.with_name(f"{target.name}.partial")
