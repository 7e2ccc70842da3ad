"""Cases: machine × model × request as one YAML file, for asking many questions at once (a fleet, a test set).

Only ``gpus``, ``model`` and ``request`` of a case are read. ``model`` states shapes and totals; what its parameters are
made of is worked out from them: embeddings, attention and experts by their formulas, the feed-forward is the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from wizard.advise.advice import Wishes
from wizard.catalog.gpus import match
from wizard.kernel.errors import UsageError
from wizard.kernel.units import GIB, MIB
from wizard.model.anatomy import Anatomy, Attention, Parts
from wizard.model.facts import ModelFacts, Quantization
from wizard.model.quantization import of_config
from wizard.probe.host import ContainerEngine, Cpu, Disk, Gpu, GpuLink, Host, System

RESERVED_MIB = 450
"""What the driver keeps of a data-centre GPU (seen: 0.42 to 0.47 GiB between NVML's total and CUDA's)."""


def cases(path: Path) -> Iterator[tuple[str, Host, ModelFacts, Wishes]]:
    """Read a file of cases: id, machine, model and wishes of each.

    Raises:
        UsageError: TW-A02 if the file is not YAML or a case lacks what is needed, naming case and field.
    """
    import yaml

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _bad(path, f"it cannot be read: {str(error)[:200]}") from error
    listed = data.get("cases") if isinstance(data, dict) else None
    if not isinstance(listed, list):
        raise _bad(path, "it has no list `cases`")
    for number, case in enumerate(listed, 1):
        name = str(case.get("id", number)) if isinstance(case, dict) else str(number)
        try:
            yield name, host(case.get("gpus") or []), model(case["model"]), wishes(case.get("request") or {})
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
            raise _bad(path, f"case {name}: {type(error).__name__} {error}") from error


def _bad(path: Path, why: str) -> UsageError:
    return UsageError("TW-A02", f"{path} is no file of cases: {why}", "See tests/cases/advice.yaml for the format.")


def host(gpus: list[dict[str, Any]]) -> Host:
    """A machine with ``gpus``, of which everything else is unknown."""
    made: list[Gpu] = []
    links: list[GpuLink] = []
    for kind in gpus:
        first = len(made)
        made += [_gpu(first + number, kind) for number in range(int(kind.get("count", 1)))]
        profile = match(str(kind["name"]))
        if kind.get("nvlink") == "y":
            bonds = (profile.link.nvlinks if profile else 0) or 4
            here = range(first, len(made))
            links += [GpuLink(a, b, f"NV{bonds}") for a in here for b in here if a < b]
    meminfo = next((kind["memory_total_kib_meminfo"] for kind in gpus if kind.get("memory_total_kib_meminfo")), None)
    return Host(
        cpu=Cpu(None, "x86_64", 16, ("avx2", "bmi2", "f16c", "fma")),
        memory_total_bytes=meminfo * 1024 if meminfo else 64 * GIB,
        memory_available_bytes=None,
        disk=Disk("/", 0, 0),
        system=System("unknown", "unknown", None),
        gpus=tuple(made),
        gpu_links=tuple(links),
        driver_version=next((str(kind["driver"]) for kind in gpus if kind.get("driver")), None),
        engines=(ContainerEngine("docker", None, None, nvidia_runtime=True),),
        source="a case",
        unknown={"memory_available_bytes": "the case does not say"},
    )


def _gpu(index: int, kind: dict[str, Any]) -> Gpu:
    mib, free = kind.get("memory_mib"), kind.get("free_mib")
    major, _, minor = str(kind["cc"]).partition(".")
    profile = match(str(kind["name"]))
    total = int(mib) * MIB if mib else int(kind["memory_total_kib_meminfo"]) * 1024
    taken = RESERVED_MIB * MIB if mib else 4 * GIB
    left = total - taken if free is None else int(free) * MIB
    name = str(kind["name"])
    if kind.get("mig") and " MIG " not in name:
        name += " MIG slice"
    return Gpu(
        index=index,
        name=name,
        memory_total_bytes=total,
        memory_free_bytes=left,
        memory_is_shared_with_host=mib is None,
        compute_capability=(int(major), int(minor or 0)),
        pcie_generation=profile.link.pcie_generation if profile else None,
        pcie_width=16,
        mig_enabled=False,
    )


def model(said: dict[str, Any]) -> ModelFacts:
    """A model from its stated shape and totals."""
    layers, hidden, heads = int(said["layers"]), int(said["hidden"]), int(said["heads"])
    kv_heads, head, vocabulary = int(said["kv_heads"]), int(said["head_dim"]), int(said["vocab"])
    experts, mla = int(said.get("experts") or 0), said.get("mla")
    parts = _parts(said, layers, hidden, heads, kv_heads, head, vocabulary)
    window = said.get("sliding_window") or {}
    windowed = int(window.get("layers", 0)) if window.get("window", 0) < said["max_position"] else 0
    if mla:
        row = int(mla["kv_lora_rank"]) + int(mla["qk_rope_head_dim"])
        groups = [Attention(layers, 1, row, 0, latent=row)]
    else:
        groups = [Attention(layers - windowed, kv_heads, head, head)] if layers > windowed else []
        groups += [Attention(windowed, kv_heads, head, head, int(window["window"]))] if windowed else []
    anatomy = Anatomy(
        parts,
        tuple(groups),
        layers,
        hidden,
        heads,
        int(said["ffn"]) if int(said.get("moe_layers") or 0) < layers else 0,
        vocabulary,
        experts,
        int(said.get("experts_per_token") or 0),
        int(said.get("moe_layers") or 0),
        int(said.get("moe_ffn") or 0),
        int(said.get("shared_expert_ffn") or 0),
    )
    name = str(said["id"])
    return ModelFacts(
        ref=name,
        source="hub",
        location=name,
        name=re.split(r"[/\\]", name)[-1],
        architecture=None,
        parameters=int(said["params"]),
        layers=layers,
        hidden_size=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head,
        intermediate_size=int(said["ffn"]),
        vocabulary=vocabulary,
        experts=experts or None,
        experts_per_token=said.get("experts_per_token"),
        max_context=int(said["max_position"]),
        dtype=str(said["dtype"]),
        anatomy=anatomy,
        quantization=_stored(said),
    )


def _stored(said: dict[str, Any]) -> Quantization | None:
    found = said.get("existing_quantization")
    return of_config({"quantization_config": found}) if found else None


def _parts(
    said: dict[str, Any], layers: int, hidden: int, heads: int, kv_heads: int, head: int, vocabulary: int
) -> Parts:
    embedding = vocabulary * hidden
    tied = bool(said.get("tied_embeddings"))
    experts, moe = int(said.get("experts") or 0), int(said.get("moe_layers") or 0)
    routed = moe * experts * 3 * hidden * int(said.get("moe_ffn") or 0)
    shared = moe * 3 * hidden * int(said.get("shared_expert_ffn") or 0)
    known = Parts(
        embedding=embedding,
        head=0 if tied else embedding,
        attention=2 * layers * hidden * heads * head,
        key_value=2 * layers * hidden * kv_heads * head,
        experts=routed,
        shared=shared,
        router=moe * experts * hidden,
        norms=2 * layers * hidden + hidden,
    )
    if mla := said.get("mla"):
        lora, rope, query = int(mla["kv_lora_rank"]), int(mla["qk_rope_head_dim"]), int(mla.get("q_lora_rank") or 0)
        known = replace(known, attention=0, key_value=0, latent=layers * hidden * (lora + rope + query))
    rest = max(0, int(said["params"]) - known.total)
    where: Literal["mlp", "attention"] = "mlp" if not mla else "attention"
    if mla:
        dense = (layers - moe) * 3 * hidden * int(said["ffn"])
        known, rest = replace(known, mlp=dense), max(0, rest - dense)
    return replace(known, **{where: getattr(known, where) + rest})


def wishes(request: dict[str, Any]) -> Wishes:
    """What the case asks for, in the words of the case."""
    return Wishes(
        goal=request.get("goal", "chat"),
        users=request.get("max_batch_size") or request.get("users"),
        max_len=request.get("max_model_len") or request.get("max_len"),
        max_gpus=request.get("max_gpus"),
        gpu_memory_utilization=request.get("gpu_memory_utilization"),
        stack=request.get("stack"),
        quantization=request.get("quantization"),
        tp=request.get("tp"),
        pp=request.get("pp"),
        kv_dtype=request.get("kv_dtype"),
        as_published=bool(request.get("checkpoint_as_published")),
    )
