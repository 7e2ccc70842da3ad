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
        ("shape", _shape(facts)),
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
        lines.append(_row("note", "ships Python code of its own; the wizard does not run it"))
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
    return f"{count(facts.parameters)} ({facts.parameters:,})" if facts.parameters else None


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


def _shape(facts: ModelFacts) -> str | None:
    parts = [
        facts.layers and f"{facts.layers} layers",
        facts.hidden_size and f"{facts.hidden_size} wide",
        facts.heads and f"{facts.heads} heads",
        facts.kv_heads and f"{facts.kv_heads} for keys and values",
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
