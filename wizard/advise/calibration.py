"""Calibration: the measured memory of servers on this machine, and how it corrects later advice. Pure.

A correction applies only to the machine, the stack and the engine that it was measured with (another GPU, image or
llama.cpp uses different amounts), and to the formulas whose error it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from wizard.advise.advice import Choice, Memory
from wizard.advise.benchmarked import Benchmarked
from wizard.advise.devices import devices
from wizard.advise.memory import triton
from wizard.advise.reasons import Note, Param
from wizard.catalog.environments import environment_of
from wizard.catalog.stacks import facts, names
from wizard.kernel.language import mark, tr
from wizard.kernel.text import table
from wizard.kernel.units import size
from wizard.probe.cpu_rates import CpuRates
from wizard.probe.host import Host

STARTS = 5
"""Measured starts that advice considers: newer ones count once they are the majority."""
FORMULAS = 3
"""Version of the formulas of `memory` and `cpu`: raise it when they change, because old errors no longer apply."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The memory that an engine reports, in bytes on one GPU or on the host; None for what it does not report.

    Attributes:
        weights_bytes: The loaded model.
        kv_capacity_tokens: Tokens that the KV cache holds.
        kv_bytes: The KV cache.
        activation_bytes: Peak of the computation: activations, compute buffers.
        graphs_bytes: CUDA graphs.
        runtime_bytes: Memory of the server beyond these; vLLM does not count the CUDA context and links.
        lines: The lines of the log with these figures.
    """

    weights_bytes: int | None = None
    kv_capacity_tokens: int | None = None
    kv_bytes: int | None = None
    activation_bytes: int | None = None
    graphs_bytes: int | None = None
    runtime_bytes: int | None = None
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measurement:
    """One start of a server: the predicted and the measured memory.

    Attributes:
        at: Date and time, ISO 8601, UTC.
        server: Its name in the workspace.
        machine: The GPU's or the processor's name (see `machine`).
        engine: The engine, as exactly as it is known (see `engine`).
        formulas: `FORMULAS` of the prediction.
        model: The model's reference.
        choice: The setup; its ``memory`` is the prediction. Without speed, reasons and warnings.
        measured: The engine's report.
    """

    at: str
    server: str
    machine: str
    engine: str
    formulas: int
    model: str
    choice: Choice
    measured: Measured


@dataclass(frozen=True, slots=True)
class Calibration:
    """All measurements on this machine, oldest first: of starts, the errors in the files that store them, the
    processor's rates, None if they were not measured, and the speeds of benchmarks.
    """

    measurements: tuple[Measurement, ...] = ()
    damage: str | None = None
    cpu: CpuRates | None = None
    speeds: tuple[Benchmarked, ...] = ()

    def rates_of(self, host: Host) -> CpuRates | None:
        """The rates measured with the processor and the cores of ``host``; None if they were not."""
        same = self.cpu and (self.cpu.processor, self.cpu.cores) == (processor(host), host.cpu.cores)
        return self.cpu if same else None

    def latest_of(self, server: str) -> Measurement | None:
        """The measurement of the last start of ``server``; None if its engine reported nothing."""
        last = next((start for start in reversed(self.measurements) if start.server == server), None)
        return None if last is None or last.measured == Measured() else last


UNKNOWN = mark("not measured")
"""Shown for values that an engine did not report."""
NOTHING = Calibration()
"""Calibration of a machine without measurements."""


def processor(host: Host) -> str:
    """The name of the machine if its CPU serves."""
    return host.cpu.model or host.cpu.architecture


def machine(host: Host, choice: Choice) -> str:
    """The name of the hardware that computes: the GPUs' if the choice has any, else the processor's."""
    if not choice.devices:
        return processor(host)
    mine = set(choice.devices)
    return next(
        (device.name for device in devices(host) if mine <= set(device.indices)), tr("a GPU that is not present")
    )


def engine(stack: str, release: str) -> str:
    """The engine: the image's tag is sufficient; without an image it is Triton and the engine of the environment."""
    return release if facts(stack).image else f"{release}, {environment_of(stack).engine}"


def typical(calibration: Calibration, *, machine: str, stack: str, engine: str, model: str) -> Measurement | None:
    """The measurement to use: of the last `STARTS` of the same model, else of any model, the one with the median
    difference, so that one unusual start changes little; of two, the larger. None if there is none.

    Only starts on ``machine`` with ``stack``, ``engine`` and these formulas count, and only if the engine's report is
    sufficient.
    """
    fitting = [
        measurement
        for measurement in calibration.measurements
        if (measurement.machine, measurement.choice.stack, measurement.engine, measurement.formulas)
        == (machine, stack, engine, FORMULAS)
        and (measurement.measured.activation_bytes is not None or _overhead(measurement) is not None)
    ]
    best = [measurement for measurement in fitting if measurement.model == model] or fitting
    recent = sorted(best[-STARTS:], key=difference)
    return recent[len(recent) // 2] if recent else None


def difference(measurement: Measurement) -> int:
    """Bytes that working memory and server used beyond (< 0: below) the prediction without calibration.

    Earlier corrections in the prediction are subtracted, so that corrections do not add up.
    """
    measured, predicted = actual(measurement), measurement.choice.memory
    before = predicted.activation_bytes + predicted.overhead_bytes - measurement.choice.correction_bytes
    return measured.activation_bytes + measured.overhead_bytes - before


def actual(measurement: Measurement) -> Memory:
    """The memory breakdown as measured; what the engine did not report is as predicted."""
    predicted, measured = measurement.choice.memory, measurement.measured
    tokens = predicted.kv_capacity_tokens if measured.kv_capacity_tokens is None else measured.kv_capacity_tokens
    per_token = predicted.kv_bytes_per_token
    if measured.kv_bytes is not None and measured.kv_capacity_tokens:
        per_token = round(measured.kv_bytes / measured.kv_capacity_tokens)
    weights = predicted.weights_bytes if measured.weights_bytes is None else measured.weights_bytes
    activation = predicted.activation_bytes if measured.activation_bytes is None else measured.activation_bytes
    known = _overhead(measurement)
    overhead = predicted.overhead_bytes if known is None else known
    total = weights + per_token * tokens + activation + overhead
    return Memory(weights, per_token, tokens, activation, overhead, total, predicted.budget_bytes)


def _overhead(measurement: Measurement) -> int | None:
    """The measured counterpart of the predicted overhead; CUDA context and links, which vLLM does not count, are as
    predicted.
    """
    known = facts(measurement.choice.stack).gpu if measurement.choice.stack in names() else None
    measured = measurement.measured
    if measured.runtime_bytes is None or (known and known.memory.graphs and measured.graphs_bytes is None):
        return None
    ours = 0
    if known:
        ours += known.memory.context_bytes + (known.memory.link_bytes if measurement.choice.gpus > 1 else 0)
        ours += triton(measurement.choice.stack, measurement.choice.runtime)
    return measured.runtime_bytes + (measured.graphs_bytes or 0) + ours


def corrected(choice: Choice, measurement: Measurement, correction: int) -> Choice:
    """``choice`` with ``correction`` bytes added to its memory because of ``measurement``, and a note about it."""
    return replace(choice, correction_bytes=correction, reasons=(*choice.reasons, _note(measurement, correction)))


def _note(measurement: Measurement, correction: int) -> Note:
    values: dict[str, Param] = {
        "server": measurement.server,
        "date": measurement.at[:10],
        "correction_bytes": correction,
    }
    return Note("calibrated", values, f"calibration.jsonl, {measurement.engine}")


def damaged(calibration: Calibration) -> tuple[Note, ...]:
    """The warning to show if part of the measurements is not readable."""
    return (Note("calibration-damaged", {"damage": calibration.damage}),) if calibration.damage else ()


def rows(measurement: Measurement) -> tuple[tuple[str, str, str], ...]:
    """Predicted and measured memory as rows, with a heading: the parts of the breakdown, the tokens, and the total.

    A part that the engine did not report is not measured, and then neither is the total.
    """
    predicted, total, measured = measurement.choice.memory, actual(measurement), measurement.measured
    parts = (
        (tr("weights"), predicted.weights_bytes, measured.weights_bytes),
        (tr("KV cache"), _cache(predicted), measured.kv_bytes),
        (tr("activations"), predicted.activation_bytes, measured.activation_bytes),
        (tr("overhead"), predicted.overhead_bytes, _overhead(measurement)),
        (tr("total"), predicted.total_bytes, total.total_bytes if whole(measurement) else None),
    )
    lines = [(name, size(before), tr(UNKNOWN) if after is None else size(after)) for name, before, after in parts]
    tokens = tr(UNKNOWN) if measured.kv_capacity_tokens is None else f"{measured.kv_capacity_tokens:,}"
    lines.insert(2, (tr("KV tokens"), f"{predicted.kv_capacity_tokens:,}", tokens))
    return ((tr("memory"), tr("predicted"), tr("measured")), *lines)


def whole(measurement: Measurement) -> bool:
    """Whether the engine reported all parts of the breakdown."""
    amounts = (
        measurement.measured.weights_bytes,
        measurement.measured.kv_bytes,
        measurement.measured.activation_bytes,
        _overhead(measurement),
    )
    return None not in amounts


def _cache(memory: Memory) -> int:
    return memory.kv_bytes_per_token * memory.kv_capacity_tokens


def text(measurement: Measurement) -> str:
    """Predicted and measured memory as a small table."""
    return table(rows(measurement))


def summary(measurement: Measurement) -> str:
    """Predicted and measured memory in a few words."""
    predicted = size(measurement.choice.memory.total_bytes)
    if not whole(measurement):
        return tr("memory partly measured, {predicted} predicted", predicted=predicted)
    return tr(
        "memory {measured}, {predicted} predicted", measured=size(actual(measurement).total_bytes), predicted=predicted
    )
