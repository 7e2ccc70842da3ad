"""Cases: machine × model × request in a YAML file, to get advice for many at once (a fleet, a test set).

Only ``gpus``, ``machine``, ``model``, ``draft`` and ``request`` of a case are read. ``model`` and ``draft`` have a
config.json as ``config``, or state shapes and totals; the parts of their parameters are then derived from them:
embeddings, attention and experts by their formulas, the feed-forward is the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wizard.advise import stated
from wizard.advise.advice import Constraints
from wizard.catalog import profiles
from wizard.catalog.goals import GOALS
from wizard.catalog.gpus import match
from wizard.kernel import bounded, fenced
from wizard.kernel.errors import UsageError
from wizard.kernel.language import mark, tr
from wizard.kernel.reasons import unreadable
from wizard.kernel.text import plain
from wizard.kernel.units import GIB, MIB
from wizard.model.anatomy import Anatomy, Attention, Parts
from wizard.model.facts import ModelFacts, Quantization
from wizard.model.quantization import of_config
from wizard.probe.host import ContainerEngine, Cpu, Disk, Gpu, GpuLink, Host, System
from wizard.probe.shorthand import python

RESERVED_MIB = 450
"""Memory that the driver reserves on a data-center GPU (observed: 0.42 to 0.47 GiB between NVML's total and CUDA's)."""


Case = tuple[Host, ModelFacts, Constraints]

LARGEST, MOST_CASES = 4_000_000, 10_000
"""Bytes and cases of a file."""
MEMORY, SECONDS = 256 << 20, 3
"""Of the process that parses it."""
_PROGRAM = Path(__file__).with_name("readers") / "cases.py"


def cases(path: Path) -> Iterator[tuple[str, Case | UsageError]]:
    """Read a cases file: ID, machine, model and constraints of each case; a TW-A02 error in place of an invalid case.

    Raises:
        UsageError: TW-A02 if the file is not readable or has no list of cases.
    """
    data = _data(path)
    listed = data.get("cases") if isinstance(data, dict) else None
    if not isinstance(listed, list):
        raise _no_file(path, tr("no `cases` list"))
    if len(listed) > MOST_CASES:
        raise _no_file(path, tr("it has more than {count:,} cases", count=MOST_CASES))
    for number, entry in enumerate(listed, 1):
        name = str(number)
        try:
            name = str(entry.get("id") or number) if isinstance(entry, dict) else name
            yield name, case(entry)
        except (ValueError, RecursionError) as error:
            why = next(iter(error.args), "")  # a message, or Python's own words
            why = tr("it is nested too deeply") if isinstance(error, RecursionError) else why
            wrong = tr("error in case {name}: {error}", name=name[:80], error=why)
            yield name, UsageError("TW-A02", wrong, _format())


def _data(path: Path) -> Any:
    """What is in the file.

    Raises:
        UsageError: TW-A02 if it is not readable, too large or not YAML.
    """
    try:
        reply = fenced.run(_PROGRAM, bounded.read(path, LARGEST), (), memory=MEMORY, seconds=SECONDS)
    except fenced.FencedError as error:
        raise _no_file(path, error.reason) from error
    except (OSError, bounded.TooLargeError) as error:
        raise _no_file(path, tr("it cannot be read or parsed: {error}", error=unreadable(error))) from error
    if reply.get("error") == "deep":
        raise _no_file(path, tr("it is nested too deeply"))
    if "error" in reply:
        raise _no_file(path, tr("it cannot be read or parsed: {error}", error=plain(str(reply.get("detail")))))
    return reply["data"]


def case(entry: Any) -> Case:
    """Machine, model and constraints of a case.

    Raises:
        ValueError: If a field is wrong or missing; the message names it.
    """
    fields = _mapping(entry, tr("the case"))
    machine = fields.get("gpus") or []
    if not isinstance(machine, list):
        raise ValueError(tr("`gpus` must be a list, not {value}", value=_shown(machine)))
    gpus = [_mapping(entry, tr("entry {number} of `gpus`", number=number)) for number, entry in enumerate(machine, 1)]
    named = _mapping(_required(fields, "model"), "`model`")
    whole = stated.machine(host(gpus), _mapping(fields.get("machine") or {}, "`machine`"))
    facts, request = model(named), constraints(_mapping(fields.get("request") or {}, "`request`"))
    if fields.get("draft"):
        draft = model(_mapping(fields["draft"], "`draft`"))
        facts, request = replace(facts, draft=draft), replace(request, draft=draft.ref)
    return whole, facts, request


def _shown(value: Any) -> str:
    return repr(str(value)[:40])


def _mapping(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(tr("{what} must be a mapping, not {value}", what=name, value=_shown(value)))
    return value


def _required(entry: dict[str, Any], field: str) -> Any:
    """A required field."""
    if entry.get(field) is None:
        raise ValueError(tr("`{field}` is missing", field=field))
    return entry[field]


def _integer(
    entry: dict[str, Any], field: str, most: int = 10**15, *, least: int = 1, default: int | None = None
) -> int:
    """A number of a case; ``default`` if it is missing or null.

    Raises:
        ValueError: If it is not an integer from ``least`` to ``most``, or it is missing and there is no default.
    """
    value = _required(entry, field) if default is None else entry.get(field)
    if value is None and default is not None:
        return default
    if type(value) is not int or not least <= value <= most:
        raise ValueError(
            tr(
                "`{field}` must be an integer from {least} to {most}, not {value}",
                field=field,
                least=least,
                most=most,
                value=_shown(value),
            )
        )
    return value


def _format() -> str:
    """Path of the documentation of the fields: a file that every installation has."""
    return tr("See {path} for the fields; copy and edit it.", path=profiles.find("examples/fleet.yaml"))


def _no_file(path: Path, why: str) -> UsageError:
    return UsageError("TW-A02", tr("{path} is not a valid cases file: {why}", path=path, why=why), _format())


MEMINFO = "memory_total_kib_meminfo"
"""The contents of /proc/meminfo if NVML reports no memory: it is the host's."""
MOST_GPUS = 64
"""Maximum in one machine; more is a typing error."""


def host(gpus: list[dict[str, Any]]) -> Host:
    """A machine with ``gpus``, whose other properties are unknown."""
    made: list[Gpu] = []
    links: list[GpuLink] = []
    for kind in gpus:
        first = len(made)
        made += [_gpu(first + number, kind) for number in range(_integer(kind, "count", MOST_GPUS, default=1))]
        profile = match(str(_required(kind, "name")))
        if kind.get("nvlink") == "y":
            bonds = (profile.link.nvlinks if profile else 0) or 4
            here = range(first, len(made))
            links += [GpuLink(a, b, f"NV{bonds}") for a in here for b in here if a < b]
    meminfo = next((_integer(kind, MEMINFO) for kind in gpus if kind.get(MEMINFO)), None)
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
        interpreters=(python("x86_64"),),
        source=mark("a case"),
        unknown={"memory_available_bytes": tr("not given in the case")},
    )


def _gpu(index: int, kind: dict[str, Any]) -> Gpu:
    mib, name = _integer(kind, "memory_mib", default=0), str(_required(kind, "name"))
    profile = match(name)
    total = mib * MIB or _integer(kind, MEMINFO, default=0) * 1024
    idle = max(0, total - (RESERVED_MIB * MIB if mib else 4 * GIB))
    free = _integer(kind, "free_mib", max(1, total // MIB), least=0, default=idle // MIB) * MIB
    if kind.get("mig") and " MIG " not in name:
        name += " MIG slice"
    return Gpu(
        index=index,
        name=name,
        memory_total_bytes=total or None,
        memory_free_bytes=free if total else None,
        memory_is_shared_with_host=not mib,
        compute_capability=_capability(str(_required(kind, "cc"))),
        pcie_generation=profile.link.pcie_generation if profile else None,
        pcie_width=16,
        mig_enabled=False,
    )


def _capability(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,3})(?:\.(\d{1,3}))?", text, re.ASCII)
    if match is None:
        raise ValueError(tr("`cc` must be a compute capability like 8.9, not {value}", value=_shown(text)))
    return int(match.group(1)), int(match.group(2) or 0)


@dataclass(frozen=True, slots=True)
class _Shape:
    """The numbers of a case's model; 0 experts: it has none."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocabulary: int
    experts: int
    experts_per_token: int
    moe_layers: int
    moe_ffn: int
    shared_ffn: int
    context: int
    parameters: int


def _shape(entry: dict[str, Any]) -> _Shape:
    hidden, heads = _integer(entry, "hidden", 10**6), _integer(entry, "heads", 10**5)
    experts = _integer(entry, "experts", 10**5, least=0, default=0)
    return _Shape(
        layers=_integer(entry, "layers", 10_000),
        hidden=hidden,
        heads=heads,
        kv_heads=_integer(entry, "kv_heads", default=heads),
        head_dim=_integer(entry, "head_dim", 10**5, default=max(1, hidden // heads)),
        ffn=_integer(entry, "ffn", 10**8, least=0, default=0),
        vocabulary=_integer(entry, "vocab", 10**8),
        experts=experts,
        experts_per_token=_integer(entry, "experts_per_token", experts, least=0, default=0),
        moe_layers=_integer(entry, "moe_layers", 10_000, least=0, default=0),
        moe_ffn=_integer(entry, "moe_ffn", 10**8, least=0, default=0),
        shared_ffn=_integer(entry, "shared_expert_ffn", 10**8, least=0, default=0),
        context=_integer(entry, "max_position", 10**9),
        parameters=_integer(entry, "params"),
    )


def model(entry: dict[str, Any]) -> ModelFacts:
    """A model described by its config.json, or derived from its stated shape and totals."""
    ref = str(_required(entry, "id"))
    if entry.get("config"):
        size, file = _integer(entry, "weight_bytes", least=0, default=0) or None, entry.get("gguf")
        return stated.model(ref, _mapping(entry["config"], "`config`"), str(file) if file else None, size)
    shape = _shape(entry)
    mla = _mapping(entry.get("mla") or {}, "`mla`")
    return ModelFacts(
        ref=ref,
        source="case",
        location=ref,
        name=re.split(r"[/\\]", ref)[-1],
        architecture=None,
        parameters=shape.parameters,
        layers=shape.layers,
        hidden_size=shape.hidden,
        heads=shape.heads,
        kv_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        intermediate_size=shape.ffn,
        vocabulary=shape.vocabulary,
        experts=shape.experts or None,
        experts_per_token=shape.experts_per_token or None,
        max_context=shape.context,
        dtype=str(entry.get("dtype") or "bfloat16"),
        quantization=_stored(entry),
        anatomy=Anatomy(
            _parts(shape, mla, tied=bool(entry.get("tied_embeddings"))),
            tuple(_attention(entry, shape, mla)),
            shape.layers,
            shape.hidden,
            shape.heads,
            shape.ffn if shape.moe_layers < shape.layers else 0,
            shape.vocabulary,
            shape.experts,
            shape.experts_per_token,
            shape.moe_layers,
            shape.moe_ffn,
            shape.shared_ffn,
        ),
    )


def _attention(entry: dict[str, Any], shape: _Shape, mla: dict[str, Any]) -> Iterator[Attention]:
    """Layers with full attention, and those with a window that is shorter than the context."""
    if mla:
        row = sum(_integer(mla, name) for name in LATENT[:2])
        yield Attention(shape.layers, 1, row, 0, latent=row)
        return
    window = _mapping(entry.get("sliding_window") or {}, "`sliding_window`")
    width = _integer(window, "window", default=shape.context) if window else shape.context
    windowed = _integer(window, "layers", shape.layers, least=0, default=shape.layers) if width < shape.context else 0
    if shape.layers > windowed:
        yield Attention(shape.layers - windowed, shape.kv_heads, shape.head_dim, shape.head_dim)
    if windowed:
        yield Attention(windowed, shape.kv_heads, shape.head_dim, shape.head_dim, width)


def _stored(entry: dict[str, Any]) -> Quantization | None:
    stored = entry.get("existing_quantization")
    return of_config({"quantization_config": stored}) if stored else None


def _parts(shape: _Shape, mla: dict[str, Any], *, tied: bool) -> Parts:
    """The parameters by part; what the stated total has beyond the known parts is MLP, or attention with ``mla``."""
    attention = 2 * shape.layers * shape.hidden * shape.head_dim
    embedding = shape.vocabulary * shape.hidden
    each = shape.moe_layers * 3 * shape.hidden
    known = Parts(
        embedding=embedding,
        head=0 if tied else embedding,
        attention=attention * shape.heads,
        key_value=attention * shape.kv_heads,
        experts=each * shape.experts * shape.moe_ffn,
        shared=each * shape.shared_ffn,
        router=shape.moe_layers * shape.experts * shape.hidden,
        norms=2 * shape.layers * shape.hidden + shape.hidden,
    )
    if mla:
        ranks = [_integer(mla, name, 10**6, least=0, default=0) for name in LATENT]
        dense = max(0, shape.layers - shape.moe_layers) * 3 * shape.hidden * shape.ffn
        known = replace(known, attention=0, key_value=0, latent=shape.layers * shape.hidden * sum(ranks), mlp=dense)
    rest = max(0, shape.parameters - known.total)
    return replace(known, attention=known.attention + rest) if mla else replace(known, mlp=known.mlp + rest)


LATENT = ("kv_lora_rank", "qk_rope_head_dim", "q_lora_rank")
"""Widths of multi-head latent attention; the cache keeps a row of the first two together."""
RUNTIMES = ("native", "docker", "podman")


def constraints(request: dict[str, Any]) -> Constraints:
    """The constraints of the case, in its own vocabulary."""

    def number(*names: str) -> int | None:
        given = next((name for name in names if request.get(name) is not None), None)
        return None if given is None else _integer(request, given, 10**9)

    def text(name: str) -> str | None:
        return None if request.get(name) is None else str(request[name])

    def limit(name: str) -> float | None:
        value = request.get(name)
        if value is not None and not (type(value) in (int, float) and value > 0):
            raise ValueError(tr("`{name}` must be a number above 0, not {value}", name=name, value=_shown(value)))
        return None if value is None else float(value)

    if request.get("draft"):
        raise ValueError(tr("`draft` is not a field of `request`: describe the draft model beside `model`"))
    goal, share = request.get("goal", "chat"), request.get("gpu_memory_utilization")
    if goal not in GOALS:
        raise ValueError(tr("`goal` must be one of {goals}, not {value}", goals=", ".join(GOALS), value=_shown(goal)))
    runtime = text("runtime")
    if runtime not in (None, *RUNTIMES):
        raise ValueError(
            tr("`runtime` must be one of {runtimes}, not {value}", runtimes=", ".join(RUNTIMES), value=_shown(runtime))
        )
    if share is not None and not (type(share) in (int, float) and 0 < share <= 1):
        raise ValueError(tr("`gpu_memory_utilization` must be above 0 and at most 1, not {value}", value=_shown(share)))
    return Constraints(
        goal=goal,
        users=number("max_batch_size", "users"),
        max_len=number("max_model_len", "max_len"),
        isl=number("isl"),
        osl=number("osl"),
        ttft=limit("ttft"),
        tpot=limit("tpot"),
        p99=bool(request.get("p99")),
        replicas=number("replicas"),
        dp=number("dp"),
        expert_parallel=bool(request.get("expert_parallel")),
        speculative=text("speculative"),
        max_gpus=number("max_gpus"),
        gpu_memory_utilization=None if share is None else float(share),
        stack=text("stack"),
        quantization=text("quantization"),
        tp=number("tp"),
        pp=number("pp"),
        kv_dtype=text("kv_dtype"),
        as_published=bool(request.get("checkpoint_as_published")),
        runtime=runtime,
        engine_python=text("engine_python"),
        cost_per_hour=limit("cost_per_hour"),
    )
