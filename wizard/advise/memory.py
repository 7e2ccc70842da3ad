"""The memory of a setup on the fullest GPU of a replica. One code path for bytes and tokens. Pure.

What an engine uses besides weights and cache, and which terms below are specific to it, is in ``profiles/stacks``. The
figures were measured on an H200 with vLLM 0.26.0 (`benchmarks/advice/memory.py` prints the table); other measurements
are cited where they are used.
"""

from __future__ import annotations

from functools import lru_cache

from wizard.advise.advice import Memory
from wizard.advise.devices import Device
from wizard.advise.setup import Draft, Setup
from wizard.catalog.stacks import facts as stack_facts
from wizard.catalog.stacks import on_gpu
from wizard.kernel.units import GIB, MIB
from wizard.model.anatomy import STATE_BYTES, Anatomy, Attention, Parts
from wizard.model.facts import ModelFacts
from wizard.model.formats import SIXTEEN, weight_bytes

LARGE_GPU = 70 * GIB
"""From this size on vLLM processes 8,192 tokens per step by default, below it 2,048 (its ``EngineArgs``)."""
VOCABULARY_PAD = 64
"""vLLM's ``VocabParallelEmbedding`` pads the vocabulary to a multiple of this."""


TRITON = 518 * MIB
"""Memory that tritonserver 2.51.0 uses on every visible GPU, although another process computes: its CUDA context and
its tensor pool (NVML on H200s, driver 580.159.04).
"""


def triton(stack: str, runtime: str) -> int:
    """Bytes on each GPU that Triton itself uses besides the engine, see `TRITON`.

    Natively, and where the engine has its own packages in a container, Triton sees no GPU. In NVIDIA's images Triton's
    own stub starts the engine, with the GPUs that Triton sees; where the engine runs in Triton's process, its context
    is counted with it (`EngineMemory.triton_context`).
    """
    known = stack_facts(stack).gpu
    return TRITON if runtime != "native" and known and known.memory.triton_context else 0


def step_tokens(device: Device) -> int:
    """Maximum number of tokens of an engine step (``max_num_batched_tokens``)."""
    return 8192 if device.total_bytes >= LARGE_GPU else 2048


def recurrent(anatomy: Anatomy | None) -> bool:
    """Whether the model keeps recurrent states."""
    return anatomy is not None and any(group.state for group in anatomy.attention)


def per_stage(layers: int, pp: int) -> float:
    """Number of layers in the fullest pipeline stage."""
    return -(-layers // pp) / layers if layers else 1.0


@lru_cache(maxsize=4096)
def rank_weights(parts: Parts, anatomy: Anatomy, tp: int, pp: int, whole_experts: bool = False, dp: int = 1) -> int:
    """Bytes of weights on the fullest rank, of ``parts`` bytes in total.

    Split over ``tp``: query, output, feed-forward and experts evenly; key and value by heads, repeated if there are
    more ranks than heads (vLLM ``QKVParallelLinear``); the vocabulary in pieces of a multiple of 64. Whole on every
    rank: MLA's down-projections, routers, norms, and parts outside the language model. Over ``pp`` the layers are
    split; the first stage has the embedding and the last the head, a tied one is in both. With ``whole_experts`` a rank
    has whole experts, rounded up (``determine_expert_map`` in vLLM's fused_moe). ``dp`` data-parallel ranks divide only
    the experts; with ``tp``, shared experts are whole on every GPU then (``use_sequence_parallel_moe`` in vLLM's
    config/parallel.py).
    """
    kv_heads = anatomy.kv_heads or 1
    kv_share, ranks = max(1 / tp, 1 / kv_heads), tp * dp
    expert_share = -(-anatomy.experts // ranks) / anatomy.experts if whole_experts and anatomy.experts else 1 / ranks
    layers = (parts.attention + parts.mlp) / tp + parts.shared / (tp if dp == 1 else 1) + parts.experts * expert_share
    layers += parts.key_value * kv_share + parts.latent + parts.router + parts.norms
    padded = -(-anatomy.vocabulary // VOCABULARY_PAD) * VOCABULARY_PAD / max(1, anatomy.vocabulary)
    first = parts.embedding + parts.layer_embedding
    ends = (first * padded / tp, (parts.head or (parts.embedding if pp > 1 else 0)) * padded / tp)
    return round(layers * per_stage(anatomy.layers, pp) + (max(ends) if pp > 1 else sum(ends)) + parts.other)


def weights(facts: ModelFacts, anatomy: Anatomy, setup: Setup) -> int:
    """Bytes of weights on the fullest rank, with the tensors that the engine keeps beside them.

    vLLM keeps a table of rotary positions; its Marlin kernels for AWQ and GPTQ use the bytes of the scales a second
    time, and the `block_ends` of the repacked weights. Six shapes of AWQ measured with vLLM 0.26.0 on an H200: 0.7 %
    too low for Qwen2.5 7B, within 0.2 % for Llama 2 7B, 3.1 8B and 3.2 3B, Mistral 7B and Qwen2.5 14B.
    """
    parts = weight_bytes(facts, anatomy, setup.quantization)
    total = rank_weights(parts, anatomy, setup.tp, setup.pp, setup.expert_parallel, setup.dp)
    total = total * setup.element_bytes // SIXTEEN
    if setup.draft:
        total += draft_weights(setup, setup.draft)
    engine = on_gpu(setup.stack).memory
    if engine.repacks_4bit and setup.quantization in ("int4_awq", "int4_gptq"):
        group = (facts.quantization and facts.quantization.group_size) or 128
        total += round(anatomy.parts.linears * 20 / group / 8 / setup.gpus) + block_ends(anatomy, setup)
    if not engine.rotary_table:
        return total
    rotary = max((attention.key_dim for attention in anatomy.attention), default=0)
    return total + (facts.max_context or 0) * rotary * setup.element_bytes


def draft_weights(setup: Setup, draft: Draft) -> int:
    """Bytes of the weights of ``draft`` on the fullest rank (not measured)."""
    return rank_weights(draft.stored, draft.anatomy, setup.tp, 1, setup.expert_parallel, setup.dp)


def cached(anatomy: Anatomy, setup: Setup) -> tuple[Attention, ...]:
    """The layers with a KV cache or a state: those of the model, then of its draft model (not measured)."""
    return (*anatomy.attention, *(setup.draft.anatomy.attention if setup.draft else ()))


def block_ends(anatomy: Anatomy, setup: Setup) -> int:
    """Bytes that PyTorch's allocator adds to repacked 4-bit weights, on the fullest rank.

    A tensor of 1 to 10 MiB shares a segment of 20 MiB, whose remainder is split off only if it is larger than 1 MiB
    (``kSmallSize``, ``kMinLargeAlloc``, ``kLargeBuffer`` in c10/cuda/CUDACachingAllocator.cpp): modeled as rounding up
    to the next whole MiB. vLLM fuses query, key and value, and both halves of the gated layer; experts were not
    measured.
    """
    hidden, heads, layers = anatomy.hidden, anatomy.heads, anatomy.layers
    tensors = [(layers - anatomy.moe_layers, hidden * anatomy.intermediate * halves) for halves in (2, 1)]
    for attention in anatomy.attention:
        if attention.latent is None:
            both = attention.key_dim + attention.value_dim
            tensors.append((attention.layers, hidden * (heads * attention.key_dim + attention.kv_heads * both)))
            tensors.append((attention.layers, hidden * heads * attention.value_dim))
    sizes = [(count, weights // 2 // setup.tp) for count, weights in tensors]
    ends = sum(count * (-size % MIB) for count, size in sizes if MIB < size < 10 * MIB)
    return round(ends * per_stage(layers, setup.pp))


def sequence_bytes(anatomy: Anatomy, setup: Setup, tokens: int, step: int) -> int:
    """Bytes of KV cache on the fullest rank for a sequence of ``tokens`` tokens. Monotonic in ``tokens``.

    Grouped-query attention: key and value × kv heads of the rank × layers; multi-head latent attention: one compressed
    row per layer, whole on every rank, and the keys of an indexer; a sliding window keeps no more than its length plus
    the tokens of a step (vLLM ``SlidingWindowSpec``). Rounded up to whole blocks. A recurrent state has the same size
    for any number of tokens and is split over the ranks by its heads (vLLM ``MambaStateShapeCalculator``).

    Args:
        anatomy: The model.
        setup: Stack, KV dtype and split.
        tokens: Prompt and answer.
        step: See `step_tokens`.
    """
    tokens += setup.lookahead  # vLLM reserves blocks for them (``num_lookahead_tokens`` of its scheduler)
    share = per_stage(anatomy.layers, setup.pp)
    if paged := pages(anatomy, setup, tokens):
        count, size = paged
        return round(count * size * share)
    block = on_gpu(setup.stack).memory.block
    each = (_layers_bytes(attention, setup, tokens, step, block) for attention in cached(anatomy, setup))
    return round(sum(each) * share)


def pages(anatomy: Anatomy, setup: Setup, tokens: int) -> tuple[int, int] | None:
    """Number and bytes of a sequence's pages, if the engine keeps recurrent states and KV cache in pages of one size.

    A page is the KV cache of a layer for as many whole blocks of tokens as a state needs. Pages are taken for groups of
    layers; the last group of a kind is filled up. (vLLM 0.31: ``_get_kv_cache_groups_uniform_page_size`` in
    ``v1/core/kv_cache_utils.py``, ``platforms/interface.py``.) None for other engines and models.
    """
    states = [group for group in anatomy.attention if group.state]
    caches = [group for group in anatomy.attention if group.kv_heads]
    if not on_gpu(setup.stack).memory.equal_pages or len(states) != 1 or len(caches) != 1 or caches[0].window:
        return None
    (state,), (cache,) = states, caches
    block = on_gpu(setup.stack).memory.block
    token = row_elements(cache, setup) * setup.kv_bytes
    fewer, more = sorted((state.layers, cache.layers))
    group = more if more < 1.5 * fewer else fewer
    held = -(-state_bytes(state, setup) // (token * block)) * block
    count = -(-cache.layers // group) * -(-tokens // held) + -(-state.layers // group)
    return count * group, held * token


def row_elements(layers: Attention, setup: Setup) -> int:
    """Elements of a token's keys and values on a rank, in one of ``layers``."""
    if layers.latent is not None:
        return layers.latent
    return -(-layers.kv_heads // setup.tp) * (layers.key_dim + layers.value_dim)


def _layers_bytes(layers: Attention, setup: Setup, tokens: int, step: int, block: int) -> int:
    row = row_elements(layers, setup) * setup.kv_bytes
    kept, rest = kept_tokens(layers, setup, tokens, step, block), state_bytes(layers, setup) + layers.pending_bytes
    if not layers.tokens_per_row:
        return layers.layers * ((row + layers.index_bytes) * kept + rest)
    rows = -(-tokens // layers.tokens_per_row)
    return layers.layers * (row * kept + (row + layers.index_bytes) * rows + rest)


def state_bytes(layers: Attention, setup: Setup) -> int:
    """Bytes of a sequence's recurrent state on a rank, in one of ``layers``."""
    state = layers.state
    if state is None:
        return 0
    known = on_gpu(setup.stack).memory.states
    stated = next((type_ for field, type_ in state.stated if field in known.fields), None)
    unstated = "float32" if state.kind in known.float32 or known.unstated == "float32" else setup.dtype
    return -(-state.bytes(STATE_BYTES[stated or unstated], setup.element_bytes) // setup.tp)


def kept_tokens(layers: Attention, setup: Setup, tokens: int, step: int, block: int) -> int:
    """Tokens of a sequence of ``tokens`` that ``layers`` keep, in whole blocks of ``block``."""
    kept = tokens
    if layers.window is not None:
        more = step if on_gpu(setup.stack).memory.window_keeps_step else 0
        kept = min(tokens, layers.window - 1 + more + block)
    return -(-kept // block) * block


def activations(anatomy: Anatomy, setup: Setup, users: int, step: int) -> int:
    """Peak memory of a step that is freed afterwards, in bytes on one rank.

    Feed-forward of a full step: 2 bytes (float32: 4) × tokens × (two halves of the gated layer ÷ tp + 7 × hidden
    size); or the output projection, twice its size plus two rows of the residual stream. Measured with vLLM 0.26.0 on
    an H200 and predicted within 3 % of the larger; logs of vLLM 0.6 to 0.8 with 20,000 and 29,000 tokens within 4 %.
    Whole experts are not divided by tp: vLLM's buffers are for the full width (``fused_moe.py``; not measured). Data
    parallel ranks gather the tokens of all of them before the experts (``allgather_reducescatter``, the default of
    ``all2all_backend`` in vLLM's config/parallel.py; not measured).
    """
    hidden, vocabulary, element = anatomy.hidden, anatomy.vocabulary, setup.element_bytes
    wide = max(anatomy.intermediate, anatomy.expert_intermediate * anatomy.experts_per_token)
    if on_gpu(setup.stack).memory.activations == "logits":
        return element * step * setup.dp * (2 * wide + 7 * hidden) + 4 * users * vocabulary * 2
    layer = element * step * setup.dp * (2 * wide // (1 if setup.expert_parallel else setup.tp) + 7 * hidden)
    head = element * (vocabulary * hidden // setup.tp + 2 * step * hidden)
    # Verifying proposed tokens: logits and probabilities of each in float32 (vLLM's rejection sampler; not measured).
    verified = 8 * users * (1 + setup.lookahead) * vocabulary + element * 2 * step * hidden if setup.lookahead else 0
    return max(layer, head, verified)


def graphs(anatomy: Anatomy, users: int) -> int:
    """Bytes of CUDA graphs: 0.07 GiB plus 0.18 MiB per layer for every captured batch size (measured, vLLM 0.26.0).

    vLLM captures 1, 2, 4, every 8 up to 256 and every 16 up to 512, for mixed steps up to twice the users and for
    decoding up to the users (``CompilationConfig``).
    """

    return round(0.07 * GIB + 0.18 * MIB * anatomy.layers * (_captured(2 * users) + _captured(users)))


def _captured(most: int) -> int:
    """Number of captured batch sizes up to ``most``."""
    most = min(512, most)
    return 1 + (most >= 2) + (most >= 4) + min(most, 248) // 8 + max(0, (most - 240) // 16)


def overhead(anatomy: Anatomy, setup: Setup, users: int) -> int:
    """Bytes on a GPU besides weights, cache and activations: CUDA context, libraries, links, CUDA graphs.

    Corrected by measurements on this machine, never below 0.
    """
    return max(0, on_gpu(setup.stack).memory.buffer_bytes + outside(anatomy, setup, users) + setup.correction_bytes)


def outside(anatomy: Anatomy, setup: Setup, users: int) -> int:
    """The part of the overhead that vLLM does not count in ``gpu_memory_utilization``: contexts, links, graphs
    (measured).
    """
    engine = on_gpu(setup.stack).memory
    captured = graphs(anatomy, users * (1 + setup.lookahead)) if engine.graphs else 0
    return setup.triton_bytes + engine.context_bytes + (engine.link_bytes if setup.gpus > 1 else 0) + captured


def bill(
    facts: ModelFacts, anatomy: Anatomy, device: Device, setup: Setup, users: int, length: int, budget: int
) -> Memory:
    """The memory breakdown of a GPU for ``users`` concurrent sequences of at most ``length`` tokens.

    The rest of the budget becomes KV cache; tokens and bytes are equivalent: capacity =
    cache ÷ bytes per token, and bytes per token are those of a sequence of ``length``.
    """
    step = step_tokens(device)
    loaded = weights(facts, anatomy, setup)
    peak = activations(anatomy, setup, users, step)
    beside = overhead(anatomy, setup, users)
    room = max(0, budget - loaded - peak - beside)
    engine = on_gpu(setup.stack).memory
    if engine.cache_of_free is not None:
        room = min(room, int(engine.cache_of_free * max(0, device.free_bytes - loaded - peak - beside)))
    token = max(1, -(-sequence_bytes(anatomy, setup, length, step) // length))
    tokens = room // token // engine.block * engine.block
    return Memory(loaded, token, tokens, peak, beside, loaded + peak + beside + tokens * token, budget)


def kv_fraction(device: Device, setup: Setup, bill: Memory) -> float:
    """The share of the memory free after loading that may become KV cache within the budget; rounded down to
    1/10,000.
    """
    loaded = bill.weights_bytes + bill.activation_bytes + bill.overhead_bytes
    within = max(0, bill.budget_bytes - loaded) / max(1, device.free_bytes - loaded)
    return int(min(on_gpu(setup.stack).memory.cache_of_free or 1.0, within) * 10_000) / 10_000
