"""Speed providers: the wizard's own roofline always, NVIDIA's aiconfigurator-core on request.

``aiconfigurator-core`` is the optional extra ``perf`` (Linux on x86_64, Python 3.11 to 3.13). It uses tables of
measured kernels, for the GPUs and architectures that it has tables for; its first estimate takes seconds and hundreds
of megabytes of pandas and Arrow. So it is imported only if the user names it (``--provider aiconfigurator``), for a
single configuration, and never for ranking.
"""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any, Protocol

from wizard.advise import speed
from wizard.advise.advice import Speed
from wizard.advise.devices import Device, devices
from wizard.advise.reasons import Obstacle, Reason, Refused, because, do
from wizard.advise.rules import obstacles
from wizard.advise.setup import Setup
from wizard.advise.speed import Load
from wizard.catalog.stacks import facts as stack_facts
from wizard.kernel.errors import InfeasibleError, UsageError
from wizard.kernel.extras import install
from wizard.kernel.language import mark, ntr, tr
from wizard.kernel.text import one_line
from wizard.model.facts import ModelFacts
from wizard.model.formats import FORMATS
from wizard.probe.host import Host

SYSTEMS = {
    "NVIDIA A100-SXM4-80GB": "a100_sxm",
    "NVIDIA H100 80GB HBM3": "h100_sxm",
    "NVIDIA H200": "h200_sxm",
    "NVIDIA B200": "b200_sxm",
    "NVIDIA B300 SXM6 AC": "b300_sxm",
    "NVIDIA GB200": "gb200",
    "NVIDIA GB300": "gb300",
    "NVIDIA L40S": "l40s",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "rtx_pro_6000_server",
}
"""GPUs with measured tables in aiconfigurator-core 0.12, and its names for them (``systems/*.yaml``)."""
WEIGHTS = {
    "none": "bfloat16",
    "fp8": "fp8",
    "fp8_block": "fp8_block",
    "nvfp4": "nvfp4",
    "int8_wo": "int8_wo",
    "int4_wo": "int4_wo",
    "int4_awq": "int4_wo",
    "int4_gptq": "int4_wo",
    "mxfp4": "bfloat16",
}
"""Our formats → its names; the experts of MXFP4 models have different ones (`_experts`)."""
SPREAD = 0.31
"""90% of its estimates for the held-out dense rows are within this error (docs/advice.md, "Speed")."""


class SpeedProvider(Protocol):
    """Estimates the speed of a configuration."""

    name: str

    def estimate(self, facts: ModelFacts, device: Device, setup: Setup, load: Load) -> Speed | Reason | str:
        """The figures, or the reason for having none."""


class Roofline:
    """The wizard's own (`wizard.advise.speed`)."""

    name = "roofline"

    def estimate(self, facts: ModelFacts, device: Device, setup: Setup, load: Load) -> Speed | Reason | str:
        """The figures, or the reason for having none."""
        return speed.estimate(facts, device, setup, load) or speed.why_unknown(facts, device, setup)


class Aiconfigurator:
    """NVIDIA's tables of measured kernels, from the installed package."""

    name = "aiconfigurator"

    def estimate(self, facts: ModelFacts, device: Device, setup: Setup, load: Load) -> Speed | Reason | str:
        """The figures, or the reason for having none.

        Raises:
            UsageError: TW-A09 if the package is not installed.
        """
        try:
            import aiconfigurator_core
        except ImportError as error:
            raise UsageError(
                "TW-A09",
                tr("aiconfigurator-core is not installed ({error})", error=error),
                tr("Install it: `{command}` (Linux on x86_64, Python 3.11 to 3.13).", command=install("perf")),
            ) from error
        shipped = Path(aiconfigurator_core.__file__ or "").parent / "model_configs"
        model = _model(facts, shipped)
        system, backend = SYSTEMS.get(device.name), stack_facts(setup.stack).aiconfigurator
        if model is None:
            return because("needs-config")
        if system is None or not backend or setup.quantization not in WEIGHTS:
            return because("no-tables", name=setup.quantization, gpu=device.name, title=setup.stack)
        try:
            figures, data = _run(model, system, backend, facts, device, setup, load)
        except Exception as error:  # a missing table, an unknown architecture, a panic in Rust: no estimate either way
            return because("no-answer", error=f"{type(error).__name__}: {str(error)[:200]}")
        tpot, ttft = float(figures["tpot"]), float(figures["ttft"])
        if not (math.isfinite(tpot) and tpot > 0):
            return because("no-number")
        start = ttft if math.isfinite(ttft) else tpot
        return Speed(
            tpot_ms=tpot,
            throughput_tokens_per_s=load.users * load.osl / (start + (load.osl - 1) * tpot) * 1e3,
            ttft_ms=ttft if math.isfinite(ttft) else None,
            low=tpot / (1 + SPREAD),
            high=tpot * (1 + SPREAD),
            provider=data,
            confidence="fair",
            users=load.users,
            isl=load.isl,
            osl=load.osl,
        )


def _model(facts: ModelFacts, shipped: Path) -> str | None:
    """The model argument: a folder with its config, or a model ID whose config the package has; never the network."""
    if (Path(facts.location) / "config.json").is_file():
        return facts.location
    return facts.location if (shipped / f"{facts.location.replace('/', '--')}_config.json").is_file() else None


def _run(
    model: str, system: str, backend: str, facts: ModelFacts, device: Device, setup: Setup, load: Load
) -> tuple[dict[str, Any], str]:
    """Its figures, and the versions of package and tables."""
    from importlib.metadata import version

    from aiconfigurator_core.sdk import perf_database
    from aiconfigurator_core.sdk.backends.factory import get_backend
    from aiconfigurator_core.sdk.config import RuntimeConfig
    from aiconfigurator_core.sdk.config_builders import build_model_config
    from aiconfigurator_core.sdk.models import get_model

    logging.getLogger("aiconfigurator_core").setLevel(logging.ERROR)
    experts = facts.anatomy is not None and facts.anatomy.experts > 0
    weights = WEIGHTS[setup.quantization]
    config = build_model_config(
        tp_size=setup.tp,
        pp_size=setup.pp,
        attention_dp_size=1,
        moe_tp_size=setup.tp if experts else 1,
        moe_ep_size=1,
        gemm_quant_mode=weights,
        moe_quant_mode=_experts(setup.quantization, device) if experts else None,
        kvcache_quant_mode="fp8" if setup.kv_bytes == 1 else None,
    )
    tables = perf_database.get_latest_database_version(system, backend)
    database = perf_database.get_database(system, backend, tables)
    runtime = RuntimeConfig(isl=load.isl, osl=load.osl, batch_size=load.users)
    summary = get_backend(backend).run_agg(get_model(model, config, backend), database, runtime, ctx_tokens=load.isl)
    return summary.get_result_dict(), f"aiconfigurator-core {version('aiconfigurator-core')}, {backend} {tables}"


def _experts(quantization: str, device: Device) -> str:
    """The format of experts: MXFP4 with 8-bit activations if the tensor cores support them."""
    if quantization != "mxfp4":
        return WEIGHTS[quantization]
    return "w4a8_mxfp4_mxfp8" if device.compute_capability >= (10, 0) else "w4a16_mxfp4"


PROVIDERS: dict[str, type[SpeedProvider]] = {provider.name: provider for provider in (Roofline, Aiconfigurator)}
"""Providers by the value of ``--provider``."""


def ask(host: Host, facts: ModelFacts, setup: Setup, load: Load, provider: str = Roofline.name) -> Speed:
    """The speed of exactly this configuration on the first sufficiently large group of GPUs of ``host``.

    Raises:
        UsageError: TW-A08 if the format is unknown or there are too few GPUs, TW-A09 if the provider is not installed.
        InfeasibleError: TW-A10, TW-A11 if no speed can be estimated for it.
        Refused: TW-A10 if the provider has no figure, with its reason; TW-A11 if the configuration cannot be served.
    """
    if setup.quantization not in FORMATS:
        stored = facts.quantization
        if stored and stored.format == setup.quantization:  # users need not have requested it
            name = one_line(stored.detail or stored.method)
            message = tr("there is no speed estimate for weights stored as {format}", format=name)
            raise InfeasibleError("TW-A10", message, tr("Use the model's safetensors repository."))
        text = tr("unknown weight format: {name!r}", name=setup.quantization[:40])
        raise UsageError("TW-A08", text, tr("Use one of {names}.", names=", ".join(FORMATS)))
    groups = [device for device in devices(host) if setup.gpus <= (1 if device.mig else len(device.indices))]
    if not groups:
        message = tr("speed estimates require a GPU, and {machine} has none", machine=tr(host.source))
        todo = tr("Choose a machine with GPUs, e.g. --hardware 8xH100.")
        if host.gpus:
            message = tr(
                "tp {tp} × pp {pp} needs {gpus} identical GPUs; {machine} has no such group",
                tp=setup.tp,
                pp=setup.pp,
                gpus=setup.gpus,
                machine=tr(host.source),
            )
            todo = tr("Choose a machine with enough GPUs, e.g. --hardware 8xH100, or lower --tp or --pp.")
        raise UsageError("TW-A08", message, todo)
    _possible(facts, groups[0], setup, load)
    estimate = PROVIDERS[provider]().estimate(facts, groups[0], setup, load)
    if not isinstance(estimate, Speed):
        why = because("no-figure", provider=provider, why=estimate)
        remedy = do("try-another" if provider == Roofline.name else "try-roofline")
        raise Refused("TW-A10", InfeasibleError, Obstacle("no-figure", why, (remedy,)))
    return estimate


def _possible(facts: ModelFacts, device: Device, setup: Setup, load: Load) -> None:
    """Reject what the advice would reject, so that no figure is shown for what cannot run."""
    length = load.isl + load.osl
    if facts.max_context and length > facts.max_context:
        text = tr(
            "the model was trained for {most:,} tokens of context; you requested {asked:,}",
            most=facts.max_context,
            asked=length,
        )
        raise InfeasibleError("TW-A11", text, tr("Lower --isl and --osl."))
    if facts.anatomy is None or stack_facts(setup.stack).gpu is None:
        return
    if why := next(obstacles(facts, facts.anatomy, device, setup), None):
        raise Refused("TW-A11", InfeasibleError, why)


def text(estimate: Speed, load: Load) -> str:
    """The figures for display: a few lines, each with its range and meaning."""
    tpot, rate = estimate.tpot_ms or 0.0, estimate.throughput_tokens_per_s or 0.0
    served = estimate.served or load.users
    speed = {"tpot": tpot, "low": estimate.low or tpot, "high": estimate.high or tpot, "rate": 1e3 / tpot}
    if served > 1:
        lines = [
            tr(
                "{tpot:.1f} ms per token ({low:.1f} to {high:.1f}): {rate:,.0f} tokens/s per user, {all:,.0f} for all "
                "{users:,}",
                **speed,
                all=rate,
                users=served,
            )
        ]
    else:
        lines = [tr("{tpot:.1f} ms per token ({low:.1f} to {high:.1f}): {rate:,.0f} tokens/s", **speed)]
    if served < load.users:
        lines.append(
            tr(
                "The KV cache holds only {served:,} of {users:,} users at once; the rest wait.",
                served=served,
                users=load.users,
            )
        )
    if estimate.ttft_ms is not None:
        first = tr("TTFT {time:,.0f} ms for a {tokens:,}-token prompt", time=estimate.ttft_ms, tokens=load.isl)
        if estimate.ttft_low_ms is not None and estimate.ttft_high_ms is not None:
            around = tr("{low:,.0f} to {high:,.0f}", low=estimate.ttft_low_ms, high=estimate.ttft_high_ms)
            first = f"{first} ({around})"
        lines.append(first)
        if served > 1 and estimate.ttft_alone_ms is not None and estimate.ttft_last_ms is not None:
            lines.append(
                tr(
                    "This TTFT is for users who send the next prompt after each answer. It is {alone:,.0f} ms if no "
                    "other prompt arrives meanwhile, and {last:,.0f} ms for the last of {users:,} simultaneous ones.",
                    alone=estimate.ttft_alone_ms,
                    last=estimate.ttft_last_ms,
                    users=served,
                )
            )
    if estimate.bound is not None:
        lines.append(tr(BOUNDS[estimate.bound]))
    lines.append(
        ntr(
            "Load: {users:,} user, {isl:,} tokens in, {osl:,} out.",
            "Load: {users:,} concurrent users, {isl:,} tokens in, {osl:,} out.",
            load.users,
            users=load.users,
            isl=load.isl,
            osl=load.osl,
        )
    )
    lines.append(
        tr(
            "Source: {provider}; confidence: {confidence}.",
            provider=estimate.provider,
            confidence=tr(CONFIDENCE[estimate.confidence]),
        )
    )
    return "\n".join(lines)


BOUNDS = {
    "memory": mark("Most of the time goes to reading weights and KV cache (memory bandwidth)."),
    "compute": mark("Most of the time goes to matrix multiplication (tensor cores)."),
    "launch": mark("Most of the time goes to kernel launches and scheduling."),
    "interconnect": mark("Most of the time goes to combining results across GPUs (interconnect)."),
}
"""What takes longest, as a sentence, by `Speed.bound`."""
CONFIDENCE = {"good": mark("high"), "fair": mark("medium"), "rough": mark("low")}
