"""The advice in words and rows, the same for every door. Pure; foreign text is made harmless."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from wizard.advise.advice import Choice, Memory, Note, Speed
from wizard.advise.fit import LONGEST
from wizard.advise.formats import FORMATS, NONE
from wizard.catalog import stacks
from wizard.kernel.language import mark, ntr, tr
from wizard.kernel.text import one_line
from wizard.kernel.units import duration, size
from wizard.model.facts import ModelFacts

LIMIT, BEHIND = "limit", "behind"
"""Codes of the reasons that say what limits a choice, and why it is not the first."""
PROVIDERS = {"roofline": mark("the wizard's roofline")}
CONFIDENCE = {
    "good": mark("good: GPUs of this kind were measured"),
    "fair": mark("fair: near to what was measured"),
    "rough": mark("rough: nothing like it was measured"),
}
Kind = Literal["weights", "cache", "activations", "overhead", "left", "excess"]


@dataclass(frozen=True, slots=True)
class Part:
    """One row of a memory bill."""

    kind: Kind
    name: str
    bytes: int
    about: str = ""


# -- choices -----------------------------------------------------------------------------------------------------------


def stack(name: str) -> str:
    """The serving stack's name as its makers write it."""
    return stacks.title(name) or one_line(name)


def format_title(name: str | None, dtype: str | None = None) -> str:
    """A format of ``--quantization`` for people: ``FP8``, ``Q8_0``; ``dtype`` where nothing is quantised."""
    if name in (None, "", NONE):
        return FORMATS[NONE].title if dtype is None else one_line(dtype)
    known = FORMATS.get(str(name))
    return known.title if known else one_line(str(name).removeprefix("gguf_").upper())


def weights(choice: Choice) -> str:
    """How the weights are stored: the format if there is one, else the dtype."""
    return format_title(choice.quantization, choice.dtype)


def choice_title(choice: Choice) -> str:
    """One way to serve, in a list."""
    gpus = choice.tp * choice.pp
    split = f"tp {choice.tp} × pp {choice.pp}" if choice.pp > 1 else _gpus(choice) if gpus > 1 else ""
    cache = tr("FP8 KV cache") if choice.kv_cache_dtype == "fp8" else ""
    return " · ".join(part for part in (stack(choice.stack), weights(choice), split, cache) if part)


def choice_room(choice: Choice) -> str:
    """How many people are served at a time, and how long their conversations may be."""
    return tr("{users:,} at a time, {tokens:,} tokens each", users=choice.max_batch_size, tokens=choice.max_seq_len)


def ordered(choices: Sequence[Choice]) -> tuple[Choice, ...]:
    """The best choice of each stack and format, then the rest; each part in the order of ``choices``."""
    best: dict[tuple[str, str | None], Choice] = {}
    for one in choices:
        best.setdefault((one.stack, one.quantization), one)
    first = list(best.values())
    return (*first, *(one for one in choices if not any(one is each for each in first)))


def reason(choice: Choice, code: str) -> str:
    """The text of the choice's reason ``code``; empty if it has none."""
    return next((note.text for note in choice.reasons if note.code == code), "")


def runner_up(choices: Sequence[Choice]) -> str:
    """The second of the choices in the order in which they are shown, and why it is that; empty without one."""
    second = next(iter(ordered(choices)[1:]), None)
    why = reason(second, BEHIND) if second else ""
    return tr("Runner-up: {way}. {why}", way=choice_title(second), why=why) if second and why else ""


def whys(choice: Choice) -> tuple[Note, ...]:
    """Why the choice is as it is; what limits it and what it is behind in are said by themselves (`reason`)."""
    return tuple(note for note in choice.reasons if note.code not in (LIMIT, BEHIND))


# -- memory ------------------------------------------------------------------------------------------------------------


def bill_title(choice: Choice) -> str:
    """Whose memory the bill is, the sum, and of how much."""
    gpus = len(choice.devices)
    used, budget = size(choice.memory.total_bytes), size(choice.memory.budget_bytes)
    if not gpus:
        return tr("Memory: {used} of {budget} that may be used", used=used, budget=budget)
    return ntr(
        "The GPU: {used} of {budget} that may be used",
        "Each of {count} GPUs: {used} of {budget} that may be used",
        gpus,
        count=gpus,
        used=used,
        budget=budget,
    )


def bill(memory: Memory) -> tuple[Part, ...]:
    """The rows of a memory bill, in the order of the bar."""
    cache = memory.kv_bytes_per_token * memory.kv_capacity_tokens
    left = memory.budget_bytes - memory.total_bytes
    tokens = memory.kv_capacity_tokens
    each = tr("{size} × {tokens:,} tokens of conversation", size=size(memory.kv_bytes_per_token), tokens=tokens)
    return (
        Part("weights", tr("weights"), memory.weights_bytes, tr("the model itself")),
        Part("cache", tr("KV cache"), cache, each),
        Part("activations", tr("activations"), memory.activation_bytes, tr("intermediate results of one step")),
        Part("overhead", tr("overhead"), memory.overhead_bytes, tr("the server, its libraries and buffers")),
        Part("left", tr("left free"), left) if left >= 0 else Part("excess", tr("too much"), -left),
    )


def shares(parts: Sequence[Part], cells: int) -> list[int]:
    """How many of ``cells`` each part gets: in proportion, and at least one for what is taken.

    What is too much is part of the others already and gets none.
    """
    counts = [0 if part.kind == "excess" else max(0, part.bytes) for part in parts]
    whole = sum(counts)
    if not whole:
        return [0] * len(counts)
    least = [1 if count and part.kind != "left" else 0 for part, count in zip(parts, counts, strict=True)]
    found = [max(one, cells * count // whole) for one, count in zip(least, counts, strict=True)]
    found[found.index(max(found))] += cells - sum(found)
    return found


# -- speed -------------------------------------------------------------------------------------------------------------


def _rate(per_s: float) -> str:
    return f"{per_s:,.0f}" if per_s >= 9.95 else f"{per_s:.1f}"


def pace(speed: Speed | None, *, each: bool = True) -> str:
    """Speed in a list: ``39 tokens/s each``; without ``each`` beside the number of users; empty if it is unknown."""
    if speed is None or not speed.tpot_ms:
        return ""
    rate = _rate(1000 / speed.tpot_ms)
    return tr("{rate} tokens/s each", rate=rate) if each else tr("{rate} tokens/s", rate=rate)


def speed_sentence(speed: Speed | None) -> str:
    """How fast it answers, from where to where, how sure that is and who says so; empty if nothing is known."""
    if speed is None or not speed.tpot_ms:
        return ""
    rate = _rate(1000 / speed.tpot_ms)
    each = tr("{rate} tokens/s for each person", rate=rate)
    if speed.low and speed.high:
        each = tr(
            "{rate} tokens/s for each person ({low} to {high})",
            rate=rate,
            low=_rate(1000 / speed.high),
            high=_rate(1000 / speed.low),
        )
    parts = [each]
    if speed.throughput_tokens_per_s:
        parts.append(tr("{rate} in all", rate=_rate(speed.throughput_tokens_per_s)))
    if first := speed.ttft_low_ms or speed.ttft_ms:
        parts.append(tr("first token after {time}", time=_seconds(first)))
        if speed.ttft_high_ms and speed.served != 1:
            parts.append(tr("{time} if all ask at once", time=_seconds(speed.ttft_high_ms)))
    who = tr(PROVIDERS.get(speed.provider) or one_line(speed.provider))
    sure = tr(CONFIDENCE.get(speed.confidence, speed.confidence))
    return tr("{speed}. Confidence {confidence} (by {who}).", speed=", ".join(parts), confidence=sure, who=who)


def _seconds(ms: float) -> str:
    return f"{ms:.0f} ms" if ms < 1000 else duration(ms / 1000)


# -- what limits a choice, and why it lost -----------------------------------------------------------------------------


def limit(choice: Choice, facts: ModelFacts) -> str:
    """The binding constraint of ``choice`` in one sentence."""
    memory, users = choice.memory, choice.max_batch_size
    tokens = memory.kv_capacity_tokens
    if not choice.devices:  # the CPU's cache is as large as is asked for, and could take what is left
        tokens += max(0, memory.budget_bytes - memory.total_bytes) // max(1, memory.kv_bytes_per_token)
    if tokens // users < min(facts.max_context or LONGEST, LONGEST):
        return tr(
            "Memory is the limit: beside {weights} of weights there is room for {tokens:,} tokens of conversation, "
            "{each:,} for each of {users:,}.",
            weights=size(memory.weights_bytes),
            tokens=tokens,
            each=tokens // users,
            users=users,
        )
    bound = choice.speed.bound if choice.speed else None
    if bound in BOUNDS:
        return tr(BOUNDS[bound])
    if facts.max_context and choice.max_seq_len >= facts.max_context:
        return tr("The model is the limit: it was trained for {tokens:,} tokens of context.", tokens=facts.max_context)
    return tr(
        "Memory is no limit here: there is room for {each:,} tokens for each of {users:,}.",
        each=tokens // users,
        users=users,
    )


BOUNDS = {
    "memory": mark(
        "Memory bandwidth is the limit: for every token the GPU reads all weights that work on it, and the KV cache."
    ),
    "compute": mark("The tensor cores are the limit: they multiply longer than the weights take to be read."),
    "launch": mark("Kernel launches are the limit: each layer does so little that starting it takes longest."),
    "interconnect": mark("The links between the GPUs are the limit: twice in every layer they add up their results."),
}
"""The binding constraint in a sentence, by `Speed.bound`."""


def behind(criterion: str | None, one: Choice, first: Choice) -> str:
    """Why ``one`` comes after ``first``, of which ``criterion`` (see `wizard.advise.ranking`) decided."""
    said = WHY.get(criterion or "")
    why = said(one, first) if said else tr("It is as good in all that is compared")
    though = _though(criterion, one, first)
    return tr("{why}, though {though}.", why=why, though=though) if though else f"{why}."


def _precision(one: Choice, first: Choice) -> str:
    mine, theirs, title = _stored(one), _stored(first), weights(first)
    if mine < theirs:
        return tr("It keeps less of the model's precision than {format}", format=title)
    sizes = {"mine": size(mine), "theirs": size(theirs)}
    return tr(
        "Its weights take {mine} instead of {theirs} for little more precision than {format}", **sizes, format=title
    )


def _slower(one: Choice, first: Choice) -> str:
    return tr("It is slower: {paces}", paces=_paces(one, first))


WHY: dict[str, Callable[[Choice, Choice], str]] = {
    "tried": lambda _one, _first: tr("Not tested with the real engine"),
    "room": lambda one, _: tr("It has room for {room} only", room=choice_room(one)),
    "pace": _slower,
    "speed": _slower,
    "simplicity": lambda _, first: tr("It is less simple to set up than {stack}", stack=stack(first.stack)),
    "precision": _precision,
    "gpus": lambda one, first: tr("It takes {mine} instead of {theirs}", mine=_gpus(one), theirs=_gpus(first)),
    "links": lambda _one, _first: tr("Its GPUs wait for one another over PCIe"),
    "tokens": lambda one, first: tr(
        "It serves fewer tokens: {mine} instead of {theirs}", mine=_tokens(one), theirs=_tokens(first)
    ),
    "size": lambda one, first: tr(
        "Its weights take {mine} instead of {theirs}", mine=size(_stored(one)), theirs=size(_stored(first))
    ),
}
"""Why a choice comes after the first, by what decided."""


def _though(criterion: str | None, one: Choice, first: Choice) -> str:
    """What speaks for ``one`` all the same; empty if nothing does."""
    mine, theirs = (each.speed.tpot_ms if each.speed else None for each in (one, first))
    if criterion not in ("pace", "speed") and mine and theirs and mine * 1.05 < theirs:
        return tr("it is faster: {paces}", paces=_paces(one, first))
    if criterion != "gpus" and one.tp * one.pp < first.tp * first.pp:
        return tr("it takes only {gpus}", gpus=_gpus(one))
    if criterion != "room" and one.max_seq_len > first.max_seq_len:
        return tr("it has room for {tokens:,} tokens each", tokens=one.max_seq_len)
    return ""


def _stored(choice: Choice) -> int:
    """Bytes of weights on all GPUs of one copy."""
    return choice.memory.weights_bytes * choice.tp * choice.pp


def _gpus(choice: Choice) -> str:
    gpus = choice.tp * choice.pp
    return ntr("{count} GPU", "{count} GPUs", gpus, count=gpus)


def _paces(one: Choice, first: Choice) -> str:
    def each(choice: Choice) -> str:
        known = choice.speed.tpot_ms if choice.speed else None
        return _rate(1000 / known) if known else tr("an unknown number of")

    return tr("{mine} instead of {theirs} tokens/s for each person", mine=each(one), theirs=each(first))


def _tokens(choice: Choice) -> str:
    known = choice.speed.throughput_tokens_per_s if choice.speed else None
    if not known:
        return tr("an unknown number")
    rate = _rate(known * choice.replicas)
    if choice.replicas > 1:
        return tr("{rate} tokens/s with {copies} copies", rate=rate, copies=choice.replicas)
    return tr("{rate} tokens/s", rate=rate)
