"""The explanation of figures: each figure of a choice with its formula, its actual numbers, and their source. Pure.

Values are those of the choice; the terms come from the functions that computed them. In a formula ``⌈ ⌉`` rounds up,
``⌊ ⌋`` down, ``max(a; b)`` and ``min(a; b)`` select one of two; words only label numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

from wizard.advise import cpu, encoders, memory, speculation
from wizard.advise.advice import Choice, Memory
from wizard.advise.devices import Device, group
from wizard.advise.setup import Setup
from wizard.advise.titles import format_title
from wizard.catalog.environments import environment_of
from wizard.catalog.stacks import cpu_stacks, on_gpu
from wizard.kernel.language import mark, tr
from wizard.kernel.units import GIB, MIB, size
from wizard.model import gguf_files
from wizard.model.anatomy import Anatomy, Attention, Parts
from wizard.model.facts import ModelFacts
from wizard.model.formats import SIXTEEN, of, weight_bytes
from wizard.model.quantization import NONE
from wizard.probe.host import Host
from wizard.texts import explain_offload, explain_speed, units
from wizard.texts.figure import Figure

__all__ = ["Figure", "figures"]

CONFIG = mark("the model's config.json, with the formulas for its architecture")
UNREAD = mark("size of the file, which was not read: as the hub lists it, or from the bits of its type")
HEADERS = mark("the headers of the safetensors files")
MEASURED = mark("measured with vLLM 0.26.0 on an H200: wizard/advise/memory.py")
ALIKE = mark("measured with vLLM 0.26.0 and adjusted for this stack: wizard/advise/memory.py")


PARTS = {
    "embedding": mark("{amount} embedding"),
    "layer_embedding": mark("{amount} per-layer embedding"),
    "head": mark("{amount} LM head"),
    "attention": mark("{amount} attention"),
    "key_value": mark("{amount} key and value"),
    "latent": mark("{amount} latent"),
    "mlp": mark("{amount} MLP"),
    "experts": mark("{amount} experts"),
    "shared": mark("{amount} shared"),
    "router": mark("{amount} router"),
    "norms": mark("{amount} norms"),
    "other": mark("{amount} other"),
}
"""A part of `Parts` in a sum."""


def figures(host: Host, facts: ModelFacts, choice: Choice) -> tuple[Figure, ...]:
    """Every figure of ``choice``, recommended for ``facts`` on ``host``, in the order of the computation."""
    if (fetched := choice.checkpoint) and fetched.file:
        facts = gguf_files.as_named(facts, fetched.ref, fetched.file, fetched.bytes)
    if choice.offload:
        return tuple(explain_offload.figures(host, facts, choice, choice.offload))
    if not choice.devices:
        return tuple(_on_cpu(host, facts, choice))
    facts = encoders.loaded(facts, choice.stack, choice.engine_version)
    anatomy, device = facts.anatomy, _device(host, choice)
    if anatomy is None or device is None:
        return ()
    asked = Setup(
        choice.stack,
        choice.dtype,
        choice.quantization or NONE,
        choice.kv_cache_dtype,
        choice.tp,
        choice.pp,
        choice.dp,
        choice.expert_parallel,
        choice.speculative,
    )
    setup = speculation.prepared(replace(facts, draft=choice.draft), asked)
    return (
        *_weights(facts, anatomy, setup, choice),
        *_cache(anatomy, device, setup, choice),
        *_beside(anatomy, device, setup, choice),
        *explain_speed.figures(facts, device, setup, choice),
        *explain_speed.costs(choice),
    )


def _device(host: Host, choice: Choice) -> Device | None:
    return group(host, choice.devices, choice.slices)


# -- weights -----------------------------------------------------------------------------------------------------------


def _sum(parts: Parts) -> str:
    named = ((field.name, getattr(parts, field.name)) for field in fields(Parts))
    return " + ".join(tr(PARTS[name], amount=f"{amount:,}") for name, amount in named if amount)


def _weights(facts: ModelFacts, anatomy: Anatomy, setup: Setup, choice: Choice) -> Iterator[Figure]:
    parts, known = anatomy.parts, of(facts, setup.quantization)
    yield Figure(tr("Parameters"), parts.total, "parameters", _sum(parts), tr(CONFIG))
    stored = weight_bytes(facts, anatomy, setup.quantization)
    title = format_title(setup.quantization, setup.dtype)
    if stored is facts.stored:
        yield Figure(tr("Weights of the whole model"), stored.total, "bytes", _sum(stored), tr(HEADERS))
    elif facts.quantization and facts.quantization.parts:
        others = [tr(PARTS[part], amount=format_title(name, setup.dtype)) for part, name in facts.quantization.parts]
        source = tr("{format}, except {parts}; wizard/model/formats.py", format=title, parts=", ".join(others))
        yield Figure(tr("Weights of the whole model"), stored.total, "bytes", _sum(stored), source)
    else:
        small = parts.experts if known.experts_only else parts.linears
        formula = tr(
            "{small:,} × {bits:.10g} bits ÷ 8 + {rest:,} × {bytes} bytes",
            small=small,
            bits=known.bits_per_weight,
            rest=parts.total - small,
            bytes=SIXTEEN,
        )
        scales = tr("{bits:g} bits", bits=known.bits)
        if known.group:
            scales = tr(
                "{bits:g} bits plus {scales} bits of scales per {group} weights",
                bits=known.bits,
                scales=known.scale_bits,
                group=known.group,
            )
        source = f"{title}: {scales}; wizard/model/formats.py"
        yield Figure(tr("Weights of the whole model"), stored.total, "bytes", formula, source)
    source = tr("what is split, and what every GPU holds in full: wizard/advise/memory.py (vLLM's layers)")
    formula = _rank(facts, anatomy, setup, stored)
    yield Figure(tr("Weights on the fullest GPU"), choice.memory.weights_bytes, "bytes", formula, source)


def _rank(facts: ModelFacts, anatomy: Anatomy, setup: Setup, parts: Parts) -> str:
    """`memory.weights`, written out."""
    tp, vocabulary = setup.tp, max(1, anatomy.vocabulary)
    padded = -(-vocabulary // memory.VOCABULARY_PAD) * memory.VOCABULARY_PAD
    pad = f" × {padded:,} ÷ {vocabulary:,}" if padded != anatomy.vocabulary else ""
    split = parts.attention + parts.mlp + (0 if setup.expert_parallel else parts.experts)
    split += parts.shared if setup.dp == 1 else 0
    both = tr("{amount} key and value", amount=f"{parts.key_value:,}{_over(min(tp, anatomy.kv_heads or 1))}")
    layers = " + ".join((tr("{amount} split", amount=f"{split:,}{_over(tp)}"), both))
    if setup.expert_parallel:
        held = f"{parts.experts:,} × ⌈{anatomy.experts} ÷ {tp * setup.dp}⌉ ÷ {anatomy.experts}"
        layers += " + " + tr("{amount} split", amount=held)
    if whole := parts.latent + parts.router + parts.norms + (0 if setup.dp == 1 else parts.shared):
        layers += " + " + tr("{amount} replicated", amount=f"{whole:,}")
    ends = tr("{amount} embedding", amount=f"{parts.embedding + parts.layer_embedding:,}{pad}{_over(tp)}")
    head = tr("{amount} LM head", amount=f"{parts.head or parts.embedding:,}{pad}{_over(tp)}")
    if setup.pp > 1:
        layers, ends = f"({layers}){_stage(anatomy, setup)}", f"max({ends}; {head})"
    elif parts.head:
        ends += f" + {head}"
    more = [tr("{amount} outside the language model", amount=f"{parts.other:,}")] if parts.other else []
    stored = " + ".join([layers, ends, *more])
    more = [stored if setup.element_bytes == SIXTEEN else f"({stored}) × {setup.element_bytes} ÷ {SIXTEEN}"]
    if setup.draft:
        more.append(tr("{amount} for proposing tokens", amount=f"{memory.draft_weights(setup, setup.draft):,}"))
    engine = on_gpu(setup.stack).memory
    if engine.repacks_4bit and setup.quantization in ("int4_awq", "int4_gptq"):
        group = (facts.quantization and facts.quantization.group_size) or 128
        scales = f"{anatomy.parts.linears:,} × 20 ÷ {group} ÷ 8{_over(setup.gpus)}"
        more.append(tr("{amount} duplicated scales", amount=scales))
        if rest := memory.block_ends(anatomy, setup):
            more.append(tr("{amount} block rounding", amount=f"{rest:,}"))
    if engine.rotary_table:
        rotary = max((group.key_dim for group in anatomy.attention), default=0)
        if rotary and facts.max_context:
            rows = tr(
                "{count:,} positions × {width} × {bytes} bytes",
                count=facts.max_context,
                width=rotary,
                bytes=setup.element_bytes,
            )
            more.append(rows)
    return " + ".join(more)


def _stage(anatomy: Anatomy, setup: Setup) -> str:
    """The share of the layers in the fullest pipeline stage, as a factor."""
    stage = -(-anatomy.layers // setup.pp)
    return " × " + tr("{stage} ÷ {layers} layers", stage=stage, layers=anatomy.layers) if setup.pp > 1 else ""


def _over(ranks: int) -> str:
    return f" ÷ {ranks}" if ranks > 1 else ""


# -- KV cache ----------------------------------------------------------------------------------------------------------


def _cache(anatomy: Anatomy, device: Device, setup: Setup, choice: Choice) -> Iterator[Figure]:
    bill, engine = choice.memory, on_gpu(setup.stack).memory
    length, users = choice.max_seq_len, choice.max_batch_size
    step = memory.step_tokens(device)
    sequence = memory.sequence_bytes(anatomy, setup, length, step)
    stage = _stage(anatomy, setup)
    cached = memory.cached(anatomy, setup)
    keeps = [group for group in cached if group.latent or group.kv_heads]
    groups = [row for group in keeps for row in _group(group, setup, length + setup.lookahead, step, engine.block)]
    each = [(group.layers, memory.state_bytes(group, setup) + group.pending_bytes) for group in cached]
    states = [
        tr("{layers} layers × {bytes:,} bytes of state", layers=layers, bytes=held) for layers, held in each if held
    ]
    terms = [tr("{row} × {tokens:,} tokens", row=row, tokens=tokens) for row, tokens in groups]
    paged = memory.pages(anatomy, setup, length)
    formula = (
        tr("{count} pages × {bytes:,} bytes", count=paged[0], bytes=paged[1])
        if paged
        else " + ".join((*terms, *states))
    )
    formula = f"({formula}){stage}" if stage else formula
    blocks = tr("KV cache {dtype}, blocks of {tokens} tokens", dtype=choice.kv_cache_dtype, tokens=engine.block)
    source = f"{tr(CONFIG)}; {blocks}"
    yield Figure(tr("KV cache per user"), sequence, "bytes", formula, source)
    if not states and all(tokens == length for _, tokens in groups):
        rows = " + ".join(row for row, _ in groups)
        formula = f"⌈({rows}){stage}⌉" if stage else rows
    else:
        formula = tr("⌈{bytes:,} ÷ {tokens:,} tokens⌉", bytes=sequence, tokens=length)
    yield Figure(tr("KV cache per token"), bill.kv_bytes_per_token, "bytes", formula, source)
    needed = users * length * bill.kv_bytes_per_token
    formula = tr(
        "{users} × {tokens:,} tokens × {bytes:,} bytes",
        users=units.users(users),
        tokens=length,
        bytes=bill.kv_bytes_per_token,
    )
    yield Figure(
        tr("KV cache needed"), needed, "bytes", formula, tr("requested users and context, or the wizard's defaults")
    )
    taken = f"{bill.weights_bytes:,} − {bill.activation_bytes:,} − {bill.overhead_bytes:,}"
    room = f"({bill.budget_bytes:,} − {taken})"
    source = tr("the rest of the usable memory")
    if engine.cache_of_free is not None:
        free = tr("{bytes:,} free", bytes=device.free_bytes)
        room = f"min({room}; ⌊{engine.cache_of_free} × ({free} − {taken})⌋)"
        source = tr(
            "the rest of the usable memory, at most {share} of the memory free after loading",
            share=engine.cache_of_free,
        )
    formula = f"⌊{room} ÷ {bill.kv_bytes_per_token:,} ÷ {engine.block}⌋ × {engine.block}"
    yield Figure(tr("KV cache available"), bill.kv_capacity_tokens, "tokens", formula, source)


def _group(group: Attention, setup: Setup, length: int, step: int, block: int) -> Iterator[tuple[str, int]]:
    """Bytes per token in a group of layers, written out, and the tokens that they keep; then the compressed rows."""
    if group.latent is not None:
        row = tr("{layers} layers × {width}", layers=group.layers, width=group.latent)
    else:
        heads = f"⌈{group.kv_heads} ÷ {setup.tp}⌉" if setup.tp > 1 else str(group.kv_heads)
        dims = f"{group.key_dim} + {group.value_dim}"
        row = tr("{layers} layers × {heads} KV heads × {width}", layers=group.layers, heads=heads, width=f"({dims})")
        if group.key_dim == group.value_dim:
            row = "2 × " + tr(
                "{layers} layers × {heads} KV heads × {width}", layers=group.layers, heads=heads, width=group.key_dim
            )
    row = tr("{row} × {bytes} bytes", row=row, bytes=setup.kv_bytes)
    kept = memory.kept_tokens(group, setup, length, step, block)
    if group.tokens_per_row:
        yield row, kept
        kept = -(-length // group.tokens_per_row)
    if group.index_bytes:
        index = tr("{layers} layers × {bytes:,} bytes of index keys", layers=group.layers, bytes=group.index_bytes)
        row = f"({row} + {index})"
    yield row, kept


# -- the rest of the memory --------------------------------------------------------------------------------------------


def _beside(anatomy: Anatomy, device: Device, setup: Setup, choice: Choice) -> Iterator[Figure]:
    bill, known, users = choice.memory, on_gpu(setup.stack), choice.max_batch_size
    engine = known.memory
    source = tr(MEASURED if engine.measured else ALIKE)
    yield Figure(tr("Activations"), bill.activation_bytes, "bytes", _peak(anatomy, device, setup, users), source)
    captured = memory.graphs(anatomy, users * (1 + setup.lookahead)) if engine.graphs else 0
    if captured:
        batches = round((captured - 0.07 * GIB) / (0.18 * MIB * anatomy.layers))
        formula = tr(
            "0.07 × {gib:,} + 0.18 × {mib:,} × {layers} layers × {batches} batch sizes",
            gib=GIB,
            mib=MIB,
            layers=anatomy.layers,
            batches=batches,
        )
        yield Figure(tr("CUDA graphs"), captured, "bytes", formula, source)
    links = engine.link_bytes if setup.gpus > 1 else 0
    named = (
        (mark("{amount} CUDA context"), engine.context_bytes),
        (mark("{amount} CUDA context of Triton"), memory.triton(setup.stack, choice.runtime)),
        (mark("{amount} libraries"), engine.buffer_bytes),
        (mark("{amount} links"), links),
        (mark("{amount} graphs"), captured),
        (mark("{amount} measured here"), choice.correction_bytes),  # a calibration of this machine
    )
    formula = " + ".join(tr(name, amount=f"{amount:,}") for name, amount in named if amount)
    yield Figure(tr("Overhead"), bill.overhead_bytes, "bytes", formula, source)
    formula = _total(bill)
    yield Figure(tr("Total per GPU"), bill.total_bytes, "bytes", formula, tr("the rows above"))
    share = choice.gpu_memory_utilization or 0.0
    outside = bill.budget_bytes - int(share * device.total_bytes)
    formula = tr(
        "⌊{share:g} × {total:,}⌋ + {outside:,} outside this share",
        share=share,
        total=device.total_bytes,
        outside=outside,
    )
    name = known.cache.knob if known.cache.counts_of == "total" else tr("share")
    source = tr(
        "{share} of what CUDA can use on the {gpu}; {free} free",
        share=name,
        gpu=device.name,
        free=size(device.free_bytes),
    )
    yield Figure(tr("Usable memory"), bill.budget_bytes, "bytes", formula, source)


def _total(bill: Memory) -> str:
    cache = tr("{tokens:,} tokens × {bytes:,}", tokens=bill.kv_capacity_tokens, bytes=bill.kv_bytes_per_token)
    return f"{bill.weights_bytes:,} + {bill.activation_bytes:,} + {bill.overhead_bytes:,} + {cache}"


def _peak(anatomy: Anatomy, device: Device, setup: Setup, users: int) -> str:
    """`memory.activations`, written out."""
    step, hidden, vocabulary, tp = memory.step_tokens(device), anatomy.hidden, anatomy.vocabulary, setup.tp
    wide = max(anatomy.intermediate, anatomy.expert_intermediate * anatomy.experts_per_token, 1)
    half = tr("{bytes} bytes × {tokens:,} tokens per step", bytes=setup.element_bytes, tokens=step * setup.dp)
    if on_gpu(setup.stack).memory.activations == "logits":
        return f"{half} × (2 × {wide:,} + 7 × {hidden:,}) + 4 × {users:,} × {vocabulary:,} × 2"
    layer = f"{half} × (⌊2 × {wide:,} ÷ {1 if setup.expert_parallel else tp}⌋ + 7 × {hidden:,})"
    head = f"{setup.element_bytes} × (⌊{vocabulary:,} × {hidden:,} ÷ {tp}⌋ + 2 × {step:,} × {hidden:,})"
    if setup.lookahead:
        verified = f"8 × {users:,} × {1 + setup.lookahead} × {vocabulary:,}"
        head += f"; {verified} + {setup.element_bytes} × 2 × {step:,} × {hidden:,}"
    return f"max({layer}; {head})"


# -- on the CPU --------------------------------------------------------------------------------------------------------


def _on_cpu(host: Host, facts: ModelFacts, choice: Choice) -> Iterator[Figure]:
    bill, users, length = choice.memory, choice.max_batch_size, choice.max_seq_len
    if choice.stack not in cpu_stacks() or not cpu.caches(facts):
        return
    engine = cpu.on_cpu(choice.stack)
    unread = facts.gguf_layers is not None and facts.gguf_layers.estimated
    origin = tr(CONFIG) if unread else tr("the file's header")
    sizes = [weight.bytes for weight in facts.weights if weight.bytes] or [bill.weights_bytes]
    formula = " + ".join(f"{count:,}" for count in sizes)
    source = tr(UNREAD) if unread else tr("size of the memory-mapped files")
    yield Figure(tr("Weights"), bill.weights_bytes, "bytes", formula, source)
    element = cpu.KV_BYTES[engine.cache]
    rows = [
        tr("{layers} layers × {heads} KV heads × {width}", layers=each.layers, heads=each.kv_heads, width=each.key_dim)
        for each in cpu.caches(facts)
    ]
    row = "2 × " + (rows[0] if len(rows) == 1 else f"({' + '.join(rows)})")
    formula = tr("{row} × {bytes} bytes", row=row, bytes=element)
    yield Figure(tr("KV cache per token"), bill.kv_bytes_per_token, "bytes", formula, origin)
    formula = tr("{users} × {tokens:,} tokens", users=units.users(users), tokens=length)
    yield Figure(
        tr("KV cache"),
        bill.kv_capacity_tokens,
        "tokens",
        formula,
        tr("requested users and context, or the wizard's defaults"),
    )
    row = f"(3 × {cpu.feed_forward(facts):,} + 5 × {facts.hidden_size or 0:,})"
    formula = tr(
        "{piece} tokens × {row} × 4 bytes + {piece} tokens × {tokens:,} × 2 bytes + {users} × {vocabulary:,} × 4 bytes",
        piece=engine.piece_tokens,
        row=row,
        tokens=length,
        users=units.users(users),
        vocabulary=facts.vocabulary or 0,
    )
    source = tr(
        "llama.cpp's n_ubatch, feed-forward and residual stream, attention mask and logits, measured from its log"
    )
    yield Figure(tr("Activations"), bill.activation_bytes, "bytes", formula, source)
    server = environment_of(choice.stack).server_bytes
    formula = f"{server:,} + {facts.vocabulary or 0:,} × {engine.tokenizer_bytes}"
    if choice.correction_bytes:
        formula += f" + {choice.correction_bytes:,}"  # a calibration of this machine
    source = tr("the server without a model, plus its tokenizer, measured")
    yield Figure(tr("Overhead"), bill.overhead_bytes, "bytes", formula, source)
    formula = _total(bill)
    yield Figure(tr("Total"), bill.total_bytes, "bytes", formula, tr("the rows above"))
    if host.memory_available_bytes is not None:
        formula = f"⌊{host.memory_available_bytes:,} × (1 − {cpu.RESERVE})⌋"
        source = tr("90% of free memory")
        yield Figure(tr("Usable memory"), bill.budget_bytes, "bytes", formula, source)
