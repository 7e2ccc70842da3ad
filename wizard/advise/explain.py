"""Why these numbers: each figure of a choice with its formula, the real numbers in it, and where they are from. Pure.

Values are those of the choice; the terms come from the functions that computed them. In a formula ``⌈ ⌉`` rounds up,
``⌊ ⌋`` down, ``max(a; b)`` and ``min(a; b)`` take one of two; words only say what a number is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from wizard.advise import cpu, memory, speed
from wizard.advise.advice import Choice
from wizard.advise.devices import Device, devices
from wizard.advise.formats import NONE, SIXTEEN, of, weight_bytes
from wizard.advise.report import format_title
from wizard.advise.setup import Setup
from wizard.catalog.environments import environment
from wizard.catalog.speed import fit
from wizard.kernel.units import GIB, MIB, size
from wizard.model.anatomy import Anatomy, Attention, Parts
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host

CONFIG = "the model's config.json, by the formulas of its architecture"
HEADERS = "the headers of the safetensors files"
MEASURED = "measured with vLLM 0.26.0 on an H200: wizard/advise/memory.py"
ALIKE = "as measured with vLLM 0.26.0, with what is known of this stack: wizard/advise/memory.py"


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its formula.

    Attributes:
        name: What it is.
        value: In ``unit``.
        unit: ``bytes``, ``tokens``, ``ms``, ``tokens/s``, ``parameters``.
        formula: What it was computed from, with the numbers written out.
        source: Where they are from.
    """

    name: str
    value: float
    unit: str
    formula: str
    source: str

    @property
    def result(self) -> str:
        """The value for people: ``81,920 bytes (80 KiB)``."""
        if self.unit == "bytes":
            return f"{self.value:,.0f} bytes ({size(int(self.value))})"
        return f"{self.value:,.{0 if self.unit in ('tokens', 'parameters') else 2}f} {self.unit}"


def figures(host: Host, facts: ModelFacts, choice: Choice) -> tuple[Figure, ...]:
    """Every number of ``choice``, which was advised for ``facts`` on ``host``, in the order of the computation."""
    if not choice.devices:
        return tuple(_on_cpu(host, facts, choice))
    anatomy, device = facts.anatomy, _device(host, choice)
    if anatomy is None or device is None:
        return ()
    setup = Setup(choice.stack, choice.dtype, choice.quantization or NONE, choice.kv_cache_dtype, choice.tp, choice.pp)
    return (
        *_weights(facts, anatomy, setup, choice),
        *_cache(anatomy, device, setup, choice),
        *_beside(anatomy, device, setup, choice),
        *_speed(facts, device, setup, choice),
    )


def _device(host: Host, choice: Choice) -> Device | None:
    return next((one for one in devices(host) if set(choice.devices) <= set(one.indices)), None)


# -- weights -----------------------------------------------------------------------------------------------------------


def _sum(parts: Parts) -> str:
    named = ((one.name.replace("_", " "), getattr(parts, one.name)) for one in fields(Parts))
    return " + ".join(f"{amount:,} {name}" for name, amount in named if amount)


def _weights(facts: ModelFacts, anatomy: Anatomy, setup: Setup, choice: Choice) -> Iterator[Figure]:
    parts, found = anatomy.parts, of(facts, setup.quantization)
    yield Figure("Parameters", parts.total, "parameters", _sum(parts), CONFIG)
    stored = weight_bytes(facts, anatomy, setup.quantization)
    title = format_title(setup.quantization, setup.dtype)
    if stored is facts.stored:
        yield Figure("Weights of the whole model", stored.total, "bytes", _sum(stored), HEADERS)
    else:
        small = parts.experts if found.experts_only else parts.linears
        formula = f"{small:,} × {found.bits_per_weight:.10g} bits ÷ 8 + {parts.total - small:,} × {SIXTEEN} bytes"
        scales = f"{found.bits:g} bits and {found.scale_bits} bits of scales for {found.group} weights"
        source = f"{title}: {scales if found.group else f'{found.bits:g} bits'}; wizard/advise/formats.py"
        yield Figure("Weights of the whole model", stored.total, "bytes", formula, source)
    source = "what is split and what is whole on every GPU: wizard/advise/memory.py (vLLM's layers)"
    formula = _rank(facts, anatomy, setup, stored)
    yield Figure("Weights on the fullest GPU", choice.memory.weights_bytes, "bytes", formula, source)


def _rank(facts: ModelFacts, anatomy: Anatomy, setup: Setup, parts: Parts) -> str:
    """`memory.weights`, written out."""
    tp, vocabulary = setup.tp, max(1, anatomy.vocabulary)
    padded = -(-vocabulary // memory.VOCABULARY_PAD) * memory.VOCABULARY_PAD
    pad = f" × {padded:,} ÷ {vocabulary:,}" if padded != anatomy.vocabulary else ""
    split = parts.attention + parts.mlp + parts.experts + parts.shared
    layers = f"{split:,}{_over(tp)} split + {parts.key_value:,}{_over(min(tp, anatomy.kv_heads or 1))} key and value"
    if whole := parts.latent + parts.router + parts.norms:
        layers += f" + {whole:,} whole"
    ends = f"{parts.embedding:,}{pad}{_over(tp)} embedding"
    if setup.pp > 1:
        head = f"{parts.head or parts.embedding:,}{pad}{_over(tp)} head"
        layers, ends = (
            f"({layers}) × {-(-anatomy.layers // setup.pp)} ÷ {anatomy.layers} layers",
            f"max({ends}; {head})",
        )
    elif parts.head:
        ends += f" + {parts.head:,}{pad}{_over(tp)} head"
    more = [f"{parts.other:,} beside the language model"] if parts.other else []
    if setup.stack == "vllm":
        if setup.quantization in ("int4_awq", "int4_gptq"):
            group = (facts.quantization and facts.quantization.group_size) or 128
            more.append(f"{anatomy.parts.linears:,} × 20 ÷ {group} ÷ 8{_over(setup.gpus)} scales once more")
            if rest := memory.block_ends(anatomy, setup):
                more.append(f"{rest:,} to the ends of blocks")
        rotary = max((one.key_dim for one in anatomy.attention), default=0)
        if rotary and facts.max_context:
            more.append(f"{facts.max_context:,} positions × {rotary} × {SIXTEEN} bytes")
    return " + ".join([layers, ends, *more])


def _over(ranks: int) -> str:
    return f" ÷ {ranks}" if ranks > 1 else ""


# -- KV cache ----------------------------------------------------------------------------------------------------------


def _cache(anatomy: Anatomy, device: Device, setup: Setup, choice: Choice) -> Iterator[Figure]:
    bill, engine, length, users = choice.memory, memory.ENGINES[setup.stack], choice.max_seq_len, choice.max_batch_size
    step = memory.step_tokens(device)
    sequence = memory.sequence_bytes(anatomy, setup, length, step)
    stage = f" × {-(-anatomy.layers // setup.pp)} ÷ {anatomy.layers} layers" if setup.pp > 1 else ""
    groups = [_group(one, setup, length, step, engine.block) for one in anatomy.attention]
    formula = " + ".join(f"{row} × {tokens:,} tokens" for row, tokens in groups)
    formula = f"({formula}){stage}" if stage else formula
    source = f"{CONFIG}; KV cache {choice.kv_cache_dtype}, blocks of {engine.block} tokens"
    yield Figure("KV cache for one person", sequence, "bytes", formula, source)
    if all(tokens == length for _, tokens in groups):
        rows = " + ".join(row for row, _ in groups)
        formula = f"⌈({rows}){stage}⌉" if stage else rows
    else:
        formula = f"⌈{sequence:,} ÷ {length:,} tokens⌉"
    yield Figure("KV cache for one token", bill.kv_bytes_per_token, "bytes", formula, source)
    needed = users * length * bill.kv_bytes_per_token
    formula = f"{users:,} people × {length:,} tokens × {bill.kv_bytes_per_token:,} bytes"
    yield Figure("KV cache that is needed", needed, "bytes", formula, "the wished people and context, or the wizard's")
    taken = f"{bill.weights_bytes:,} − {bill.activation_bytes:,} − {bill.overhead_bytes:,}"
    room = f"({bill.budget_bytes:,} − {taken})"
    source = "what nothing else of the budget takes"
    if engine.of_free is not None:
        room = f"min({room}; ⌊{engine.of_free} × ({device.free_bytes:,} free − {taken})⌋)"
        source = f"{source}, and at most {engine.of_free} of what is free after loading"
    formula = f"⌊{room} ÷ {bill.kv_bytes_per_token:,} ÷ {engine.block}⌋ × {engine.block}"
    yield Figure("KV cache that there is room for", bill.kv_capacity_tokens, "tokens", formula, source)


def _group(one: Attention, setup: Setup, length: int, step: int, block: int) -> tuple[str, int]:
    """Bytes of a token in a group of layers, written out, and the tokens that they keep."""
    if one.latent is not None:
        row = f"{one.layers} layers × {one.latent}"
    else:
        heads = f"⌈{one.kv_heads} ÷ {setup.tp}⌉" if setup.tp > 1 else str(one.kv_heads)
        dims = f"{one.key_dim} + {one.value_dim}"
        row = f"{one.layers} layers × {heads} kv heads × ({dims})"
        if one.key_dim == one.value_dim:
            row = f"2 × {one.layers} layers × {heads} kv heads × {one.key_dim}"
    return f"{row} × {setup.kv_bytes} bytes", memory.kept_tokens(one, setup, length, step, block)


# -- the rest of the memory --------------------------------------------------------------------------------------------


def _beside(anatomy: Anatomy, device: Device, setup: Setup, choice: Choice) -> Iterator[Figure]:
    bill, engine, users = choice.memory, memory.ENGINES[setup.stack], choice.max_batch_size
    source = MEASURED if setup.stack == "vllm" else ALIKE
    yield Figure("Activations", bill.activation_bytes, "bytes", _peak(anatomy, device, setup, users), source)
    captured = memory.graphs(anatomy, users) if engine.graphs else 0
    if captured:
        batches = round((captured - 0.07 * GIB) / (0.18 * MIB * anatomy.layers))
        formula = f"0.07 × {GIB:,} + 0.18 × {MIB:,} × {anatomy.layers} layers × {batches} batch sizes"
        yield Figure("CUDA graphs", captured, "bytes", formula, source)
    links = engine.links if setup.gpus > 1 else 0
    named = (
        ("CUDA context", engine.context),
        ("libraries", engine.buffers),
        ("links", links),
        ("graphs", captured),
        ("measured here", choice.correction_bytes),  # a calibration of this machine
    )
    formula = " + ".join(f"{amount:,} {name}" for name, amount in named if amount)
    yield Figure("Overhead", bill.overhead_bytes, "bytes", formula, source)
    cache = f"{bill.kv_capacity_tokens:,} tokens × {bill.kv_bytes_per_token:,}"
    formula = f"{bill.weights_bytes:,} + {bill.activation_bytes:,} + {bill.overhead_bytes:,} + {cache}"
    yield Figure("Total on each GPU", bill.total_bytes, "bytes", formula, "the rows above")
    share = choice.gpu_memory_utilization or 0.0
    outside = bill.budget_bytes - int(share * device.total_bytes)
    formula = f"⌊{share:g} × {device.total_bytes:,}⌋ + {outside:,} that it does not count"
    name = "gpu_memory_utilization" if setup.stack == "vllm" else "share"
    source = f"{name} of what CUDA can use of a {device.name}; {size(device.free_bytes)} are free"
    yield Figure("Memory that may be used", bill.budget_bytes, "bytes", formula, source)


def _peak(anatomy: Anatomy, device: Device, setup: Setup, users: int) -> str:
    """`memory.activations`, written out."""
    step, hidden, vocabulary, tp = memory.step_tokens(device), anatomy.hidden, anatomy.vocabulary, setup.tp
    wide = max(anatomy.intermediate, anatomy.expert_intermediate * anatomy.experts_per_token, 1)
    half = f"{SIXTEEN} bytes × {step:,} tokens of a step"
    if setup.stack == "transformers":
        return f"{half} × (2 × {wide:,} + 7 × {hidden:,}) + 4 × {users:,} × {vocabulary:,} × 2"
    layer = f"{half} × (⌊2 × {wide:,} ÷ {tp}⌋ + 7 × {hidden:,})"
    return f"max({layer}; {SIXTEEN} × (⌊{vocabulary:,} × {hidden:,} ÷ {tp}⌋ + 2 × {step:,} × {hidden:,}))"


# -- speed -------------------------------------------------------------------------------------------------------------


def _speed(facts: ModelFacts, device: Device, setup: Setup, choice: Choice) -> Iterator[Figure]:
    said, anatomy, rates = choice.speed, facts.anatomy, device.rates
    known = fit(speed.SAME_ENGINE.get(setup.stack, setup.stack))
    if said is None or not said.tpot_ms or said.provider != speed.PROVIDER or not (anatomy and rates and known):
        return
    k, todo = known.coefficients, speed.work(facts, anatomy, rates, setup)
    load = speed.load_of(choice.max_batch_size, choice.max_seq_len)
    users = said.served or load.users
    fitted = f"coefficients of profiles/speed.toml: {known.source}"

    def step(context: float) -> speed.Step:
        return speed.step(todo, k, device, rates, setup.tp, users=users / setup.pp, context=context)

    empty, plain = step(0.0), step(load.isl + load.osl / 2)
    share = k.weights4 if todo.four_bit else k.weights
    dense = todo.dense_bytes / share / rates.bandwidth
    formula = f"{todo.dense_bytes / 1e9:.4f} GB ÷ ({share:g} × {rates.bandwidth / 1e9:,.1f} GB/s) × 1,000"
    if todo.expert_bytes:
        formula += f" + {(empty.memory - dense) * 1e3:.3f} ms for the experts that are needed"
    yield Figure("Reading the weights", empty.memory * 1e3, "ms", formula, f"{rates.source}; {fitted}")
    fitted = "the same coefficients"
    yield Figure("One step", plain.seconds * 1e3, "ms", _step(empty, plain), fitted)
    meanwhile = said.tpot_ms / setup.pp - plain.seconds * 1e3
    formula = f"{setup.pp} × ({plain.seconds * 1e3:.3f} ms + {meanwhile:.3f} ms for prompts of others that begin)"
    source = f"{users:,} people, {load.isl:,} tokens in and {load.osl:,} out: one step of each pipeline stage"
    yield Figure("Time between two tokens", said.tpot_ms, "ms", formula, source)
    yield from _rates(choice, users, speed.certainty(known, anatomy, device, setup)[1], fitted)
    if said.ttft_low_ms and said.ttft_high_ms:
        start = k.first_us / 1e3
        work = said.ttft_low_ms - start
        formula = f"{start:.3f} ms + {work:.3f} ms to read the prompt"
        yield Figure(
            "First token, asked alone", said.ttft_low_ms, "ms", formula, f"a prompt of {load.isl:,} tokens; {fitted}"
        )
        formula = f"{start:.3f} ms + {users:,} people × {work:.3f} ms"
        yield Figure("First token, all at once", said.ttft_high_ms, "ms", formula, fitted)


def _step(empty: speed.Step, plain: speed.Step) -> str:
    if plain.seconds == plain.launch:
        return f"{plain.launch * 1e3:.3f} ms of launching each kernel by itself"
    weights, linear = empty.memory * 1e3, plain.compute * 1e3
    parts = [
        f"max({weights:.3f} weights; {linear:.3f} multiplications)",
        f"{plain.memory * 1e3 - weights:.3f} KV cache",
    ]
    parts.append(f"{plain.launch * 1e3:.3f} kernel launches")
    if plain.interconnect:
        parts.append(f"{plain.interconnect * 1e3:.3f} links between the GPUs")
    return " + ".join(parts)


def _rates(choice: Choice, users: int, spread: float, source: str) -> Iterator[Figure]:
    said = choice.speed
    if said is None or not said.tpot_ms:
        return
    tpot = f"{said.tpot_ms:.3f} ms"
    if said.low and said.high:
        yield Figure("… at best", said.low, "ms", f"{tpot} ÷ (1 + {spread:g})", f"nine in ten lie between; {source}")
        yield Figure("… at worst", said.high, "ms", f"{tpot} × (1 + {spread:g})", f"nine in ten lie between; {source}")
    yield Figure("Tokens for each person", 1000 / said.tpot_ms, "tokens/s", f"1,000 ÷ {tpot}", "the time above")
    if said.throughput_tokens_per_s:
        formula = f"{users:,} people × 1,000 ÷ {tpot}"
        yield Figure("Tokens in all", said.throughput_tokens_per_s, "tokens/s", formula, "the time above")


# -- on the CPU --------------------------------------------------------------------------------------------------------


def _on_cpu(host: Host, facts: ModelFacts, choice: Choice) -> Iterator[Figure]:
    bill, users, length = choice.memory, choice.max_batch_size, choice.max_seq_len
    if choice.stack != cpu.STACK or not (facts.layers and facts.kv_heads and facts.head_dim):
        return
    if sizes := [one.bytes for one in facts.weights if one.bytes]:
        formula = " + ".join(f"{count:,}" for count in sizes)
        yield Figure("Weights", bill.weights_bytes, "bytes", formula, "the size of the files, which are mapped")
    element = cpu.KV_BYTES[cpu.KV_DTYPE]
    formula = f"2 × {facts.layers} layers × {facts.kv_heads} kv heads × {facts.head_dim} × {element} bytes"
    yield Figure("KV cache for one token", bill.kv_bytes_per_token, "bytes", formula, "the file's header")
    formula = f"{users:,} people × {length:,} tokens"
    yield Figure(
        "KV cache", bill.kv_capacity_tokens, "tokens", formula, "the wished people and context, or the wizard's"
    )
    row = f"(3 × {cpu.feed_forward(facts):,} + 5 × {facts.hidden_size or 0:,})"
    formula = f"{cpu.UBATCH} tokens × {row} × 4 bytes + {cpu.UBATCH} tokens × {length:,} × 2 bytes"
    formula += f" + {users:,} people × {facts.vocabulary or 0:,} × 4 bytes"
    source = "llama.cpp's n_ubatch; feed-forward and residual stream, attention mask, logits: as its log says, measured"
    yield Figure("Activations", bill.activation_bytes, "bytes", formula, source)
    formula = f"{environment(cpu.STACK).server_bytes:,} + {facts.vocabulary or 0:,} × {cpu.TOKENIZER_BYTES}"
    if choice.correction_bytes:
        formula += f" + {choice.correction_bytes:,}"  # a calibration of this machine
    source = "the server without a model, and its tokenizer, measured"
    yield Figure("Overhead", bill.overhead_bytes, "bytes", formula, source)
    cache = f"{bill.kv_capacity_tokens:,} tokens × {bill.kv_bytes_per_token:,}"
    formula = f"{bill.weights_bytes:,} + {bill.activation_bytes:,} + {bill.overhead_bytes:,} + {cache}"
    yield Figure("Total", bill.total_bytes, "bytes", formula, "the rows above")
    if host.memory_available_bytes is not None:
        formula = f"⌊{host.memory_available_bytes:,} × (1 − {cpu.RESERVE})⌋"
        source = "nine tenths of the memory that is free"
        yield Figure("Memory that may be used", bill.budget_bytes, "bytes", formula, source)
