"""`ModelFacts` as plain text for a terminal of 80 columns."""

from __future__ import annotations

from wizard.kernel.language import mark, ntr, tr
from wizard.kernel.text import width, wrap
from wizard.kernel.units import count, size
from wizard.model.anatomy import Attention
from wizard.model.facts import ModelFacts
from wizard.model.task import TITLES

_LABEL = 14
_WIDTH = 80


def text(facts: ModelFacts) -> str:
    """Describe a model: one fact per line, then the unknown facts with their reasons."""
    rows = [
        (tr("model"), facts.name),
        (tr("from"), _origin(facts)),
        (tr("architecture"), facts.architecture),
        (tr("task"), facts.task and tr(TITLES[facts.task])),
        (tr("parameters"), _parameters(facts)),
        (tr("weights"), _weights(facts)),
        (tr("quantized"), _quantised(facts)),
        (tr("shape"), _shape(facts)),
        (tr("attention"), _attention(facts)),
        (tr("KV cache"), _kv_cache(facts)),
        (tr("vocabulary"), facts.vocabulary and tr("{count:,} tokens", count=facts.vocabulary)),
        (
            tr("context"),
            facts.max_context and tr("up to {count:,} tokens of prompt and answer", count=facts.max_context),
        ),
        (tr("license"), _licence(facts)),
        (tr("chat"), _chat(facts)),
        (tr("revision"), facts.revision),
    ]
    lines = [_row(label, value) for label, value in rows if value]
    if facts.needs_remote_code:
        lines.append(_row(tr("note"), tr("contains its own Python code; the plan shows where it can run")))
    if facts.unknown:
        lines += ["", tr("unknown:")]
        lines += [
            _row(f"  {tr(FIELDS.get(field) or field.replace('_', ' '))}", why)
            for field, why in sorted(facts.unknown.items())
        ]
    return "\n".join(lines)


FIELDS = {
    "anatomy": mark("model structure"),
    "architecture": mark("architecture"),
    "chat": mark("chat"),
    "config": mark("config"),
    "head_dim": mark("head dim"),
    "heads": mark("heads"),
    "hidden_size": mark("hidden size"),
    "hub": mark("Hub"),
    "intermediate_size": mark("intermediate size"),
    "kv_heads": mark("KV heads"),
    "layers": mark("layers"),
    "max_context": mark("max context"),
    "parameters": mark("parameters"),
    "speed": mark("speed"),
    "stored": mark("stored weights"),
    "vision": mark("vision"),
    "vocabulary": mark("vocabulary"),
    "weight_bytes": mark("weight bytes"),
}
"""Field of `ModelFacts` that may be unknown, in words."""


def _row(label: str, value: object) -> str:
    room = max(_LABEL, width(label) + 1)
    return wrap(str(value), _WIDTH, first=label + " " * (room - width(label)), indent=" " * room)


def _origin(facts: ModelFacts) -> str:
    where = f"{tr(SOURCES[facts.source])}: {facts.location}"
    if facts.local or facts.source != "hub":
        return where
    return where + " " + tr("(not downloaded yet)")


SOURCES = {
    "hub": mark("the Hub"),
    "folder": mark("folder"),
    "gguf": mark("file"),
    "recipe": mark("bundled with the wizard"),
}
"""Display name of `ModelFacts.source`."""


def _licence(facts: ModelFacts) -> str:
    licence = facts.licence or tr("not stated")
    return licence + " " + tr("(gated: accept the license on the model's page)") if facts.gated else licence


def _parameters(facts: ModelFacts) -> str | None:
    if not facts.parameters:
        return None
    line = f"{count(facts.parameters)} ({facts.parameters:,})"
    if facts.anatomy and facts.anatomy.experts:
        line += ", " + tr("{count} active per token", count=count(facts.anatomy.active))
    return line


def _weights(facts: ModelFacts) -> str | None:
    if not facts.weights:
        return None
    stored = facts.dtype or tr("unknown type")
    if facts.quantization and facts.quantization.method != "gguf":
        detail = f", {facts.quantization.detail}" if facts.quantization.detail else ""
        stored = tr("{method}, the rest {dtype}", method=f"{facts.quantization.method}{detail}", dtype=stored)
    elif facts.quantization and facts.quantization.bits:
        stored += ", " + tr("{bits:g} bits per weight", bits=facts.quantization.bits)
    files, total = len(facts.weights), size(facts.weight_bytes)
    sizes = ntr("{size} in {count} file", "{size} in {count} files", files, size=total, count=files)
    return f"{sizes}, {facts.weights[0].format}, {stored}"


def _quantised(facts: ModelFacts) -> str | None:
    stored = facts.quantization
    if stored is None or stored.method == "gguf":
        return None
    if stored.format is None:
        words = [tr("with a method unknown to the wizard")]
    else:
        group = stored.group_size
        groups = tr("no groups")
        if group:
            blocks = stored.format == "fp8_block"
            groups = tr("blocks of {size} x {size}", size=group) if blocks else tr("groups of {size}", size=group)
        words = [stored.format.replace("_", " "), groups]
    if stored.desc_act:
        words.append(tr("in activation order"))
    if stored.kv_dtype:
        words.append(tr("{dtype} KV cache scales", dtype=stored.kv_dtype))
    return ", ".join(words)


def _attention(facts: ModelFacts) -> str | None:
    """``GQA, 32 heads share 8 key-value heads; 52 of 62 layers keep 1,024 tokens``."""
    anatomy = facts.anatomy
    if anatomy is None:
        return None
    if latent := _latent(facts):
        words = [tr("MLA, {width}-element latent vector per token", width=latent)]
    elif not anatomy.kv_heads:
        words = [tr("none")]
    elif anatomy.kv_heads == anatomy.heads:
        words = [tr("MHA, {heads} heads", heads=anatomy.heads)]
    else:
        name = "MQA" if anatomy.kv_heads == 1 else "GQA"
        words = [
            ntr(
                "{name}, {heads} heads share {shared} key-value head",
                "{name}, {heads} heads share {shared} key-value heads",
                anatomy.kv_heads,
                name=name,
                heads=anatomy.heads,
                shared=anatomy.kv_heads,
            )
        ]
    words += filter(None, (_group(group, anatomy.layers) for group in anatomy.attention))
    if shared := sum(group.layers for group in anatomy.attention if group.shares):
        words.append(tr("{some} of {all} layers use the KV cache of earlier layers", some=shared, all=anatomy.layers))
    return "; ".join(words)


def _group(group: Attention, of: int) -> str | None:
    """What a group of layers keeps instead of all tokens."""
    layers = {"some": group.layers, "all": of}
    if group.tokens_per_row:
        rows = {"tokens": group.window or 0, "ratio": group.tokens_per_row}
        return tr(
            "{some} of {all} layers keep the last {tokens:,} tokens and one row for every {ratio}", **layers, **rows
        )
    if group.window:
        return tr("{some} of {all} layers keep only the last {tokens:,} tokens", **layers, tokens=group.window)
    if group.state:
        state = size(group.layers * group.state.bytes())
        beside = mark("{some} of {all} layers also keep a state of {size} per sequence")
        alone = mark("{some} of {all} layers keep a state of {size} per sequence instead")
        return tr(beside if group.kv_heads else alone, **layers, size=state)
    if not group.latent and not group.kv_heads and not group.shares:
        return tr("{some} of {all} layers have no attention", **layers)
    return None


def _latent(facts: ModelFacts) -> int:
    """Elements of MLA's row; 0 for other attention."""
    groups = facts.anatomy.attention if facts.anatomy else ()
    return max((group.latent or 0 for group in groups), default=0)


def _kv_cache(facts: ModelFacts) -> str | None:
    """Bytes of KV cache per token in 16 bits, in the layers that keep it."""
    if facts.anatomy is None:
        return None
    groups = facts.anatomy.attention
    rows = [group.layers * 2 * (group.latent or group.kv_heads * (group.key_dim + group.value_dim)) for group in groups]
    both = list(zip(groups, rows, strict=True))
    windows = sum(row for group, row in both if group.window)
    lasting = sum(
        (row * (not group.window or group.tokens_per_row > 0) + group.layers * group.index_bytes)
        / (group.tokens_per_row or 1)
        for group, row in both
    )
    line = tr("{bytes:,} bytes per token at 16-bit precision", bytes=round(windows + lasting))
    if not windows:
        return line
    later = tr("{bytes:,} once the sliding windows are full", bytes=round(lasting))
    return f"{line}, {later}"


def _shape(facts: ModelFacts) -> str | None:
    parts = [
        facts.layers and tr("{count} layers", count=facts.layers),
        facts.hidden_size and tr("hidden size {width:,}", width=facts.hidden_size),
        facts.heads and tr("{count} heads", count=facts.heads),
        facts.kv_heads and not _latent(facts) and tr("{count} KV heads", count=facts.kv_heads),
        facts.head_dim and tr("head dim {width}", width=facts.head_dim),
        facts.experts and tr("{count} experts", count=facts.experts),
        facts.experts_per_token and tr("{count} per token", count=facts.experts_per_token),
    ]
    return ", ".join(part for part in parts if part) or None


def _chat(facts: ModelFacts) -> str | None:
    if facts.task:
        return None
    if facts.chat is None:
        known = facts.local or "chat" in facts.unknown
        return tr("no chat template: the model only completes text") if known else tr("unknown")
    ends = " ".join(facts.chat.stop)
    if not ends:
        return tr("template included")
    return tr("template included; answers end at {ends}", ends=ends)
