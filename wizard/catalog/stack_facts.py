"""What is known of a serving stack: one ``profiles/stacks/NAME.toml``, which `wizard.catalog.stacks` reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Capability: TypeAlias = tuple[int, int]
"""A GPU's compute capability: (8, 9)."""


@dataclass(frozen=True, slots=True)
class Simplicity:
    """Steps to a first answer, fewer first where nothing else decides; those of equal numbers are equally simple."""

    steps: int
    source: str


@dataclass(frozen=True, slots=True)
class Image:
    """NVIDIA's images that serve a stack.

    Attributes:
        family: File of ``profiles/releases`` with them.
        own_packages: The stack's packages get an environment of their own in an image too, so any image will do.
        llm_api: Only images with TensorRT-LLM's Triton model for the LLM API serve it (`Release.llm_api`).
        instead_in_older: The stack that serves from images without it.
    """

    family: str
    own_packages: bool = False
    llm_api: bool = False
    instead_in_older: str = ""


@dataclass(frozen=True, slots=True)
class Oldest:
    """The oldest GPU for something."""

    capability: Capability
    source: str


@dataclass(frozen=True, slots=True)
class Native:
    """How a stack is served without containers.

    Attributes:
        environment: File of ``profiles/environments``.
        replaces_older_image: Its engine serves instead of an image that has an older one.
        untried: Versions of the engine from whose sources a stand-in was made, where the real one never ran on a GPU;
            empty: it did. Advice ranks what is untried last and says so.
        attention: Oldest GPU whose tensor cores its attention uses; None: the oldest that it serves on.
        packages: Packages of a user's Python that can serve it → their titles; without any it takes none.
        offered: Such a Python is offered though nobody asked for the stack.
    """

    environment: str
    replaces_older_image: bool = False
    untried: str = ""
    attention: Oldest | None = None
    packages: dict[str, str] = field(default_factory=dict)
    offered: bool = False


@dataclass(frozen=True, slots=True)
class Gpus:
    """GPUs from one compute capability on, to another if there is one."""

    oldest: Capability
    newest: Capability | None = None

    def have(self, capability: Capability) -> bool:
        """Whether a GPU of ``capability`` is one of them."""
        return self.oldest <= capability and (self.newest is None or capability <= self.newest)


@dataclass(frozen=True, slots=True)
class Unpacked:
    """First version of the engine that unpacks weights to 16 bits on GPUs from a compute capability on."""

    capability: Capability
    engine: str
    source: str


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Formats that need a newer GPU where ``method`` (and what begins like it) made the checkpoint."""

    method: str
    formats: tuple[str, ...]
    oldest: Capability
    source: str


@dataclass(frozen=True, slots=True)
class Models:
    """Architectures that the engine has fewer formats for: 16 bits only, or all but those with 4 bits."""

    sixteen_only: tuple[str, ...]
    not_int4: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Formats:
    """Weight formats that a stack computes with.

    Attributes:
        gpus: Name of a format → GPUs for it; it has no others.
        unpacked: Where tensor cores do not multiply a format, its weights are unpacked; empty: then it is not served.
        checkpoints: Exceptions by who made the checkpoint.
        models: Exceptions by architecture.
    """

    source: str
    gpus: dict[str, Gpus]
    unpacked: tuple[Unpacked, ...] = ()
    checkpoints: tuple[Checkpoints, ...] = ()
    models: Models | None = None

    @property
    def sixteen_only(self) -> bool:
        """Whether it serves 16-bit weights only."""
        return tuple(self.gpus) == ("none",)


@dataclass(frozen=True, slots=True)
class Splits:
    """How one copy of a model is split over GPUs.

    Attributes:
        ranks: Tensor parallel.
        stages: Pipeline parallel: none, ``any`` split of the layers, or only into stages with as many each (``even``).
    """

    source: str
    ranks: bool = False
    stages: Literal["none", "any", "even"] = "none"


@dataclass(frozen=True, slots=True)
class Cache:
    """The KV cache.

    Attributes:
        fp8: Oldest GPU with 8 bits; None: 16 bits only.
        knob: The engine's name for the share of memory that it may take; empty: it has none.
        counts_of: What the share is of: the GPU's ``total`` memory, or what is ``free`` after loading.
    """

    source: str
    fp8: Capability | None = None
    knob: str = ""
    counts_of: Literal["", "total", "free"] = ""


@dataclass(frozen=True, slots=True)
class EngineMemory:
    """What an engine takes of one GPU beside weights and KV cache, and how it counts; formulas: `wizard.advise.memory`.

    Attributes:
        block: Tokens of one block of the KV cache.
        context_bytes: The CUDA context, before anything is loaded.
        buffer_bytes: Libraries and runtime.
        link_bytes: More where several GPUs work together (NCCL, custom all-reduce), taken before anything else.
        activations: The formula: ``step`` (a full step's feed-forward, or the output projection, split over the ranks)
            or ``logits`` (a full step's feed-forward, and the logits of all users in 32 bits).
        graphs: Decoding is captured in CUDA graphs.
        cache_of_free: The largest share of what is free after loading that becomes KV cache; None: only the budget
            counts.
        triton_context: In a container, Triton holds a CUDA context and a pool of its own on the engine's GPUs.
        rotary_table: A table of rotary positions is kept beside the weights.
        repacks_4bit: AWQ and GPTQ are repacked, which takes their scales once more and the ends of blocks.
        window_keeps_step: A sliding window keeps what one step adds too.
        measured: The figures were measured with this engine, not taken from another.
    """

    block: int
    context_bytes: int
    buffer_bytes: int
    link_bytes: int
    activations: Literal["step", "logits"]
    source: str
    graphs: bool = False
    cache_of_free: float | None = None
    triton_context: bool = False
    rotary_table: bool = False
    repacks_4bit: bool = False
    window_keeps_step: bool = False
    measured: bool = False


@dataclass(frozen=True, slots=True)
class First:
    """First version of the engine that serves something.

    Attributes:
        versions: An architecture, a type of rotary embeddings or a format → the version; ``none``: no version serves
            it. What is not in it is not judged.
    """

    source: str
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class OnGpu:
    """How a stack serves on GPUs."""

    oldest: Oldest
    formats: Formats
    splits: Splits
    cache: Cache
    memory: EngineMemory


@dataclass(frozen=True, slots=True)
class OnCpu:
    """How a stack serves from the host's memory.

    Attributes:
        file: Format of the files that it loads, as in `wizard.model.facts.WeightFile.format`.
        cache: Type of the KV cache.
        piece_tokens: A prompt is evaluated in pieces of so many tokens.
        tokenizer_bytes: Memory for each entry of the vocabulary.
    """

    file: str
    cache: str
    piece_tokens: int
    tokenizer_bytes: int
    source: str


@dataclass(frozen=True, slots=True)
class StackFacts:
    """One serving stack; it serves on GPUs or on the CPU.

    Attributes:
        title: As its makers write it.
        rank: Place in lists, and the order in which stacks are tried; less comes first.
        engine: The engine where its title is another one; empty: `title`.
        pytorch_backend: The engine is one of two, the one that computes with PyTorch.
        builds_engine: An engine is built first, with tools that images had until some release.
        serves_unlisted: Models that ``profiles/releases/architectures.toml`` does not list are served too.
        instead: Stacks to take where this one cannot serve, the one that serves the most models first.
        first: First versions of its engine; None: nothing is known, or they are in `floors`.
        floors: Its column of ``profiles/releases/architectures.toml``, for NVIDIA's images; empty: none.
        speed: Its table of ``profiles/speed.toml``; empty: its speed is not known.
        aiconfigurator: The engine's name in aiconfigurator-core; empty: it does not know it.
        simplicity: For the ranking.
        image: None: there are no images with it.
        native: None: it is served from images only.
        gpu: None: it does not serve on GPUs.
        cpu: None: it does not serve on the CPU.
    """

    title: str
    rank: int
    simplicity: Simplicity
    engine: str = ""
    pytorch_backend: bool = False
    builds_engine: bool = False
    serves_unlisted: bool = False
    instead: tuple[str, ...] = ()
    first: First | None = None
    floors: str = ""
    speed: str = ""
    aiconfigurator: str = ""
    image: Image | None = None
    native: Native | None = None
    gpu: OnGpu | None = None
    cpu: OnCpu | None = None
