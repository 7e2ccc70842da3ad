"""The explanation of speeds: each figure with its formula, its actual numbers, and their source. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from wizard.advise import speed
from wizard.advise.advice import Choice
from wizard.advise.devices import Device
from wizard.advise.setup import Setup
from wizard.catalog.speed import fit
from wizard.catalog.stacks import facts as stack_facts
from wizard.kernel.language import tr
from wizard.model.facts import ModelFacts
from wizard.texts import units
from wizard.texts.figure import Figure


def figures(facts: ModelFacts, device: Device, setup: Setup, choice: Choice) -> Iterator[Figure]:
    """The speed of ``choice``, from a step to the total throughput."""
    estimate, anatomy, rates = choice.speed, facts.anatomy, device.rates
    known = fit(stack_facts(setup.stack).speed)
    if (
        estimate is None
        or not estimate.tpot_ms
        or estimate.provider != speed.PROVIDER
        or not (anatomy and rates and known)
    ):
        return
    k, todo = known.coefficients, speed.work(facts, anatomy, rates, setup)
    if not (estimate.users and estimate.isl and estimate.osl):
        return
    load = speed.Load(-(-estimate.users // choice.shares), estimate.isl, estimate.osl)  # of one replica or rank
    users = -(-(estimate.served or estimate.users) // choice.shares)
    fitted = tr("coefficients from profiles/speed.toml: {source}", source=known.source)

    def step(context: float) -> speed.Step:
        return speed.step(todo, k, device, rates, setup.tp, users=users / setup.pp, context=context)

    empty, plain = step(0.0), step(load.isl + load.osl / 2)
    share = (k.packed if todo.packed else k.weights4 if todo.four_bit else k.weights) * speed.efficiency(
        k, device, rates
    )
    dense = todo.dense_bytes / share / rates.bandwidth
    formula = f"{todo.dense_bytes / 1e9:.4f} GB ÷ ({share:g} × {rates.bandwidth / 1e9:,.1f} GB/s) × 1,000"
    if todo.expert_bytes:
        formula += " + " + tr("{ms:.3f} ms for the required experts", ms=(empty.memory - dense) * 1e3)
    yield Figure(tr("Reading the weights"), empty.memory * 1e3, "ms", formula, f"{rates.source}; {fitted}")
    fitted = tr("the same coefficients")
    yield Figure(tr("One step"), plain.seconds * 1e3, "ms", _step(empty, plain), fitted)
    meanwhile = estimate.tpot_ms / setup.pp - plain.seconds * 1e3
    others = tr("{ms:.3f} ms for new prompts of other users", ms=meanwhile)
    formula = f"{setup.pp} × ({plain.seconds * 1e3:.3f} ms + {others})"
    source = tr(
        "{users}, {isl:,} tokens in and {osl:,} out: one step of each pipeline stage",
        users=units.users(users),
        isl=load.isl,
        osl=load.osl,
    )
    if choice.replicas > 1:
        source = tr("each of {count} replicas: {source}", count=choice.replicas, source=source)
    yield Figure(tr("Inter-token latency"), estimate.tpot_ms, "ms", formula, source)
    yield from _rates(choice, load, speed.certainty(known, anatomy, device, setup, choice.engine_version)[1], fitted)
    if estimate.ttft_ms and estimate.ttft_alone_ms and estimate.ttft_last_ms:
        start = k.first_us / 1e3
        work = estimate.ttft_alone_ms - start
        formula = f"{start:.3f} ms + " + tr("{ms:.3f} ms to read the prompt", ms=work)
        source = tr("a {tokens:,}-token prompt", tokens=load.isl)
        yield Figure(tr("TTFT, one user"), estimate.ttft_alone_ms, "ms", formula, f"{source}; {fitted}")
        waiting = users * setup.dp  # data-parallel ranks wait for one another
        formula = f"{start:.3f} ms × {waiting**k.arrival:.4f} + {work:.3f} ms × {waiting**k.queue:.4f}"
        powers = tr(
            "{users} to the power of {arrival:g} and {queue:g}", users=waiting, arrival=k.arrival, queue=k.queue
        )
        title = tr("TTFT, next prompt after each answer")
        yield Figure(title, estimate.ttft_ms, "ms", formula, f"{powers}; {fitted}")
        source = f"{powers}; {fitted}; " + tr("no less than with the next prompt after each answer")
        if users == 1 or estimate.ttft_last_ms > estimate.ttft_ms:
            work, source = estimate.ttft_last_ms - start, fitted
            formula = f"{start:.3f} ms + " + tr("{ms:.3f} ms to read the prompts", ms=work)
        yield Figure(tr("TTFT, all users at once"), estimate.ttft_last_ms, "ms", formula, source)


def _step(empty: speed.Step, plain: speed.Step) -> str:
    if plain.seconds == plain.launch:
        return tr("{ms:.3f} ms to launch each kernel separately", ms=plain.launch * 1e3)
    weights, linear = empty.memory * 1e3, plain.compute * 1e3
    cached, links = plain.memory * 1e3 - weights, plain.interconnect * 1e3
    launches = plain.seconds * 1e3 - max(weights, linear) - cached - links  # `Step.launch` may be that of eager kernels
    parts = [
        tr("max({weights:.3f} weights, {linear:.3f} multiplications)", weights=weights, linear=linear),
        tr("{ms:.3f} KV cache", ms=cached),
        tr("{ms:.3f} kernel launches", ms=launches),
    ]
    if plain.interconnect:
        parts.append(tr("{ms:.3f} links between the GPUs", ms=links))
    return " + ".join(parts)


def _rates(choice: Choice, load: speed.Load, spread: float, source: str) -> Iterator[Figure]:
    estimate = choice.speed
    if estimate is None or not estimate.tpot_ms:
        return
    tpot = f"{estimate.tpot_ms:.3f} ms"
    if estimate.low and estimate.high:
        between = tr("90% of measurements fall in this range") + f"; {source}"
        yield Figure(tr("… at best"), estimate.low, "ms", f"{tpot} ÷ (1 + {spread:g})", between)
        yield Figure(tr("… at worst"), estimate.high, "ms", f"{tpot} × (1 + {spread:g})", between)
    yield Figure(
        tr("Tokens per user"),
        1000 / estimate.tpot_ms,
        "tokens/s",
        f"1,000 ÷ {tpot}",
        tr("the inter-token latency above"),
    )
    if estimate.throughput_tokens_per_s:
        tokens = (estimate.served or load.users) * load.osl
        first = tokens / estimate.throughput_tokens_per_s * 1e3 - (load.osl - 1) * estimate.tpot_ms
        formula = f"{tokens:,} × 1,000 ÷ ({first:.3f} ms + {load.osl - 1} × {tpot})"
        yield Figure(
            tr("Tokens in total"),
            estimate.throughput_tokens_per_s,
            "tokens/s",
            formula,
            tr("all answers, each with its prompt: TTFT, then the inter-token latency"),
        )


def costs(choice: Choice) -> Iterator[Figure]:
    """Money and energy for a million output tokens, at the load of the speed."""
    cost, speed = choice.cost, choice.speed
    if cost is None or speed is None or not speed.throughput_tokens_per_s or not speed.tpot_ms:
        return
    per_hour = f"({speed.throughput_tokens_per_s:.6f} × 3,600)"
    if cost.per_hour is not None and cost.per_million_tokens is not None:
        source = tr("the rate that you gave for the whole machine; tokens in total, per second")
        formula = f"{cost.per_hour:g} × 1,000,000 ÷ {per_hour}"
        yield Figure(tr("Cost of a million output tokens"), cost.per_million_tokens, "", formula, source)
    if cost.watts is not None and cost.kwh_per_million_tokens is not None:
        slow = f"{speed.high or speed.tpot_ms:.3f} ÷ {speed.tpot_ms:.3f}"
        formula = f"{cost.watts / 1000:g} kW × 1,000,000 ÷ {per_hour} × {slow}"
        source = tr("the power limits of the GPUs, as NVML reports them; at the slow end of the range")
        yield Figure(
            tr("Energy for a million output tokens, at most"), cost.kwh_per_million_tokens, "kWh", formula, source
        )
