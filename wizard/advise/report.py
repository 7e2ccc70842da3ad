"""The advice in words and rows, the same for every door. Pure; foreign text is made harmless."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from wizard.advise import cpu, rules
from wizard.advise.advice import Choice, Memory, Rejection, Speed
from wizard.advise.fit import LONGEST
from wizard.advise.formats import FORMATS, NONE
from wizard.kernel.text import one_line
from wizard.kernel.units import duration, size
from wizard.model.facts import ModelFacts

LIMIT, BEHIND = "limit", "behind"
"""Codes of the reasons that say what limits a choice, and why it is not the first."""
PROVIDERS = {"roofline": "the wizard's roofline"}
CONFIDENCE = {
    "good": "good: GPUs of this kind were measured",
    "fair": "fair: near to what was measured",
    "rough": "rough: nothing like it was measured",
}
SPLIT = ("memory", "context", "users", "group", "split", "gpus", "mig", "max-gpus")
"""Codes of rejections that another split over GPUs may not have."""
Kind = Literal["weights", "cache", "activations", "overhead", "left", "excess"]


@dataclass(frozen=True, slots=True)
class Part:
    """One row of a memory bill."""

    kind: Kind
    name: str
    bytes: int
    about: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Ways that fail for one reason and have one remedy."""

    ways: str
    """``vLLM, TensorRT-LLM · FP8; Transformers · INT4 AWQ``; with the split where that fails: ``… with tp 2``."""
    text: str
    remedy: str


# -- choices -----------------------------------------------------------------------------------------------------------


def stack(name: str) -> str:
    """The serving stack's name as its makers write it."""
    return rules.TITLES.get(name, one_line(name))


def format_title(name: str | None, dtype: str = "16 bits") -> str:
    """A format of ``--quantization`` for people: ``FP8``, ``Q8_0``; ``dtype`` where nothing is quantised."""
    if name in (None, "", NONE):
        return one_line(dtype)
    known = FORMATS.get(str(name))
    return known.title if known else one_line(str(name).removeprefix("gguf_").upper())


def weights(choice: Choice) -> str:
    """How the weights are stored: the format if there is one, else the dtype."""
    return format_title(choice.quantization, choice.dtype)


def choice_title(choice: Choice) -> str:
    """One way to serve, in a list."""
    gpus = choice.tp * choice.pp
    split = f"tp {choice.tp} × pp {choice.pp}" if choice.pp > 1 else f"{gpus} GPUs" if gpus > 1 else ""
    cache = "FP8 KV cache" if choice.kv_cache_dtype == "fp8" else ""
    return " · ".join(part for part in (stack(choice.stack), weights(choice), split, cache) if part)


def choice_room(choice: Choice) -> str:
    """How many people are served at a time, and how long their conversations may be."""
    return f"{choice.max_batch_size:,} at a time, {choice.max_seq_len:,} tokens each"


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


# -- memory ------------------------------------------------------------------------------------------------------------


def bill_title(choice: Choice) -> str:
    """Whose memory the bill is, the sum, and of how much."""
    gpus = len(choice.devices)
    where = f"Each of {gpus} GPUs" if gpus > 1 else "The GPU" if gpus else "Memory"
    return f"{where}: {size(choice.memory.total_bytes)} of {size(choice.memory.budget_bytes)} that may be used"


def bill(memory: Memory) -> tuple[Part, ...]:
    """The rows of a memory bill, in the order of the bar."""
    cache = memory.kv_bytes_per_token * memory.kv_capacity_tokens
    left = memory.budget_bytes - memory.total_bytes
    each = f"{size(memory.kv_bytes_per_token)} × {memory.kv_capacity_tokens:,} tokens of conversation"
    return (
        Part("weights", "weights", memory.weights_bytes, "the model itself"),
        Part("cache", "KV cache", cache, each),
        Part("activations", "activations", memory.activation_bytes, "intermediate results of one step"),
        Part("overhead", "overhead", memory.overhead_bytes, "the server, its libraries and buffers"),
        Part("left", "left free", left) if left >= 0 else Part("excess", "too much", -left),
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


def pace(speed: Speed | None) -> str:
    """Speed in a list: ``39 tokens/s each``; empty if it is unknown."""
    return f"{_rate(1000 / speed.tpot_ms)} tokens/s each" if speed and speed.tpot_ms else ""


def speed_sentence(speed: Speed | None) -> str:
    """How fast it answers, from where to where, how sure that is and who says so; empty if nothing is known."""
    if speed is None or not speed.tpot_ms:
        return ""
    each = f"{_rate(1000 / speed.tpot_ms)} tokens/s for each person"
    if speed.low and speed.high:
        each += f" ({_rate(1000 / speed.high)} to {_rate(1000 / speed.low)})"
    parts = [each]
    if speed.throughput_tokens_per_s:
        parts.append(f"{_rate(speed.throughput_tokens_per_s)} in all")
    if first := speed.ttft_low_ms or speed.ttft_ms:
        several = speed.ttft_high_ms and speed.served != 1
        all_at_once = f", {_seconds(speed.ttft_high_ms or 0)} if all ask at once" if several else ""
        parts.append(f"first token after {_seconds(first)}{all_at_once}")
    who = PROVIDERS.get(speed.provider, one_line(speed.provider))
    return f"{', '.join(parts)}. Confidence {CONFIDENCE.get(speed.confidence, speed.confidence)} (by {who})."


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
        return (
            f"Memory is the limit: beside {size(memory.weights_bytes)} of weights there is room for {tokens:,} tokens "
            f"of conversation, {tokens // users:,} for each of {users:,}."
        )
    bound = choice.speed.bound if choice.speed else None
    sentences = {
        "memory": "Memory bandwidth is the limit: for every token the GPU reads all weights that work on it, and the "
        "KV cache.",
        "compute": "The tensor cores are the limit: they multiply longer than the weights take to be read.",
        "launch": "Kernel launches are the limit: each layer does so little that starting it takes longest.",
        "interconnect": "The links between the GPUs are the limit: twice in every layer they add up their results.",
    }
    if bound in sentences:
        return sentences[bound]
    if facts.max_context and choice.max_seq_len >= facts.max_context:
        return f"The model is the limit: it was trained for {facts.max_context:,} tokens of context."
    return f"Memory is no limit here: there is room for {tokens // users:,} tokens for each of {users:,}."


def behind(criterion: str | None, one: Choice, first: Choice) -> str:
    """Why ``one`` comes after ``first``, of which ``criterion`` (see `wizard.advise.ranking`) decided."""
    precision = f"It keeps less of the model's precision than {weights(first)}"
    larger = f"{size(_stored(one))} instead of {size(_stored(first))}"
    if _stored(one) >= _stored(first):
        precision = f"Its weights take {larger} for little more precision than {weights(first)}"
    why = {
        "room": f"It has room for {choice_room(one)} only",
        "pace": f"It is slower: {_paces(one, first)}",
        "speed": f"It is slower: {_paces(one, first)}",
        "simplicity": f"It is less simple to set up than {stack(first.stack)}",
        "precision": precision,
        "gpus": f"It takes {_gpus(one)} instead of {_gpus(first)}",
        "links": "Its GPUs wait for one another over PCIe",
        "tokens": f"It serves fewer tokens: {_tokens(one)} instead of {_tokens(first)}",
        "size": f"Its weights take {larger}",
    }.get(criterion or "", "It is as good in all that is compared")
    return f"{why}{_though(criterion, one, first)}."


def _though(criterion: str | None, one: Choice, first: Choice) -> str:
    """What speaks for ``one`` all the same."""
    mine, theirs = (each.speed.tpot_ms if each.speed else None for each in (one, first))
    if criterion not in ("pace", "speed") and mine and theirs and mine * 1.05 < theirs:
        return f", though it is faster: {_paces(one, first)}"
    if criterion != "gpus" and one.tp * one.pp < first.tp * first.pp:
        return f", though it takes only {_gpus(one)}"
    if criterion != "room" and one.max_seq_len > first.max_seq_len:
        return f", though it has room for {one.max_seq_len:,} tokens each"
    return ""


def _stored(choice: Choice) -> int:
    """Bytes of weights on all GPUs of one copy."""
    return choice.memory.weights_bytes * choice.tp * choice.pp


def _gpus(choice: Choice) -> str:
    gpus = choice.tp * choice.pp
    return f"{gpus} GPU{'' if gpus == 1 else 's'}"


def _paces(one: Choice, first: Choice) -> str:
    def each(choice: Choice) -> str:
        known = choice.speed.tpot_ms if choice.speed else None
        return _rate(1000 / known) if known else "an unknown number of"

    return f"{each(one)} instead of {each(first)} tokens/s for each person"


def _tokens(choice: Choice) -> str:
    known = choice.speed.throughput_tokens_per_s if choice.speed else None
    copies = f" with {choice.replicas} copies" if choice.replicas > 1 else ""
    return f"{_rate(known * choice.replicas)} tokens/s{copies}" if known else "an unknown number"


# -- what does not work ------------------------------------------------------------------------------------------------


def refusals(rejections: Iterable[Rejection]) -> tuple[Refusal, ...]:
    """Rejections in groups of one kind and one remedy; a group has the reason of its first."""
    groups: dict[tuple[str, str], list[Rejection]] = {}
    for one in rejections:
        groups.setdefault((one.code, one.remedy), []).append(one)
    return tuple(Refusal(_ways(group), group[0].text, group[0].remedy) for group in groups.values())


def _ways(group: Sequence[Rejection]) -> str:
    splits = {
        one: f" with tp {one.tp}" + (f" × pp {one.pp}" if one.pp > 1 else "")
        for one in group
        if one.code in SPLIT and one.stack != cpu.STACK
    }
    common = len(set(splits.values())) == 1
    formats: dict[str, list[str]] = {}
    for one in group:
        title = format_title(one.quantization) if one.quantization else ""
        title += "" if common else splits.get(one, "")
        names = formats.setdefault(stack(one.stack), [])
        if title and title not in names:
            names.append(title)
    stacks: dict[str, list[str]] = {}
    for name, titles in formats.items():
        stacks.setdefault(", ".join(titles), []).append(name)
    ways = (f"{', '.join(names)} · {titles}" if titles else ", ".join(names) for titles, names in stacks.items())
    return "; ".join(ways) + (next(iter(splits.values())) if common else "")


_FLAG = re.compile(r"--([a-z-]+) ([^\s,]+)")
_WISHES = {"max_len": int, "users": int, "tp": int, "pp": int, "max_gpus": int, "gpu_memory_utilization": float}


def remedy_wishes(remedy: str) -> dict[str, object]:
    """What the remedy's first way would change of the wishes; empty if it is not a matter of wishes."""
    found: dict[str, object] = {}
    for flag, value in _FLAG.findall(remedy.split(", or ", maxsplit=1)[0]):
        name = flag.replace("-", "_")
        if name in _WISHES:
            found[name] = _WISHES[name](value)
        elif name in ("quantization", "stack", "kv_dtype", "release"):
            found[name] = value
    return found


def remedy_words(remedy: str) -> str:
    """The remedy without the command line's flags, for doors that have none: ``INT4 AWQ · tp 4``."""

    def said(found: re.Match[str]) -> str:
        flag, value = found.groups()
        number = f"{int(value):,}" if value.isdecimal() else value
        return {
            "max-len": f"context {number}",
            "users": f"{number} users",
            "max-gpus": f"{number} GPUs",
            "quantization": format_title(value),
            "stack": stack(value),
            "kv-dtype": f"KV cache {value}",
            "gpu-memory-utilization": f"{value} of the GPU's memory",
        }.get(flag, f"{flag} {value}")

    return one_line(_FLAG.sub(said, re.sub(r"(--[a-z-]+ [^\s,]+) (?=--[a-z-]+ )", r"\1 · ", remedy)))
