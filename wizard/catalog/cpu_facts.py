"""How a serving stack works from the host's memory, also with layers on a GPU: ``[cpu]`` of a
``profiles/stacks/NAME.toml``.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CpuSpeed:
    """Constants of an engine's speed on the CPU; formulas: `wizard.advise.cpu_speed`.

    Attributes:
        decode_weights: Weights that a core multiplies per second with one token, in addition to reading them.
        prefill_weights: Weights that it multiplies per second with the tokens of a prompt, per token.
        layer_us: Microseconds per layer in which threads wait for each other.
        spread: Half of the range, as a factor minus 1.
    """

    decode_weights: float
    prefill_weights: float
    layer_us: float
    spread: float
    source: str


@dataclass(frozen=True, slots=True)
class OffloadSpeed:
    """Constants of an engine's speed with layers on a GPU; formulas: `wizard.advise.offload_speed`.

    Attributes:
        share: Share of the GPU's memory bandwidth at which weights are read.
        hbm_share: The same of GPUs with HBM.
        layer_us: Microseconds per layer besides.
        spread: Half of the range, as a factor minus 1.
    """

    share: float
    hbm_share: float
    layer_us: float
    spread: float
    source: str


@dataclass(frozen=True, slots=True)
class Offload:
    """How a stack that serves from the host's memory puts layers of the model on a GPU.

    Attributes:
        environment: File of ``profiles/environments`` with the engine for GPUs.
        least_bytes: Weights below which the CPU is used.
        context_bytes: GPU memory besides the engine's buffers, on GPUs without a measured figure.
        contexts: Compute capability, as in ``9.0`` → the same, measured.
        margin_bytes: Free GPU memory that is left for other programs.
        speed: None: its speed is unknown.
    """

    environment: str
    least_bytes: int
    context_bytes: int
    margin_bytes: int
    source: str
    contexts: dict[str, int] = field(default_factory=dict)
    speed: OffloadSpeed | None = None

    def context(self, capability: tuple[int, int]) -> int:
        """GPU memory besides the engine's buffers, in bytes."""
        return self.contexts.get("{}.{}".format(*capability), self.context_bytes)


@dataclass(frozen=True, slots=True)
class OnCpu:
    """How a stack serves from the host's memory.

    Attributes:
        file: Format of the files that it loads, as in `wizard.model.facts.WeightFile.format`.
        cache: Type of the KV cache.
        piece_tokens: Size of the chunks in which a prompt is evaluated.
        tokenizer_bytes: Memory per vocabulary entry.
        speed: None: its speed is unknown.
        offload: None: it does not use GPUs.
        names: File of ``profiles/releases`` with the architectures and file types that its releases name; empty:
            they are not known.
    """

    file: str
    cache: str
    piece_tokens: int
    tokenizer_bytes: int
    source: str
    speed: CpuSpeed | None = None
    offload: Offload | None = None
    names: str = ""
