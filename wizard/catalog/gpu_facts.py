"""How a serving stack works on GPUs: ``[gpu]`` of a ``profiles/stacks/NAME.toml``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Capability: TypeAlias = tuple[int, int]
"""A GPU's compute capability: (8, 9)."""


@dataclass(frozen=True, slots=True)
class Oldest:
    """The oldest GPU for a feature."""

    capability: Capability
    source: str


@dataclass(frozen=True, slots=True)
class Gpus:
    """GPUs from a minimum compute capability on, with an optional maximum.

    Attributes:
        since: Compute capability, as ``10.0`` → first version of the engine for these GPUs; others have no minimum.
    """

    oldest: Capability
    newest: Capability | None = None
    since: dict[str, str] = field(default_factory=dict)

    def have(self, capability: Capability) -> bool:
        """Whether GPUs of ``capability`` are included."""
        return self.oldest <= capability and (self.newest is None or capability <= self.newest)


@dataclass(frozen=True, slots=True)
class Unpacked:
    """First version of the engine that unpacks weights to 16 bits on GPUs from a given compute capability on."""

    capability: Capability
    engine: str
    source: str


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Formats that need a newer GPU if the checkpoint's method begins with ``method``.

    Attributes:
        engine: First version of the engine that unpacks them on such a GPU; empty: all do, or none has to.
    """

    method: str
    formats: tuple[str, ...]
    oldest: Capability
    source: str
    engine: str = ""


@dataclass(frozen=True, slots=True)
class Models:
    """Architectures that the engine supports in fewer formats: 16 bits only, or all but those with 4 bits."""

    sixteen_only: tuple[str, ...]
    not_int4: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Online:
    """Formats into which the engine itself quantizes 16-bit weights while loading them.

    Attributes:
        formats: The formats.
        layer_by_layer: First version that quantizes each layer as soon as it is read; an older one first needs all
            16-bit weights on the GPUs. ``none``: every version needs them.
    """

    formats: tuple[str, ...]
    layer_by_layer: str
    source: str


@dataclass(frozen=True, slots=True)
class Formats:
    """Weight formats that a stack computes with.

    Attributes:
        gpus: Format → its GPUs; other formats are not supported.
        methods: A checkpoint's ``quant_method``s that the engine loads; empty: it is not judged by them.
        online: None: it serves weights only as they are stored.
        unpacked: Fallback if tensor cores do not multiply a format: its weights are unpacked; empty: the format is not
            supported then.
        checkpoints: Exceptions by the checkpoint's producer.
        models: Exceptions by architecture.
    """

    source: str
    gpus: dict[str, Gpus]
    methods: tuple[str, ...] = ()
    online: Online | None = None
    unpacked: tuple[Unpacked, ...] = ()
    checkpoints: tuple[Checkpoints, ...] = ()
    models: Models | None = None

    @property
    def sixteen_only(self) -> bool:
        """Whether it serves 16-bit weights only."""
        return tuple(self.gpus) == ("none",)


@dataclass(frozen=True, slots=True)
class WholeExperts:
    """Expert parallelism: how each rank of tp holds whole experts instead of a part of every expert.

    Attributes:
        since: First version of the engine that has it, or the oldest whose source was read.
        even: Whether the ranks must divide a layer's experts; otherwise some ranks hold one less.
        without: Formats of experts for which it is not set up: the engine unpacks them then, or was not read to have
            kernels for a part of the experts.
    """

    since: str
    source: str
    even: bool = False
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DataParallel:
    """Data-parallel ranks with the whole attention, which share whole experts (`WholeExperts`).

    Attributes:
        since: First version of the engine that has it, or the oldest whose source was read.
        tensor: Whether the attention of a rank can be split over several GPUs in addition.
        models: Architectures whose code has it; empty: any with experts.
        measured: Whether estimates of its speed were compared with measured servers.
    """

    since: str
    source: str
    tensor: bool = False
    models: tuple[str, ...] = ()
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Splits:
    """How a replica of a model is split over GPUs.

    Attributes:
        ranks: Tensor parallel.
        stages: Pipeline parallel: none, ``any`` split of the layers, or only into equal stages (``even``).
        experts: Whole experts on each rank; None: the wizard never sets that up.
        data: Data-parallel ranks; None: the wizard never sets that up.
        replicas: Runtimes in which the wizard starts several replicas behind one address.
        replicas_since: First version of the engine in an image that the engine program of the stack supports.
    """

    source: str
    ranks: bool = False
    stages: Literal["none", "any", "even"] = "none"
    experts: WholeExperts | None = None
    data: DataParallel | None = None
    replicas: tuple[str, ...] = ()
    replicas_since: str = "0"


@dataclass(frozen=True, slots=True)
class Cache:
    """The KV cache.

    Attributes:
        fp8: Oldest GPU with 8 bits; None: 16 bits only.
        knob: The engine's name for the share of memory that it may use; empty: it has none.
        counts_of: Base of the share: the GPU's ``total`` memory, or what is ``free`` after loading.
        named: 16-bit type → first version of the engine that can be told to use it although the checkpoint has scales
            for 8 bits.
    """

    source: str
    fp8: Capability | None = None
    knob: str = ""
    counts_of: Literal["", "total", "free"] = ""
    named: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StateTypes:
    """The type of a recurrent state (`wizard.model.anatomy.State`) in an engine that no option sets.

    Attributes:
        fields: Fields of config.json that it reads.
        unstated: The type where config.json states none: the model's or ``float32``.
        float32: Kinds of states that are in float32 then in any case.
    """

    source: str = ""
    fields: tuple[str, ...] = ("mamba_ssm_dtype", "mamba_ssm_cache_dtype")
    unstated: Literal["model", "float32"] = "float32"
    float32: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EngineMemory:
    """Memory of an engine on a GPU besides weights and KV cache, and how it is counted; formulas:
    `wizard.advise.memory`.

    Attributes:
        block: Tokens per block of the KV cache.
        context_bytes: The CUDA context, before anything is loaded.
        buffer_bytes: Libraries and runtime.
        link_bytes: Additional memory if several GPUs work together (NCCL, custom all-reduce), allocated first.
        activations: The formula: ``step`` (a full step's feed-forward, or the output projection, split over the ranks)
            or ``logits`` (a full step's feed-forward, and the logits of all users in 32 bits).
        graphs: Whether decoding is captured in CUDA graphs.
        cache_of_free: The largest share of the memory free after loading that becomes KV cache; None: only the budget
            limits it.
        triton_context: Whether Triton has its own CUDA context and pool on the engine's GPUs in a container.
        rotary_table: Whether a table of rotary positions is kept besides the weights.
        repacks_4bit: Whether AWQ and GPTQ are repacked, which uses their scales a second time and the ends of blocks.
        window_keeps_step: Whether a sliding window also keeps the tokens of a step.
        equal_pages: Whether recurrent states and KV cache share pages of one size, see `memory.pages`.
        measured: Whether the figures were measured with this engine, not assumed from another.
        states: Types of recurrent states.
        step_setting: The engine's name for the most tokens of a step, which `bench --tune` varies; empty: it is not
            varied.
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
    equal_pages: bool = False
    measured: bool = False
    states: StateTypes = StateTypes()
    step_setting: str = ""


@dataclass(frozen=True, slots=True)
class TextOnly:
    """How a multimodal model is served for text alone.

    Attributes:
        setting: The engine's argument that leaves the encoders out.
        engine: First version that has it.
    """

    setting: str
    engine: str
    source: str


@dataclass(frozen=True, slots=True)
class Encoders:
    """The memory that encoders of images and sounds work in, where the engine loads them.

    Attributes:
        work: ``profiled``: it runs them at their largest input before it sizes the KV cache; ``reserved``: it keeps
            memory free for them; ``idle``: neither, and text does not run them.
    """

    work: Literal["profiled", "reserved", "idle"]
    source: str


@dataclass(frozen=True, slots=True)
class Speculative:
    """Speculative decoding that the wizard sets up.

    Attributes:
        methods: Method → architecture of the model, or ``any`` → first version of the engine that has it, or the
            oldest whose source was read.
    """

    source: str
    methods: dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class Slices:
    """How an engine starts on the MIG slice whose UUID is its ``CUDA_VISIBLE_DEVICES``.

    Attributes:
        engine: First version that does.
        by_gpu_number: Whether it queries the GPU with the slice's number instead of the slice's own GPU, so that a GPU
            of the same kind must have this number.
    """

    engine: str
    source: str
    by_gpu_number: bool = False


@dataclass(frozen=True, slots=True)
class OnGpu:
    """How a stack serves on GPUs.

    Attributes:
        slices: None: it is not known to start on a MIG slice among others, only in a container that has no other.
        text_only: None: it loads the encoders of a multimodal model.
        encoders: None: not known; they count as ``profiled``.
        float32: The oldest GPU on which it computes in float32; None: it is not known to.
        speculative: None: the wizard sets up none.
    """

    oldest: Oldest
    formats: Formats
    splits: Splits
    cache: Cache
    memory: EngineMemory
    float32: Oldest | None = None
    text_only: TextOnly | None = None
    encoders: Encoders | None = None
    speculative: Speculative | None = None
    slices: Slices | None = None
