"""The bytes of a GGUF model by what llama.cpp places on a GPU or in host memory as one. Pure.

llama.cpp keeps input tensors on the host, places each repeating layer with its KV cache, and counts the output as one
more layer; a tied output is a copy of the embedding (``llama_model_base::load_tensors``, ``LLM_TENSOR_INFOS`` in
``src/llama-arch.cpp``). Routed experts are the tensors that ``--n-cpu-moe`` keeps on the host
(``LLM_FFN_EXPS_REGEX`` in ``common/common.h``). Source: llama.cpp in xllamacpp 2026.10.11549.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wizard.model.anatomy import Anatomy

if TYPE_CHECKING:
    from wizard.model.gguf import Header

_BLOCK = re.compile(r"blk\.(\d+)\.")
_EXPERTS = re.compile(r"\.ffn_(up|down|gate|gate_up)_(ch|)exps")
_INPUT = re.compile(r"(token_embd|per_layer_token_embd|position_embd|token_types)\.")
_EMBEDDING, _OUTPUT = "token_embd.weight", "output.weight"


@dataclass(frozen=True, slots=True)
class Layer:
    """Bytes of a repeating layer.

    Attributes:
        dense: All its tensors but the routed experts.
        experts: Routed experts; 0 for a dense layer.
        largest_dense: The largest tensor among ``dense``.
        largest_expert: The largest tensor among ``experts``.
    """

    dense: int
    experts: int = 0
    largest_dense: int = 0
    largest_expert: int = 0


@dataclass(frozen=True, slots=True)
class Layers:
    """Bytes by layer.

    Attributes:
        repeating: The repeating layers, the first one first.
        output: The output layer, with the copy of a tied embedding.
        input: Input tensors, which stay on the host.
        estimated: Whether the file's header was not read.
    """

    repeating: tuple[Layer, ...]
    output: int
    input: int
    estimated: bool = False


def layers(header: Header, count: int | None) -> Layers | None:
    """The bytes by layer of a file with ``count`` layers; None if its header is incomplete, contradicts ``count``, or
    has a type of unknown size.
    """
    if not header.tensors or header.weight_bytes is None or not count:
        return None
    dense: list[list[int]] = [[] for _ in range(count)]
    experts: list[list[int]] = [[] for _ in range(count)]
    read, written, embedding, tied = 0, 0, 0, True
    for tensor in header.tensors:
        block = _BLOCK.match(tensor.name)
        if block:
            if int(block[1]) >= count:
                return None
            kind = experts if _EXPERTS.search(tensor.name) else dense
            kind[int(block[1])].append(tensor.bytes)
        elif _INPUT.match(tensor.name):
            read += tensor.bytes
        else:
            written += tensor.bytes
        embedding = tensor.bytes if tensor.name == _EMBEDDING else embedding
        tied = tied and tensor.name != _OUTPUT
    made = tuple(
        Layer(sum(mine), sum(routed), max(mine, default=0), max(routed, default=0))
        for mine, routed in zip(dense, experts, strict=True)
    )
    return Layers(made, written + (embedding if tied else 0), read)


def estimated(anatomy: Anatomy, size: int) -> Layers:
    """The bytes by layer of a file of ``size`` bytes whose header was not read: all tensors with the same bits, layers
    of a kind of the same size, and dense layers before those with experts.
    """
    parts, scale = anatomy.parts, size / max(1, anatomy.parts.total)
    matrices = 3 if anatomy.gated else 2
    dense_layers = anatomy.layers - anatomy.moe_layers

    def each(amount: int, count: int) -> int:
        return round(amount * scale / count) if count else 0

    common = each(parts.attention + parts.key_value + parts.latent + parts.norms, anatomy.layers)
    mlp, routed = each(parts.mlp, dense_layers), each(parts.experts, anatomy.moe_layers)
    beside = each(parts.shared + parts.router, anatomy.moe_layers)
    widest = each(parts.attention, anatomy.layers) // 2
    dense = Layer(common + mlp, 0, max(mlp // matrices, widest))
    sparse = Layer(common + beside, routed, max(beside // matrices, widest), routed // matrices)
    made = (dense,) * dense_layers + (sparse,) * anatomy.moe_layers
    read = round((parts.embedding + parts.layer_embedding) * scale)
    return Layers(made, round((parts.head or parts.embedding) * scale), read, estimated=True)
