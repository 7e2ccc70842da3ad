"""The value of the second stage: a model, described from its own files. What is unknown is None with a reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from wizard.model.anatomy import Anatomy, Parts
from wizard.model.chat_format import ChatFormat
from wizard.model.gguf_layers import Layers
from wizard.model.task import Task


@dataclass(frozen=True, slots=True)
class WeightFile:
    """A file of weights."""

    name: str
    bytes: int | None
    format: Literal["safetensors", "gguf", "pickle", "other"]


@dataclass(frozen=True, slots=True)
class GgufFile:
    """A GGUF file that a model can be served from.

    Attributes:
        repo: Its repository on the Hub.
        file: Its name there.
        type: llama.cpp's name of its format: ``Q4_K_M``.
        bytes: Its size; None if the Hub was not asked.
    """

    repo: str
    file: str
    type: str
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Quantization:
    """The quantization of the stored weights."""

    method: str
    """``gguf``, ``awq``, ``gptq``, ``fp8``, ``compressed-tensors``, ``modelopt``, ``mxfp4``, ``bitsandbytes`` …"""
    bits: float | None = None
    detail: str | None = None
    """``Q8_0``, ``Q4_K_M``; the group size; what distinguishes variants of a method."""
    format: str | None = None
    """The wizard's name of the format: ``fp8``, ``fp8_block``, ``int4_awq``, ``int4_gptq``, ``nvfp4``, ``mxfp4``,
    ``int8_sq``, ``int8_wo``, ``int4_wo``, ``w4a8_awq``, ``gguf_q4_k_m`` …; None if it is not one of them.
    """
    group_size: int | None = None
    """Weights that share a scale; None: a single scale for a row or a tensor."""
    desc_act: bool = False
    """GPTQ's activation order, which prevents a tensor-parallel split from using the fast kernels."""
    parts: tuple[tuple[str, str], ...] = ()
    """Parts (`wizard.model.anatomy.Parts`) in another format, and its name: ``experts``, ``mxfp4`` in DeepSeek V4;
    ``none``: 16 bits.
    """
    zero_points: bool = True
    """Whether groups of 4-bit integers have a zero point besides their scale."""
    kv_dtype: str | None = None
    """Dtype of the KV cache that the checkpoint has scales for: ``fp8``."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A confidence gate: if any token of the greedy answer is less probable than this, the answer is ``refusal``."""

    min_token_probability: float
    refusal: str


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model. ``layers`` … ``max_context`` are as stated in the config or GGUF header, unscaled."""

    ref: str
    """The model as the user named it: a model ID, a folder, a .gguf file or a recipe."""
    source: Literal["hub", "folder", "gguf", "recipe", "case"]
    location: str
    """Folder or file on disk, or the ID of the repository on the Hub."""
    name: str
    """Short display name."""
    architecture: str | None
    """``LlamaForCausalLM`` …; for GGUF its ``general.architecture``."""
    parameters: int | None
    layers: int | None = None
    hidden_size: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    intermediate_size: int | None = None
    vocabulary: int | None = None
    experts: int | None = None
    experts_per_token: int | None = None
    max_context: int | None = None
    rope: str | None = None
    """Type of the rotary embeddings' scaling, ``llama3``, ``yarn`` …; None if there is none or it is unknown."""
    dtype: str | None = None
    """Stored dtype of most weights: ``bfloat16``, ``float16``, ``float32``; for GGUF its file type."""
    weight_bytes: int | None = None
    """Size of the weights that are loaded."""
    anatomy: Anatomy | None = None
    """Parameters by part, from the config; None if the architecture is unknown (see ``unknown``)."""
    draft: ModelFacts | None = None
    """The draft model that was named for speculative decoding; None if none was, or if it was not looked up."""
    stored: Parts | None = None
    """Stored bytes by part, from safetensors headers; None without them."""
    stored_predictor: Parts | None = None
    """The same of layers for multi-token prediction, which ``stored`` does not contain."""
    gguf_layers: Layers | None = None
    """Bytes by layer, from a GGUF header; None without a complete one."""
    weights: tuple[WeightFile, ...] = ()
    gguf: tuple[GgufFile, ...] = ()
    """GGUF files of the model to choose among, in its repository or another one, if the Hub listed them."""
    quantization: Quantization | None = None
    revision: str | None = None
    licence: str | None = None
    gated: bool | None = None
    needs_remote_code: bool = False
    """Whether the config refers to its own code (``auto_map``); see `wizard.plan.remote_code`."""
    encoders: tuple[str, ...] = ()
    """What encodes images or sounds for the language model: ``vision``, ``audio``."""
    task: Task | None = None
    """What it does instead of generating text; None for a model that generates text."""
    chat: ChatFormat | None = None
    questions: tuple[str, ...] = ()
    """Questions that are known to work (such as a demo model's trained ones), offered in the chat."""
    gate: Gate | None = None
    local: bool = False
    """Whether all required files are on disk."""
    unknown: dict[str, str] = field(default_factory=dict)
