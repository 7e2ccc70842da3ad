"""The value of the third stage: ranked choices with memory, speed and reasons, and rejections with remedies."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from wizard.advise.reasons import Note, Reason, Remedy
from wizard.model.facts import ModelFacts


@dataclass(frozen=True, slots=True)
class Constraints:
    """The user's constraints. None means "the wizard chooses"; a given value is never overridden, only rejected."""

    goal: str = "chat"
    """One of `wizard.catalog.goals.GOALS`; it stands for a load and a pace."""
    users: int | None = None
    """Concurrent users; None lets the wizard lower `wizard.catalog.goals.DEFAULT_USERS` if they do not fit."""
    max_len: int | None = None
    """Tokens of prompt plus answer for each user."""
    isl: int | None = None
    """Tokens of a prompt."""
    osl: int | None = None
    """Tokens of an answer."""
    ttft: float | None = None
    """Most milliseconds to the first token."""
    tpot: float | None = None
    """Most milliseconds between two tokens of an answer."""
    p99: bool = False
    """Whether ``ttft`` and ``tpot`` hold for the slow end of the estimate instead of its middle."""
    replicas: int | None = None
    """Copies of the model, each on its own GPUs."""
    dp: int | None = None
    """Data parallel size: ranks of a replica with their own users, which share the experts."""
    expert_parallel: bool = False
    """Whether ranks have to hold whole experts; otherwise they do only where experts cannot be split."""
    max_gpus: int | None = None
    speculative: str | None = None
    """Method of speculative decoding; None and ``none``: none."""
    draft: str | None = None
    """The draft model of a method that needs one: a repository or a folder."""
    gpu_memory_utilization: float | None = None
    stack: str | None = None
    quantization: str | None = None
    tp: int | None = None
    pp: int | None = None
    kv_dtype: str | None = None
    as_published: bool = False
    """Only the repository's own files, not another quantization of the model."""
    release: str | None = None
    """A Triton image release (``24.09``), or a version of the engine in it (``0.13.0``)."""
    runtime: str | None = None
    """``native``, ``docker`` or ``podman``."""
    engine_python: str | None = None
    """Path of a Python that has the engine, so that none is installed; it is served natively."""
    cost_per_hour: float | None = None
    """What the whole machine costs per hour, in any currency; rules nothing out."""

    @property
    def restricts(self) -> bool:
        """Whether any of them may rule a setup out."""
        return replace(self, cost_per_hour=None) != Constraints()


GATED = Note("gated")
"""The warning for a gated model."""
NO_TEMPLATE = Note("no-template")
"""The warning for a model that was not trained for chat."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory breakdown of a choice, per GPU, or for the host if the CPU serves. In bytes, except for the tokens,
    which are those of a replica, or of each of its data-parallel ranks.
    """

    weights_bytes: int
    kv_bytes_per_token: int
    kv_capacity_tokens: int
    activation_bytes: int
    overhead_bytes: int
    total_bytes: int
    budget_bytes: int


@dataclass(frozen=True, slots=True)
class Share:
    """What one of several GPUs has of a model.

    Attributes:
        layers: Consecutive layers, on the last GPU with the output.
        memory: The GPU's memory breakdown.
    """

    layers: int
    memory: Memory


@dataclass(frozen=True, slots=True)
class Offload:
    """The parts of a model on GPUs, if the CPU serves the rest; `Choice.memory` is that of the first GPU.

    Attributes:
        gpu_layers: Layers on GPUs: the output, and the last repeating ones before it.
        layers: All layers, the output included.
        expert_layers: Number of first layers whose routed experts stay in host memory although the layers are on a
            GPU.
        host: The host's memory breakdown.
        shares: What each of several GPUs has, in the order of `Choice.devices`; empty if there is only one.
    """

    gpu_layers: int
    layers: int
    expert_layers: int
    host: Memory
    shares: tuple[Share, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether GPUs have all layers and all experts."""
        return self.gpu_layers == self.layers and not self.expert_layers


@dataclass(frozen=True, slots=True)
class Speed:
    """Expected speed with its range and provider. In a choice it is that of all replicas together.

    Attributes:
        tpot_ms: Milliseconds between two tokens of a user.
        throughput_tokens_per_s: Output tokens of all users together, the time to the first token included.
        ttft_ms: Milliseconds from a request to its first token when every user sends the next prompt as soon as the
            answer has ended, as in benchmarks with a fixed concurrency; None if users wait for one another.
        low: Lower end of the range of ``tpot_ms``.
        high: Upper end of the range of ``tpot_ms``.
        provider: ``roofline``, ``cpu-bandwidth`` or ``gpu-bandwidth`` (the wizard's own), ``measured``, or
            ``aiconfigurator-core`` with its version and data.
        confidence: ``good``, ``fair`` or ``rough``; ``measured`` on this machine under the same load.
        bound: What takes longest: ``memory``, ``compute``, ``launch`` or ``interconnect``; None if unknown.
        ttft_low_ms: Lower end of the range of ``ttft_ms``.
        ttft_high_ms: Upper end of the range of ``ttft_ms``.
        ttft_alone_ms: The same as ``ttft_ms`` if no other user sends a prompt meanwhile.
        ttft_last_ms: The same for the last of all users' simultaneous prompts; never less than ``ttft_ms``.
        served: Users that the KV cache holds at once, which the figures are for; None if unknown.
        users: Concurrent users of the load that the figures are for; None if unknown.
        isl: Input tokens of each.
        osl: Output tokens of each.
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
    ttft_alone_ms: float | None = None
    ttft_last_ms: float | None = None
    served: int | None = None
    users: int | None = None
    isl: int | None = None
    osl: int | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """What a million output tokens take under the load of the choice's speed, the time for their prompts included.

    Attributes:
        per_hour: Rate of the whole machine, as given and in its currency; None if none was given.
        per_million_tokens: Money for a million output tokens at that rate.
        low: Lower end of its range: at the fast end of the speed.
        high: Upper end of its range: at the slow end of the speed.
        watts: Most that the GPUs of the choice draw together, by their power limits; None if unknown.
        kwh_per_million_tokens: Most energy that these GPUs need for a million output tokens: ``watts`` at the slow end
            of the speed.
    """

    per_hour: float | None = None
    per_million_tokens: float | None = None
    low: float | None = None
    high: float | None = None
    watts: float | None = None
    kwh_per_million_tokens: float | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What is fetched to serve a choice.

    Attributes:
        ref: The repository, or the path of a model on this machine.
        bytes: Size of its weights; None if unknown.
        how: The weights are ``stored`` in the choice's format in the named repository, or in another, ``ready``
            repository; or the named repository's are quantized while the engine is ``loading`` them, or while the
            engine is built from them (``building``). ``assumed``: only a configuration was given, so no repository
            is judged.
        source: Source of the ID of a ``ready`` repository.
        file: The only file of the repository that is fetched; None: all weights of it, or the one that was named.
    """

    ref: str
    bytes: int | None = None
    how: Literal["stored", "ready", "loading", "building", "assumed"] = "stored"
    source: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """A setup that can serve the model here."""

    stack: str
    runtime: str
    """``native``, or the container engine: ``docker``, ``podman``."""
    dtype: str
    quantization: str | None
    kv_cache_dtype: str
    tp: int
    pp: int
    max_batch_size: int
    """Requests that a replica, or each of its data-parallel ranks, processes at the same time."""
    max_seq_len: int
    """Tokens of prompt plus answer for each request."""
    release: str
    """The tag of Triton's image (``26.07-vllm-python-py3``); without an image Triton and the engine beside it
    (``triton 2.51.0``, ``triton 2.51.0, vLLM 0.31.0``).
    """
    memory: Memory
    devices: tuple[int, ...] = ()
    """Indices of the GPUs of all replicas, one after the other; empty if the CPU serves."""
    slices: tuple[str, ...] = ()
    """UUIDs of the MIG slices on these GPUs, one for each replica; empty for whole GPUs."""
    replicas: int = 1
    """Copies of the model that are started, each on its own ``tp`` × ``pp`` × ``dp`` GPUs; they share the requests."""
    dp: int = 1
    """Data-parallel ranks of a replica, each with the whole attention, its own requests, and a part of the experts."""
    expert_parallel: bool = False
    """Whether each rank holds whole experts instead of a part of every expert."""
    speculative: str = ""
    """Method of speculative decoding, as vLLM names it; empty: none."""
    proposed_tokens: int = 0
    """Tokens that speculative decoding proposes for a sequence in a step."""
    draft: ModelFacts | None = None
    """The draft model that proposes them, which the plan fetches too; None: the method needs none."""
    gpu_memory_utilization: float | None = None
    """Share of a GPU's total memory that the server may use (as in vLLM); None if the CPU serves."""
    kv_cache_fraction: float | None = None
    """The same as TensorRT-LLM defines it: share of the memory free after loading, for the KV cache; None for other
    stacks.
    """
    step_tokens: int | None = None
    """Most tokens of an engine step, for which the activations are counted; None: the engine's default."""
    speed: Speed | None = None
    correction_bytes: int = 0
    """Part of the overhead: the correction because servers on this machine used more than predicted (< 0: less)."""
    warnings: tuple[Note, ...] = ()
    reasons: tuple[Note, ...] = ()
    engine_python: str | None = None
    """Path of the user's Python that has the engine; None if the wizard installs it or the image has it."""
    environment: str = ""
    """Name of the engine's environment (``profiles/environments``); empty if it has none, and in plans from when each
    stack had only one.
    """
    engine_version: str = ""
    """Version of the engine: of the image, of the wizard's environment, or as found in the user's Python; empty in
    plans from before it was stated.
    """
    checkpoint: Checkpoint | None = None
    """What the plan fetches; None only in plans from when choices did not say it."""
    offload: Offload | None = None
    """The split between a GPU and the host's memory; None if only one of them has the weights."""
    cost: Cost | None = None
    """None if neither a rate nor the GPUs' power limits are known."""

    @property
    def gpus(self) -> int:
        """GPUs of one replica."""
        return self.tp * self.pp * self.dp

    @property
    def shares(self) -> int:
        """Parts into which the users are divided: one for each data-parallel rank of each replica."""
        return self.replicas * self.dp

    @property
    def users(self) -> int:
        """Requests that all replicas process at the same time."""
        return self.max_batch_size * self.shares

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Indices of each replica's GPUs."""
        return tuple(self.devices[at : at + self.gpus] for at in range(0, len(self.devices), self.gpus))


@dataclass(frozen=True, slots=True)
class Rejection:
    """A setup that does not work here, the reason, and the smallest changes that would make it possible.

    The last three fields are those of an `Obstacle`.
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
    """The complete advice for this model on this machine; ``choices[0]`` is the recommendation."""

    feasible: bool
    choices: tuple[Choice, ...] = ()
    rejections: tuple[Rejection, ...] = field(default=())
