"""The explanation of figures of a model on a GPU and the host: each with its formula and its source. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from wizard.advise import cpu
from wizard.advise.advice import Choice, Memory, Offload, Share
from wizard.advise.devices import Device, devices
from wizard.advise.placement import placements
from wizard.catalog.cpu_facts import Offload as OffloadFacts
from wizard.kernel.language import tr
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host
from wizard.texts.figure import Figure


def figures(host: Host, facts: ModelFacts, choice: Choice, split: Offload) -> Iterator[Figure]:
    """The figures of ``choice``, whose ``split`` it is; none if the model's layers or a GPU are unknown."""
    groups = {index: each for each in devices(host) for index in each.indices}
    known = cpu.on_cpu(choice.stack).offload
    if facts.gguf_layers is None or known is None or not {*choice.devices} <= {*groups}:
        return
    for number, index in enumerate(choice.devices):
        yield from _on_gpu(facts, choice, split, groups[index], known, number)
    formula = _sum(split.host)
    yield Figure(
        tr("Total on the host"), split.host.total_bytes, "bytes", formula, tr("the same parts of the other layers")
    )
    if host.memory_available_bytes is not None:
        formula = f"⌊{host.memory_available_bytes:,} × (1 − {cpu.RESERVE})⌋"
        yield Figure(tr("Usable memory"), split.host.budget_bytes, "bytes", formula, tr("90% of free memory"))


def _on_gpu(
    facts: ModelFacts, choice: Choice, split: Offload, device: Device, known: OffloadFacts, number: int
) -> Iterator[Figure]:
    """The figures of the GPU ``number`` of the choice."""
    share = split.shares[number] if split.shares else Share(split.gpu_layers, choice.memory)
    bill, last = share.memory, number == len(choice.devices) - 1
    of = f" ({tr('GPU {index}', index=choice.devices[number])})" if split.shares else ""
    alike = (split.gpu_layers, split.expert_layers)
    made = placements(facts.gguf_layers) if facts.gguf_layers else ()
    copied = next((each.copied_bytes for each in made if (each.gpu_layers, each.expert_layers) == alike), 0)
    copied = 0 if number else copied
    header, source = tr("the list of tensors in the file's header"), known.source
    if facts.gguf_layers and facts.gguf_layers.estimated:
        header = tr("estimated from the model's config.json and the size of the file, which was not read")
    repeating = share.layers - last
    layers = {"count": repeating, "layers": split.layers - 1, "experts": split.expert_layers}
    formula = tr("{count} of {layers} layers", **layers)
    if last:
        formula = tr("{count} of {layers} layers and the output", **layers)
    if split.expert_layers and not split.shares:
        formula = tr("{layers} layers and the output, without the experts of the first {experts}", **layers)
    yield Figure(tr("Weights on the GPU") + of, bill.weights_bytes, "bytes", formula, header)
    whole = cpu.kv_bytes_per_token(facts, choice.kv_cache_dtype) or 0
    formula = f"⌈{whole:,} × {repeating} ÷ {split.layers - 1}⌉"
    yield Figure(tr("KV cache per token on the GPU") + of, bill.kv_bytes_per_token, "bytes", formula, header)
    formula = f"{bill.activation_bytes - copied:,} + {copied:,}"
    why = tr("llama.cpp's buffers as on the CPU, and a copy of the largest tensor that stays in host memory")
    yield Figure(tr("Activations on the GPU") + of, bill.activation_bytes, "bytes", formula, why)
    formula = f"{known.context(device.compute_capability):,}"
    yield Figure(tr("CUDA context") + of, bill.overhead_bytes, "bytes", formula, source)
    yield Figure(tr("Total on the GPU") + of, bill.total_bytes, "bytes", _sum(bill), tr("the rows above"))
    formula = f"{device.free_bytes:,} − {known.margin_bytes:,}"
    if bill.budget_bytes != device.free_bytes - known.margin_bytes:
        formula = f"min({formula}; {device.total_bytes:,} × --gpu-memory-utilization)"
    yield Figure(tr("Usable memory on the GPU") + of, bill.budget_bytes, "bytes", formula, _margin(device, source))


def _margin(device: Device, source: str) -> str:
    return tr("free memory of the {gpu}, less llama.cpp's margin: {source}", gpu=device.name, source=source)


def _sum(bill: Memory) -> str:
    cache = f"{bill.kv_bytes_per_token:,} × {bill.kv_capacity_tokens:,}"
    return f"{bill.weights_bytes:,} + {bill.activation_bytes:,} + {bill.overhead_bytes:,} + {cache}"
