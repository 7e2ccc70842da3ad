"""The machine as cards: which processes use its memory, how much is free, and its load. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from textual.content import Content

from wizard.kernel.language import ntr, tr
from wizard.kernel.text import one_line
from wizard.kernel.text import width as cells
from wizard.kernel.units import size
from wizard.probe import summary
from wizard.probe.host import Gpu, GpuProcess, Host
from wizard.probe.live import GpuReading, Reading, Traffic

FEW = 2
"""Up to this number, GPUs have a card each; more have a row each."""
NARROW = 60
"""Width in cells below which a card stacks its figures."""
USED, FREE = "█", "·"
LABEL = 9
"""Cells of the labels before the bars."""
INDENT = "  "


def gauge(share: float | None, width: int, *, busy: bool = False) -> Content:
    """A bar of ``width`` cells, with at least one filled if not zero. Load (``busy``) does not cause a warning
    color.
    """
    if share is None:
        return Content.assemble(" " * width)
    used = min(width, max(1 if share > 0 else 0, round(share * width)))
    style = "$secondary" if busy else "$error" if share >= 0.9 else "$warning" if share >= 0.5 else "$primary"
    return Content.assemble((USED * used, style), (FREE * (width - used), "$foreground 40%"))


def percent(share: float | None) -> str:
    """``87%``; a dash for None, whose reason is shown elsewhere."""
    return "—" if share is None else f"{share:.0%}"


def cards(host: Host, reading: Reading | None, width: int) -> list[Content]:
    """All live values: GPUs first, then processor and memory."""
    gpus = readings(host, reading)
    lines: list[Content] = []
    if reading and reading.problem and host.gpus:
        lines += _noted(
            tr(
                "The driver no longer responds: {what} ({code})",
                what=reading.problem.what,
                code=reading.problem.code,
            ),
            width,
        )
    if len(gpus) > FEW:
        lines += _table(gpus, width)
    else:
        for gpu in gpus:
            lines += [*_card(gpu, width), Content("")]
    if links := links_text(host):
        lines += Content.assemble((tr("between the GPUs: {links}", links=links), "$text-muted")).wrap(width)
        lines.append(Content(""))
    return [*lines, *_processor(host, reading, width)]


def readings(host: Host, reading: Reading | None) -> list[GpuReading]:
    """The GPUs' current readings; before the first reading, and for another machine, the probed values."""
    if reading and reading.gpus:
        return list(reading.gpus)
    return [_reading(gpu) for gpu in host.gpus]


def _reading(gpu: Gpu) -> GpuReading:
    total, free = gpu.memory_total_bytes, gpu.memory_free_bytes
    return GpuReading(
        gpu.index,
        gpu.name,
        total,
        None if total is None or free is None else total - free,
        free,
        gpu.memory_is_shared_with_host,
        processes=gpu.processes,
        unknown=gpu.unknown,
    )


def links_text(host: Host) -> str:
    """The links between the GPUs, as text; the most common one last."""
    kinds: dict[str, list[str]] = {}
    for link in host.gpu_links:
        kinds.setdefault(link.kind, []).append(f"{link.a}–{link.b}")
    if len(kinds) < 2:
        return "".join(
            tr("all pairs via {how}", how=_link_title(kind)) if len(host.gpus) > 2 else _link_title(kind)
            for kind in kinds
        )
    *some, most = sorted(kinds.items(), key=lambda item: len(item[1]))
    parts = [tr("{pairs} via {how}", pairs=", ".join(pairs), how=_link_title(kind)) for kind, pairs in some]
    return "; ".join([*parts, tr("all others via {how}", how=_link_title(most[0]))])


def _link_title(kind: str) -> str:
    """The meaning of a word of ``nvidia-smi topo -m`` (from its legend)."""
    if kind.startswith("NV"):
        return ntr("{count} NVLink", "{count} NVLinks", int(kind[2:]), count=int(kind[2:]))
    return {
        "PIX": tr("one PCIe switch"),
        "PXB": tr("several PCIe switches"),
        "PHB": tr("PCIe and the processor"),
        "NODE": tr("PCIe within one NUMA node"),
        "SYS": tr("PCIe between processor sockets"),
    }.get(kind, kind)


def holders(processes: Sequence[GpuProcess]) -> list[str]:
    """Processes that use memory, the largest first: ``python3 (4711) 38.0 GiB``."""
    return [
        tr(
            "{name} ({pid}) {size}",
            name=one_line(PurePath(process.name).name) if process.name else tr("name hidden"),
            pid=process.pid,
            size=size(process.used_bytes) if process.used_bytes is not None else tr("size hidden"),
        )
        for process in sorted(processes, key=lambda process: -(process.used_bytes or 0))
    ]


def _share(used: int | None, total: int | None) -> float | None:
    return used / total if used is not None and total else None


# -- a card ------------------------------------------------------------------------------------------------------------


def _card(gpu: GpuReading, width: int) -> list[Content]:
    """A card with all known values of a GPU."""
    title = tr("GPU {index}  {name}", index=gpu.index, name=one_line(gpu.name))
    if gpu.memory_total_bytes is None:
        return [*_titled(title, "", width), *_noted(summary.silence(gpu), width)]
    shared = f" {tr('(shared with the host)')}" if gpu.memory_is_shared_with_host else ""
    free = summary.free_of(gpu.memory_free_bytes, gpu.memory_total_bytes) + shared
    clock = f" · {gpu.sm_clock_mhz:,} MHz" if gpu.sm_clock_mhz is not None else ""
    lines = [
        *_titled(title, " · ".join(filter(None, (summary.degrees(gpu.temperature_c), summary.power(gpu)))), width),
        *_measured(tr("memory"), _share(gpu.memory_used_bytes, gpu.memory_total_bytes), free, width),
        *_busy(gpu, clock, width),
    ]
    for part in gpu.mig_slices:
        free_in_slice = (
            None
            if part.memory_total_bytes is None or part.memory_used_bytes is None
            else part.memory_total_bytes - part.memory_used_bytes
        )
        text = f"{part.profile}  {summary.free_of(free_in_slice, part.memory_total_bytes)}"
        lines += _measured("MIG", _share(part.memory_used_bytes, part.memory_total_bytes), text, width)
    if gpu.processes:
        lines += _row(tr("used by"), ", ".join(holders(gpu.processes)), width)
    if traffic := " · ".join(_traffic(gpu)):
        lines += _row(tr("traffic"), traffic, width)
    return lines


def _busy(gpu: GpuReading, clock: str, width: int) -> list[Content]:
    if gpu.utilisation is not None:
        return _measured(tr("busy"), gpu.utilisation, percent(gpu.utilisation) + clock, width, busy=True)
    why = gpu.unknown.get("utilisation")
    return _row(tr("busy"), tr("unknown: {why}", why=why), width) if why else []


def _traffic(gpu: GpuReading) -> Iterator[str]:
    for name, traffic in (("NVLink", gpu.nvlink), ("PCIe", gpu.pcie)):
        if traffic is not None:
            yield f"{name} {_rates(traffic)}"


def _rates(traffic: Traffic) -> str:
    return f"↑ {size(round(traffic.sent))}/s ↓ {size(round(traffic.received))}/s"


def _padded(text: str, room: int) -> str:
    """``text`` padded to at least ``room`` cells; wide characters occupy two."""
    return text + " " * (room - cells(text))


def _labelled(label: str) -> str:
    return INDENT + _padded(label, LABEL)


def _titled(title: str, right: str, width: int) -> list[Content]:
    """A title with right-aligned text, or the text below it if there is no room."""
    gap = width - cells(title) - cells(right)
    if right and gap >= 2:
        return [Content.assemble((title, "bold $accent"), " " * gap, right)]
    return [
        *Content.assemble((title, "bold $accent")).wrap(width),
        *([Content(f"{INDENT}{right}")] if right else []),
    ]


def _measured(label: str, share: float | None, text: str, width: int, *, busy: bool = False) -> list[Content]:
    """A label, a bar and its value as text; below it if there is little room."""
    narrow = width < NARROW
    room = width - LABEL - len(INDENT)
    if narrow:
        short = Content.assemble((f"{INDENT}{label}  ", "$text-muted"), text)
        if share is None or room < 8:
            return short.wrap(width)
        return [*short.wrap(width), Content(INDENT) + gauge(share, width - 2 * len(INDENT), busy=busy)]
    bar = gauge(share, max(4, min(40, room - 37, room - 2 - cells(text))), busy=busy)
    return [Content.assemble((_labelled(label), "$text-muted"), bar, f"  {text}")]


def _row(label: str, text: str, width: int) -> list[Content]:
    first, *rest = Content(text).wrap(max(8, width - LABEL - len(INDENT)))
    return [
        Content.assemble((_labelled(label), "$text-muted"), first),
        *(Content(" " * (LABEL + len(INDENT))) + line for line in rest),
    ]


def _noted(text: str, width: int) -> list[Content]:
    return Content.assemble(("! ", "bold $warning"), text).wrap(width)


# -- a table -----------------------------------------------------------------------------------------------------------


def _table(gpus: Sequence[GpuReading], width: int) -> list[Content]:
    """A row per GPU, if there are many, and below it the processes that use its memory."""
    names = sorted({one_line(gpu.name) for gpu in gpus})
    title = ntr("{count} GPU: {names}", "{count} GPUs: {names}", len(gpus), count=len(gpus), names=", ".join(names))
    free = sum(gpu.memory_free_bytes or 0 for gpu in gpus)
    lines = _titled(title, tr("{free} free in total", free=size(free)), width)
    for gpu in gpus:
        lines += _narrow_row(gpu, width) if width < NARROW else _wide_row(gpu, width)
    reasons: dict[str, list[str]] = {}
    for gpu in gpus:
        for name in ("memory", "memory_total_bytes", "utilisation"):
            if why := gpu.unknown.get(name):
                reasons.setdefault(why, []).append(str(gpu.index))
                break
    for why, which in reasons.items():
        lines += _noted(tr("Some values are missing for GPU {which}: {why}", which=", ".join(which), why=why), width)
    return [*lines, Content("")]


def _wide_row(gpu: GpuReading, width: int) -> list[Content]:
    figures = [
        f"{percent(gpu.utilisation):>5}",
        f"{'—' if gpu.temperature_c is None else gpu.temperature_c:>3} °C",
        f"{'—' if gpu.power_watts is None else format(gpu.power_watts, '.0f'):>4} W",
    ]
    live = any(reading is not None for reading in (gpu.utilisation, gpu.temperature_c, gpu.power_watts))
    room = width - 4 - 27 - (21 if live else 0)
    line = Content.assemble(
        (f"{gpu.index:>2}  ", "bold"),
        gauge(_share(gpu.memory_used_bytes, gpu.memory_total_bytes), max(8, min(30, room))),
        f"  {_padded(summary.free_of(gpu.memory_free_bytes, gpu.memory_total_bytes), 25)}",
        "  ".join(figures) if live else "",
    )
    return [line, *_held(gpu, width)]


def _narrow_row(gpu: GpuReading, width: int) -> list[Content]:
    text = tr("{free} free", free=size(gpu.memory_free_bytes))
    busy = "" if gpu.utilisation is None else f" {percent(gpu.utilisation):>4}"
    room = max(4, width - 4 - cells(text) - len(busy) - 2)
    bar = gauge(_share(gpu.memory_used_bytes, gpu.memory_total_bytes), room)
    return [Content.assemble((f"{gpu.index:>2}  ", "bold"), bar, f"  {text}{busy}"), *_held(gpu, width)]


def _held(gpu: GpuReading, width: int) -> list[Content]:
    if not gpu.processes:
        return []
    text = tr("used by {who}", who=", ".join(holders(gpu.processes)))
    return [Content("    ") + line for line in Content.assemble((text, "$warning")).wrap(max(8, width - 4))]


# -- the processor -----------------------------------------------------------------------------------------------------


def _processor(host: Host, reading: Reading | None, width: int) -> list[Content]:
    """Processor and memory: the only card of a machine without a GPU, or an additional one."""
    cpu = reading.cpu if reading else None
    total = cpu.memory_total_bytes if cpu and cpu.memory_total_bytes is not None else host.memory_total_bytes
    free = cpu.memory_available_bytes if cpu and cpu.memory_total_bytes is not None else host.memory_available_bytes
    cores = ntr("{count} core", "{count} cores", host.cpu.cores, count=host.cpu.cores)
    title = f"CPU  {one_line(host.cpu.model or host.cpu.architecture)}, {cores}"
    heat = summary.degrees(cpu.temperature_c) if cpu else ""
    used = None if total is None or free is None else total - free
    lines = [
        *_titled(title, heat, width),
        *_measured(tr("memory"), _share(used, total), summary.free_of(free, total), width),
    ]
    if cpu is None:
        return lines
    load = "" if cpu.load is None else tr(" · load {load:.1f}", load=cpu.load)
    if cpu.utilisation is not None:
        return [*lines, *_measured(tr("busy"), cpu.utilisation, percent(cpu.utilisation) + load, width, busy=True)]
    return [*lines, *_row(tr("busy"), f"{cpu.unknown.get('utilisation', '')}{load}", width)]
