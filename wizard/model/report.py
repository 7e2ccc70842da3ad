"""`ModelFacts` as plain text for a terminal of 80 columns."""

from __future__ import annotations

import textwrap

from wizard.kernel.text import plain
from wizard.kernel.units import count, size
from wizard.model.facts import ModelFacts

_LABEL = 14
_WIDTH = 80


def text(facts: ModelFacts) -> str:
    """Describe a model: one fact a line, then what is unknown and why."""
    rows = [
        ("model", facts.name),
        ("from", _origin(facts)),
        ("architecture", facts.architecture),
        ("parameters", _parameters(facts)),
        ("weights", _weights(facts)),
        ("quantised", _quantised(facts)),
        ("shape", _shape(facts)),
        ("attention", _attention(facts)),
        ("KV cache", _kv_cache(facts)),
        ("vocabulary", facts.vocabulary and f"{facts.vocabulary:,} tokens"),
        ("context", facts.max_context and f"{facts.max_context:,} tokens of prompt and answer at most"),
        (
            "licence",
            (facts.licence or "not stated") + (" (gated: must be accepted on its page)" if facts.gated else ""),
        ),
        ("chat", _chat(facts)),
        ("revision", facts.revision),
    ]
    lines = [_row(label, value) for label, value in rows if value]
    if facts.needs_remote_code:
        lines.append(_row("note", "ships Python code of its own; a plan says where it may run"))
    if facts.unknown:
        lines += ["", "not known:"]
        lines += [_row(f"  {field.replace('_', ' ')}", why) for field, why in sorted(facts.unknown.items())]
    return "\n".join(lines)


def _row(label: str, value: object) -> str:
    indent = " " * max(_LABEL, len(label) + 1)
    first = f"{label:<{len(indent)}}"
    words = " ".join(plain(str(value)).split())
    return textwrap.fill(words, _WIDTH, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)


def _origin(facts: ModelFacts) -> str:
    where = {"hub": "the hub", "folder": "folder", "gguf": "file", "journey": "shipped with the wizard"}[facts.source]
    return f"{where}: {facts.location}" + ("" if facts.local or facts.source != "hub" else " (not downloaded yet)")


def _parameters(facts: ModelFacts) -> str | None:
    if not facts.parameters:
        return None
    said = f"{count(facts.parameters)} ({facts.parameters:,})"
    if facts.anatomy and facts.anatomy.experts:
        said += f", {count(facts.anatomy.active)} of them work on one token"
    return said


def _weights(facts: ModelFacts) -> str | None:
    if not facts.weights:
        return None
    files = "1 file" if len(facts.weights) == 1 else f"{len(facts.weights)} files"
    kind = facts.weights[0].format
    stored = facts.dtype or "unknown type"
    if facts.quantization and facts.quantization.method != "gguf":
        detail = f", {facts.quantization.detail}" if facts.quantization.detail else ""
        stored = f"{facts.quantization.method}{detail}, else {stored}"
    elif facts.quantization and facts.quantization.bits:
        stored += f", {facts.quantization.bits:g} bits a weight"
    return f"{size(facts.weight_bytes)} in {files}, {kind}, {stored}"


def _quantised(facts: ModelFacts) -> str | None:
    found = facts.quantization
    if found is None or found.method == "gguf":
        return None
    if found.format is None:
        said = ["in a way that the wizard has no name for"]
    else:
        group = found.group_size
        blocks = f"blocks of {group} x {group}" if found.format == "fp8_block" else f"groups of {group}"
        said = [found.format.replace("_", " "), blocks if group else "no groups"]
    if found.desc_act:
        said.append("in activation order")
    if found.kv_dtype:
        said.append(f"scales for a KV cache in {found.kv_dtype}")
    return ", ".join(said)


def _attention(facts: ModelFacts) -> str | None:
    """``GQA, 32 heads share 8 of keys and values; 52 of 62 layers keep 1,024 tokens``."""
    anatomy = facts.anatomy
    if anatomy is None:
        return None
    if latent := _latent(facts):
        said = [f"MLA, a latent row of {latent} for each token"]
    elif not anatomy.kv_heads:
        said = ["none"]
    elif anatomy.kv_heads == anatomy.heads:
        said = [f"MHA, {anatomy.heads} heads"]
    else:
        name = "MQA" if anatomy.kv_heads == 1 else "GQA"
        said = [f"{name}, {anatomy.heads} heads share {anatomy.kv_heads} of keys and values"]
    for group in anatomy.attention:
        if group.window:
            said.append(f"{group.layers} of {anatomy.layers} layers keep {group.window:,} tokens")
        elif not group.latent and not group.kv_heads:
            said.append(f"{group.layers} of {anatomy.layers} layers keep nothing for a token")
    return "; ".join(said)


def _latent(facts: ModelFacts) -> int:
    """Elements of MLA's row; 0 for other attention."""
    groups = facts.anatomy.attention if facts.anatomy else ()
    return max((group.latent or 0 for group in groups), default=0)


def _kv_cache(facts: ModelFacts) -> str | None:
    """Bytes that a token takes in 16 bits, in the layers that keep it."""
    if facts.anatomy is None:
        return None
    groups = facts.anatomy.attention
    bytes_of = [2 * one.layers * (one.latent or one.kv_heads * (one.key_dim + one.value_dim)) for one in groups]
    windows = sum(each for each, group in zip(bytes_of, groups, strict=True) if group.window)
    said = f"{sum(bytes_of):,} bytes a token in 16 bits"
    return f"{said}, {sum(bytes_of) - windows:,} after the windows are full" if windows else said


def _shape(facts: ModelFacts) -> str | None:
    parts = [
        facts.layers and f"{facts.layers} layers",
        facts.hidden_size and f"{facts.hidden_size:,} wide",
        facts.heads and f"{facts.heads} heads",
        facts.kv_heads and not _latent(facts) and f"{facts.kv_heads} for keys and values",
        facts.head_dim and f"{facts.head_dim} each",
        facts.experts and f"{facts.experts} experts",
        facts.experts_per_token and f"{facts.experts_per_token} of them for each token",
    ]
    return ", ".join(part for part in parts if part) or None


def _chat(facts: ModelFacts) -> str:
    if facts.chat is None:
        return "no template: the model completes text"
    ends = " ".join(facts.chat.stop)
    return "its own template" + (f", an answer ends at {ends}" if ends else "")
