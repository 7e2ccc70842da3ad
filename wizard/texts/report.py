"""The advice's choices as text and rows, the same for every interface; untrusted text is sanitized."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wizard.advise.advice import Choice, Memory, Share, Speed
from wizard.advise.comparison import BEHIND, LIMIT, idle_gpu
from wizard.advise.reasons import Note
from wizard.advise.titles import format_title, stack_title
from wizard.kernel.language import mark, ntr, tr
from wizard.kernel.text import one_line
from wizard.kernel.units import duration, size
from wizard.texts import advise, units
from wizard.texts.units import gpus as gpus_words
from wizard.texts.units import money, rate, room, users

PROVIDERS = {
    "roofline": mark("the wizard's roofline model"),
    "cpu-bandwidth": mark("memory bandwidth measured on this machine"),
    "gpu-bandwidth": mark("memory bandwidth of the GPU, and of the CPU for its layers"),
    "measured": mark("benchmark on this machine"),
}
CONFIDENCE = {
    "measured": mark("high (measured on this machine)"),
    "good": mark("high (this type of GPU was measured)"),
    "fair": mark("medium (close to what was measured)"),
    "rough": mark("low (few similar measurements, or they differ widely)"),
}
Kind = Literal["weights", "cache", "activations", "overhead", "left", "excess"]


@dataclass(frozen=True, slots=True)
class Part:
    """A row of a memory breakdown."""

    kind: Kind
    name: str
    bytes: int
    about: str = ""


# -- choices -----------------------------------------------------------------------------------------------------------


def weights(choice: Choice) -> str:
    """The format of the weights: the quantization if there is one, else the dtype."""
    return format_title(choice.quantization, choice.dtype)


def choice_title(choice: Choice) -> str:
    """A setup, for lists."""
    gpus = choice.gpus
    split = f"tp {choice.tp} × pp {choice.pp}" if choice.pp > 1 else gpus_words(gpus) if gpus > 1 else ""
    split = f"tp {choice.tp} × dp {choice.dp}" if choice.dp > 1 else split
    copies = tr("{count} replicas", count=choice.replicas) if choice.replicas > 1 else ""
    cache = tr("FP8 KV cache") if choice.kv_cache_dtype == "fp8" else ""
    split = " × ".join(filter(None, (copies, split)))
    parts = (stack_title(choice.stack), weights(choice), split, cache, _placed(choice))
    return " · ".join(filter(None, parts))


def _placed(choice: Choice) -> str:
    """Where the layers of a GGUF file are, on a machine on which they could be on a GPU."""
    offload = choice.offload
    if offload is None:
        return tr("CPU") if idle_gpu(choice) else ""
    if offload.shares:
        gpus = gpus_words(len(offload.shares))
        if offload.gpu_layers < offload.layers:
            counts = {"count": offload.gpu_layers, "layers": offload.layers, "gpus": gpus}
            return tr("{count} of {layers} layers on {gpus}", **counts)
        return tr("{gpus}, some experts on the CPU", gpus=gpus) if offload.expert_layers else gpus
    if offload.gpu_layers < offload.layers:
        return tr("{count} of {layers} layers on the GPU", count=offload.gpu_layers, layers=offload.layers)
    return tr("GPU, some experts on the CPU") if offload.expert_layers else tr("GPU")


def choice_room(choice: Choice) -> str:
    """The number of concurrent users, and the length of their conversations."""
    return room(choice.users, choice.max_seq_len)


def ordered(choices: Sequence[Choice]) -> tuple[Choice, ...]:
    """The best choice of each stack and format, then the rest; both in the order of ``choices``."""
    best: dict[tuple[str, str | None], Choice] = {}
    for choice in choices:
        best.setdefault((choice.stack, choice.quantization), choice)
    first = list(best.values())
    return (*first, *(choice for choice in choices if not any(choice is each for each in first)))


def reason(choice: Choice, code: str) -> str:
    """The text of the choice's reason ``code``; empty if it has none."""
    return next((advise.note(note) for note in choice.reasons if note.code == code), "")


def runner_up(choices: Sequence[Choice]) -> str:
    """The second of the displayed choices, and the reason for its rank; empty without one."""
    second = next(iter(ordered(choices)[1:]), None)
    why = reason(second, BEHIND) if second else ""
    return tr("Alternative: {way}. {why}", way=choice_title(second), why=why) if second and why else ""


def choice_reasons(choice: Choice) -> tuple[Note, ...]:
    """The reasons for the choice; its limit and its rank are shown separately (`reason`)."""
    return tuple(note for note in choice.reasons if note.code not in (LIMIT, BEHIND))


# -- memory ------------------------------------------------------------------------------------------------------------


def bill_title(choice: Choice) -> str:
    """Heading of a memory breakdown: the device, the sum, and the total."""
    gpus = len(choice.devices)
    used, budget = size(choice.memory.total_bytes), size(choice.memory.budget_bytes)
    if not gpus:
        return tr("Memory: {used} used of {budget} usable", used=used, budget=budget)
    if choice.slices:
        return ntr(
            "Memory of the MIG slice: {used} used of {budget} usable",
            "Each of {count} MIG slices: {used} used of {budget} usable",
            gpus,
            count=gpus,
            used=used,
            budget=budget,
        )
    return ntr(
        "GPU memory: {used} used of {budget} usable",
        "Each of {count} GPUs: {used} used of {budget} usable",
        gpus,
        count=gpus,
        used=used,
        budget=budget,
    )


def bills(choice: Choice) -> tuple[tuple[str, Memory], ...]:
    """The memory breakdowns of ``choice``, each with its heading: of the GPUs that differ, and of host memory."""
    if choice.offload is None:
        return ((bill_title(choice), choice.memory),)
    host = choice.offload.host
    shares = zip(choice.devices, choice.offload.shares, strict=False)
    on_gpus = [(_share_title(index, share), share.memory) for index, share in shares]
    used, budget = size(host.total_bytes), size(host.budget_bytes)
    rest = tr("Host memory: {used} used of {budget} usable", used=used, budget=budget)
    return (*(on_gpus or [(bill_title(choice), choice.memory)]), (rest, host))


def _share_title(index: int, share: Share) -> str:
    used, budget = size(share.memory.total_bytes), size(share.memory.budget_bytes)
    return ntr(
        "GPU {index}, {layers} layer: {used} used of {budget} usable",
        "GPU {index}, {layers} layers: {used} used of {budget} usable",
        share.layers,
        index=index,
        layers=share.layers,
        used=used,
        budget=budget,
    )


def bill(memory: Memory) -> tuple[Part, ...]:
    """The rows of a memory breakdown, in the order of the bar."""
    cache = memory.kv_bytes_per_token * memory.kv_capacity_tokens
    left = memory.budget_bytes - memory.total_bytes
    tokens = memory.kv_capacity_tokens
    each = tr("{size} × {tokens:,} tokens of conversation", size=size(memory.kv_bytes_per_token), tokens=tokens)
    return (
        Part("weights", tr("weights"), memory.weights_bytes, tr("the model itself")),
        Part("cache", tr("KV cache"), cache, each),
        Part("activations", tr("activations"), memory.activation_bytes, tr("intermediate results of one step")),
        Part("overhead", tr("overhead"), memory.overhead_bytes, tr("the server, its libraries and buffers")),
        Part("left", tr("free"), left) if left >= 0 else Part("excess", tr("excess"), -left),
    )


def shares(parts: Sequence[Part], cells: int) -> list[int]:
    """Number of ``cells`` per part: in proportion, and at least one if it uses any memory.

    The excess is part of the others already and gets none.
    """
    counts = [0 if part.kind == "excess" else max(0, part.bytes) for part in parts]
    whole = sum(counts)
    if not whole:
        return [0] * len(counts)
    least = [1 if count and part.kind != "left" else 0 for part, count in zip(parts, counts, strict=True)]
    cells_each = [max(least_cells, cells * count // whole) for least_cells, count in zip(least, counts, strict=True)]
    cells_each[cells_each.index(max(cells_each))] += cells - sum(cells_each)
    return cells_each


# -- speed -------------------------------------------------------------------------------------------------------------


def load(speed: Speed) -> str:
    """The load that the figures of ``speed`` are for; empty if unknown."""
    return units.load(speed.users, speed.isl, speed.osl) if speed.users and speed.isl and speed.osl else ""


def pace(speed: Speed | None, *, loaded: bool = True) -> str:
    """Speed in a list: ``39 tokens/s each (4 users, 1,024 tokens in, 256 out)``; empty if unknown.

    With ``loaded`` off, ``39 tokens/s``: for a place that shows the load itself.
    """
    if speed is None or not speed.tpot_ms:
        return ""
    per_s = rate(1000 / speed.tpot_ms)
    if not loaded:
        return tr("{rate} tokens/s", rate=per_s)
    each = tr("{rate} tokens/s each", rate=per_s)
    return f"{each} ({load(speed)})" if load(speed) else each


def speed_sentence(speed: Speed | None) -> str:
    """Speed with its range, confidence and provider; empty if unknown."""
    if speed is None or not speed.tpot_ms:
        return ""
    per_s = rate(1000 / speed.tpot_ms)
    each = tr("{rate} tokens/s per user", rate=per_s)
    if speed.low and speed.high:
        each = tr(
            "{rate} tokens/s per user ({low} to {high})",
            rate=per_s,
            low=rate(1000 / speed.high),
            high=rate(1000 / speed.low),
        )
    parts = [each]
    if speed.throughput_tokens_per_s:
        parts.append(tr("{rate} in total", rate=rate(speed.throughput_tokens_per_s)))
    if first := _first_token(speed):
        parts.append(first)
    expected = ", ".join(parts)
    if speed.users and speed.isl and speed.osl:
        asked = {"users": users(speed.users), "isl": speed.isl, "osl": speed.osl}
        expected = tr("{speed} (load: {users}, {isl:,} tokens in, {osl:,} out)", speed=expected, **asked)
    who = tr(PROVIDERS.get(speed.provider) or one_line(speed.provider))
    sure = tr(CONFIDENCE.get(speed.confidence, speed.confidence))
    return tr("{speed}. Confidence: {confidence}; source: {who}.", speed=expected, confidence=sure, who=who)


def _first_token(speed: Speed) -> str:
    """Time to the first token: the one that limits are compared with, its range, and those of a single and of the last
    prompt.
    """
    if not speed.ttft_ms:
        return ""
    time = tr("TTFT {time}", time=_seconds(speed.ttft_ms))
    if not speed.ttft_low_ms or not speed.ttft_high_ms:
        return time
    each = {"ttft": time, "low": _seconds(speed.ttft_low_ms), "high": _seconds(speed.ttft_high_ms)}
    alone, last = speed.ttft_alone_ms, speed.ttft_last_ms
    if not alone or not last or _seconds(alone) == _seconds(last):
        return tr("{ttft} ({low} to {high})", **each)
    return tr(
        "{ttft} ({low} to {high}; {alone} alone, {last} as the last of all users)",
        **each,
        alone=_seconds(alone),
        last=_seconds(last),
    )


def cost_sentences(choice: Choice) -> tuple[str, ...]:
    """What a million output tokens cost, and the power limit of the GPUs; empty if neither is known."""
    known = choice.cost
    if known is None:
        return ()
    sentences = []
    if known.per_hour is not None:
        given, per_million, low, high = known.per_hour, known.per_million_tokens, known.low, known.high
        if per_million is None or low is None or high is None:
            sentences.append(
                tr("Cost per million output tokens: unknown, because the throughput is unknown.")
                if choice.speed and choice.speed.tpot_ms
                else tr("Cost per million output tokens: unknown, because the speed is unknown.")
            )
        else:
            amounts = {"cost": money(per_million), "low": money(low), "high": money(high), "rate": money(given)}
            sentences.append(
                tr(
                    "Cost at this load: {cost} ({low} to {high}) per million output tokens, with {rate} per hour for "
                    "the whole machine.",
                    **amounts,
                )
            )
    if known.watts is not None:
        gpus_named, energy = gpus_words(len(choice.devices)), known.kwh_per_million_tokens
        limit = tr("Power: at most {watts:,.0f} W by the power limit of {gpus}", watts=known.watts, gpus=gpus_named)
        if energy is not None:
            kwh = f"{energy:.2g}" if energy < 10 else f"{energy:,.0f}"
            limit = tr("{limit}; at this load at most {kwh} kWh per million output tokens", limit=limit, kwh=kwh)
        sentences.append(tr("{limit}. The rest of the machine is not included.", limit=limit))
    return tuple(sentences)


def _seconds(ms: float) -> str:
    return f"{ms:.0f} ms" if ms < 1000 else duration(ms / 1000)
