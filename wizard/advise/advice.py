"""The value of the third stage: ranked choices with memory, speed and reasons, and rejections with their remedies."""

from __future__ import annotations

from dataclasses import dataclass, field

from wizard.advise.reasons import Note, Reason, Remedy

DEFAULT_USERS = 4
"""People served at the same time unless asked otherwise."""


@dataclass(frozen=True, slots=True)
class Constraints:
    """What the user asked for. None means "the wizard chooses"; a value given here is never changed, only refused."""

    goal: str = "chat"
    """``chat``, ``throughput``, ``quality``, ``smallest``."""
    users: int | None = None
    """People served at the same time; None lets the wizard lower `DEFAULT_USERS` where they do not fit."""
    max_len: int | None = None
    """Tokens of prompt plus answer for each user."""
    max_gpus: int | None = None
    gpu_memory_utilization: float | None = None
    stack: str | None = None
    quantization: str | None = None
    tp: int | None = None
    pp: int | None = None
    kv_dtype: str | None = None
    as_published: bool = False
    """Only this repository's own files, no other quantisation of the model."""
    release: str | None = None
    """A release of Triton's images (``24.09``), or a version of the engine in it (``0.13.0``)."""
    runtime: str | None = None
    """``native``, ``docker`` or ``podman``."""
    engine_python: str | None = None
    """Path of a Python that has the engine, so that none is installed; it is served natively."""


GATED = Note("gated")
"""The warning of a model that has to be asked for."""
NO_TEMPLATE = Note("no-template")
"""The warning of a model that was not made for chats."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory bill of one choice, for each GPU, or for the host where the CPU serves. All bytes but the tokens."""

    weights_bytes: int
    kv_bytes_per_token: int
    kv_capacity_tokens: int
    activation_bytes: int
    overhead_bytes: int
    total_bytes: int
    budget_bytes: int


@dataclass(frozen=True, slots=True)
class Speed:
    """Expected speed with its range and who says so.

    Attributes:
        tpot_ms: Milliseconds between two tokens of one user.
        throughput_tokens_per_s: Tokens of all users together.
        ttft_ms: Milliseconds from a request to its first token, as a benchmark measures it that begins with everybody
            at once; None where users wait for one another.
        low: Of ``tpot_ms``, the lower end of its range.
        high: Of ``tpot_ms``, the upper end.
        provider: ``roofline`` (the wizard's own) or ``aiconfigurator-core`` with its version and data.
        confidence: ``good``, ``fair`` or ``rough``.
        bound: What takes longest: ``memory``, ``compute``, ``launch`` or ``interconnect``; None if not said.
        ttft_low_ms: The same as ``ttft_ms`` for a prompt that comes alone.
        ttft_high_ms: For the last of all users' prompts that come together.
        served: Users that the KV cache holds at once, to whom the figures belong; None if not said.
    """

    tpot_ms: float | None
    throughput_tokens_per_s: float | None
    ttft_ms: float | None
    low: float | None
    high: float | None
    provider: str
    confidence: str = "rough"
    bound: str | None = None
    ttft_low_ms: float | None = None
    ttft_high_ms: float | None = None
    served: int | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to serve the model here."""

    stack: str
    runtime: str
    """``native``, or the container engine: ``docker``, ``podman``."""
    dtype: str
    quantization: str | None
    kv_cache_dtype: str
    tp: int
    pp: int
    max_batch_size: int
    """Requests that are worked on at the same time."""
    max_seq_len: int
    """Tokens of prompt plus answer for each of them."""
    release: str
    """What serves: the tag of Triton's image (``26.07-vllm-python-py3``); without one Triton and what
    engine it has beside it (``triton 2.51.0``, ``triton 2.51.0, vLLM 0.31.0``)."""
    memory: Memory
    devices: tuple[int, ...] = ()
    """Indices of the GPUs of one copy; empty where the CPU serves."""
    replicas: int = 1
    """Copies that the machine has room for, each on ``tp`` × ``pp`` GPUs of its own; one is started."""
    gpu_memory_utilization: float | None = None
    """Share of a GPU's total memory that the server may use (vLLM's meaning); None where the CPU serves."""
    kv_cache_fraction: float | None = None
    """The same in TensorRT-LLM's meaning: of what is free after loading, for the KV cache; None for other stacks."""
    speed: Speed | None = None
    correction_bytes: int = 0
    """Of the overhead, what was added because servers on this machine took more than predicted (or less, < 0)."""
    warnings: tuple[Note, ...] = ()
    reasons: tuple[Note, ...] = ()
    engine_python: str | None = None
    """Path of the user's Python that has the engine; None where the wizard installs it or the image has it."""
    environment: str = ""
    """Name of the environment that the engine gets (``profiles/environments``); empty where it has none of its own,
    and in plans from when each stack had one only."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A way that will not work here, why, and the smallest changes that would make it possible.

    The last three are those of an `Obstacle`.
    """

    stack: str
    quantization: str | None
    tp: int
    pp: int
    code: str
    reason: Reason
    remedies: tuple[Remedy, ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """All that the wizard can say about this model on this machine; ``choices[0]`` is the recommendation."""

    feasible: bool
    choices: tuple[Choice, ...] = ()
    rejections: tuple[Rejection, ...] = field(default=())
