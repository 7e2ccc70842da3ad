"""The GPUs' ways: every stack × format × split × KV dtype, through rules and memory to choices or rejections. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wizard.advise import calibration, cpu, memory, own, rules
from wizard.advise.advice import Choice, Memory, Note, Rejection, Wishes, gated, no_template
from wizard.advise.compatibility import Obstacle, either
from wizard.advise.devices import Device, devices
from wizard.advise.fit import Fit, fit
from wizard.advise.formats import FORMATS, of
from wizard.advise.release import Resolved, resolve
from wizard.advise.setup import Setup
from wizard.advise.speed import estimate, load_of, why_unknown
from wizard.catalog.checkpoints import ready
from wizard.catalog.stacks import gpu_stacks, on_gpu
from wizard.kernel.language import mark, ntr, tr
from wizard.kernel.units import count, size
from wizard.model.anatomy import Anatomy
from wizard.model.facts import ModelFacts
from wizard.probe.engine_python import absolute, known
from wizard.probe.host import EnginePython, Host

TRIED = ("none", "fp8", "nvfp4", "int4_awq")
"""Formats that are tried for a checkpoint that is not quantised: those that ready repositories come in."""
SPLITS = (1, 2, 4, 8, 16)
WIDEST = 4
"""Tensor-parallel ranks over PCIe beyond which stages or copies are better, whatever the speed model says: Llama 70B in
FP8 on L40S serves 1,549 tokens/s with tp 4 and 1,498 with tp 8, on twice the GPUs (128 tokens in and out; TensorRT-LLM
docs/source/performance/perf-overview.md). Up to there the estimated speed decides."""


def candidates(
    host: Host, facts: ModelFacts, wishes: Wishes, past: calibration.Calibration = calibration.NOTHING
) -> tuple[list[Choice], list[Rejection]]:
    """All choices on the GPUs of ``host``, unranked, and for each stack and format why the rest was rejected."""
    stacks = [one for one in gpu_stacks() if wishes.stack in (None, one)]
    groups = devices(host)
    python = known(host, wishes.engine_python) if wishes.engine_python else None
    if why := _before(host, facts, groups):
        stored = wishes.quantization or (facts.quantization and facts.quantization.format) or "none"
        tp, pp = wishes.tp or 1, wishes.pp or 1
        return [], [Rejection(one, stored, tp, pp, why.code, why.text, why.remedy) for one in stacks]
    choices: list[Choice] = []
    rejected: dict[tuple[str, str, str], Rejection] = {}
    for device in groups:
        releases: dict[tuple[str, str], Resolved | Obstacle] = {}
        for setup in _setups(facts, device, wishes, stacks):
            kind = (setup.stack, setup.quantization)
            if kind not in releases:  # the same for every split
                releases[kind] = _barred(wishes, setup, python) or resolve(
                    host, facts, device, setup, wishes.release, wishes.runtime, python
                )
            made = _choice(facts, device, setup, wishes, past, releases[kind])
            if isinstance(made, Obstacle) and made.code in ("memory", "context", "users") and not wishes.kv_dtype:
                other = replace(setup, kv_cache_dtype="fp8")
                smaller = _choice(facts, device, other, wishes, past, releases[kind])
                # With half the bytes for each token more fits, so its refusal knows better how much.
                made = smaller if isinstance(smaller, Choice) or smaller.code == made.code else made
            if isinstance(made, Choice):
                choices.append(made)
            else:
                key = (setup.stack, setup.quantization, made.code)
                rejection = Rejection(*key[:2], setup.tp, setup.pp, made.code, made.text, made.remedy)
                if key not in rejected or made.code in ("memory", "context", "users"):  # the widest split came nearest
                    rejected[key] = rejection
    return _worthwhile(choices, wishes), list(rejected.values())


def _barred(wishes: Wishes, setup: Setup, python: EnginePython | None) -> Obstacle | None:
    """What speaks against serving with the Python that is asked for, whatever it has."""
    if wishes.engine_python and python is None:
        return own.unknown(wishes.engine_python)
    return own.against_wishes(wishes, setup.stack)


def _worthwhile(choices: list[Choice], wishes: Wishes) -> list[Choice]:
    """Without pipelines that nobody asked for and that nothing speaks for.

    Those are no faster for one person, serve no more tokens and have no more room than ranks on as many GPUs, or than
    fewer stages of more ranks. `WIDEST` ranks over PCIe are no such alternative.
    """

    def better(other: Choice, one: Choice) -> bool:
        like = (other.stack, other.quantization) == (one.stack, one.quantization)
        if not like or other.pp >= one.pp or other.tp * other.pp != one.tp * one.pp or wide(other):
            return False
        if not (one.speed and other.speed and one.speed.tpot_ms and other.speed.tpot_ms):
            return False
        tokens = [each.speed.throughput_tokens_per_s or 0 for each in (one, other) if each.speed]
        room = other.max_batch_size >= one.max_batch_size and other.max_seq_len >= one.max_seq_len
        return other.speed.tpot_ms <= one.speed.tpot_ms and tokens[1] >= tokens[0] and room

    return [one for one in choices if wishes.pp or one.pp == 1 or not any(better(each, one) for each in choices)]


def wide(choice: Choice) -> bool:
    """Whether it has more ranks than are worth their while without NVLink (`WIDEST`)."""
    return choice.tp > WIDEST and any(note.code == rules.PCIE for note in choice.warnings)


def _before(host: Host, facts: ModelFacts, groups: list[Device]) -> Obstacle | None:
    """What keeps every GPU stack from serving the model here."""
    if not groups:
        if host.gpus:
            text = tr("NVML does not say memory and compute capability of the {gpu}.", gpu=host.gpus[0].name)
            return Obstacle("gpu-unknown", text, tr("Update the driver; `triton-wizard probe` says what is missing."))
        problem = host.gpu_problem
        why = f"{problem.what} ({problem.code})" if problem else tr("no NVIDIA GPU is in this machine")
        text = tr("vLLM, TensorRT-LLM and transformers serve on NVIDIA GPUs, and there is none to see: {why}.", why=why)
        todo = tr(
            "Give a GGUF file of this model (the CPU serves it with llama.cpp), or mend the driver if there is a GPU."
        )
        return Obstacle("no-gpu", text, todo)
    if any(file.format == "gguf" for file in facts.weights):
        text = tr("GGUF files are served by llama.cpp on the CPU; GPU stacks load safetensors repositories.")
        return Obstacle("gguf", text, tr("Give the model's own repository instead of the GGUF file to use the GPU."))
    if facts.quantization and facts.quantization.format is None:
        text = tr(
            "The checkpoint is quantised by {method}, which the wizard has no rules for.",
            method=facts.quantization.method,
        )
        return Obstacle("format", text, tr("Give the model's repository that is not quantised, or an AWQ or FP8 one."))
    if facts.anatomy is None or not facts.anatomy.attention:
        why = facts.unknown.get("anatomy") or facts.unknown.get("parameters") or tr("its config does not say its shape")
        return Obstacle(
            "shape",
            tr("How much memory {model} takes is unknown: {why}.", model=facts.name, why=why),
            tr("Give the whole repository: the headers of its safetensors files are counted."),
        )
    return None


def _setups(facts: ModelFacts, device: Device, wishes: Wishes, stacks: list[str]) -> Iterator[Setup]:
    """Everything that is worth a look on ``device``."""
    stored = facts.quantization
    there = len(device.indices) if wishes.max_gpus is None else min(wishes.max_gpus, len(device.indices))
    tps = (wishes.tp,) if wishes.tp else tuple(one for one in SPLITS if one <= max(1, there))
    names: tuple[str, ...]
    if stored is not None:
        names = (stored.format or "none",)
    elif wishes.as_published:
        names = (wishes.quantization if wishes.quantization in FORMATS else "none",)
    else:
        names = (wishes.quantization,) if wishes.quantization in FORMATS else TRIED
    kv = wishes.kv_dtype or (stored and stored.kv_dtype) or "auto"
    for stack in stacks:
        known = on_gpu(stack)
        for name in names if not known.formats.sixteen_only or wishes.quantization or stored else ("none",):
            for tp in tps if known.splits.ranks or wishes.tp else (1,):
                for pp in (wishes.pp,) if wishes.pp else _stages(facts, device, stack, tp, there):
                    yield Setup(stack, _dtype(facts, device, name), name, kv, tp, pp)


def _stages(facts: ModelFacts, device: Device, stack: str, tp: int, there: int) -> tuple[int, ...]:
    """Pipeline stages that are tried: only without NVLink, where they pass less over the links than ranks do."""
    layers = facts.layers or 0
    if device.link == "nvlink" or device.mig or on_gpu(stack).splits.stages == "none":
        return (1,)
    can = [pp for pp in (2, 4) if tp * pp <= there and pp <= layers]
    return (1, *(pp for pp in can if on_gpu(stack).splits.stages != "even" or layers % pp == 0))


def _dtype(facts: ModelFacts, device: Device, name: str) -> str:
    """What is not quantised runs in: the checkpoint's dtype; float16 before Ampere and for GPTQ."""
    if name == "int4_gptq" or device.compute_capability < rules.BF16 or facts.dtype == "float16":
        return "float16"
    return "bfloat16"


def _choice(
    facts: ModelFacts,
    device: Device,
    setup: Setup,
    wishes: Wishes,
    past: calibration.Calibration,
    release: Resolved | Obstacle,
) -> Choice | Obstacle:
    anatomy = facts.anatomy
    if anatomy is None:
        raise AssertionError("checked before")
    if why := _against_wishes(facts, setup, wishes) or next(rules.obstacles(facts, anatomy, device, setup), None):
        return why
    if facts.quantization is None and not wishes.quantization and rules.weight_only(device, setup):
        return rules.not_multiplied(device, setup)
    if isinstance(release, Obstacle):
        return release
    setup = replace(setup, triton_bytes=memory.triton(setup.stack, release.runtime))
    engine = calibration.engine(setup.stack, release.release)
    measured = calibration.latest(past, machine=device.name, stack=setup.stack, engine=engine, model=facts.ref)
    plain, setup = setup, replace(setup, correction_bytes=calibration.difference(measured) if measured else 0)
    found = fit(facts, anatomy, device, setup, wishes)
    if isinstance(found, Obstacle):
        return found
    there = len(device.indices) if wishes.max_gpus is None else min(wishes.max_gpus, len(device.indices))
    of_free = on_gpu(setup.stack).cache.counts_of == "free"
    speed = estimate(facts, device, setup, load_of(found.users, found.length), found.memory.kv_capacity_tokens)
    unknown = () if speed else (_no_speed(facts, device, setup),)
    choice = Choice(
        stack=setup.stack,
        runtime=release.runtime,
        dtype=setup.dtype,
        quantization=setup.quantization,
        kv_cache_dtype=setup.kv_cache_dtype,
        tp=setup.tp,
        pp=setup.pp,
        max_batch_size=found.users,
        max_seq_len=found.length,
        release=release.release,
        memory=found.memory,
        devices=device.indices[: setup.gpus],
        replicas=max(1, there // setup.gpus),
        gpu_memory_utilization=found.utilization,
        kv_cache_fraction=memory.kv_fraction(device, setup, found.memory) if of_free else None,
        speed=speed,
        warnings=(*unknown, *_warnings(facts, device, setup, found), *release.warnings),
        reasons=(*_reasons(facts, anatomy, device, setup, found), release.reason),
        engine_python=wishes.engine_python and absolute(wishes.engine_python),
        environment=release.environment,
    )
    if measured is None:
        return choice
    users = found.users
    counted = memory.overhead(anatomy, setup, users) - memory.overhead(anatomy, plain, users)
    return calibration.corrected(choice, measured, counted)


def _against_wishes(facts: ModelFacts, setup: Setup, wishes: Wishes) -> Obstacle | None:
    stored = facts.quantization.format if facts.quantization else "none" if wishes.as_published else None
    if stored and wishes.quantization and wishes.quantization != stored:
        text = tr(
            "The checkpoint is stored as {stored}, not {asked}.",
            stored=of(facts, stored).title,
            asked=wishes.quantization,
        )
        return Obstacle(
            "quantization", text, either(f"--quantization {stored}", tr("another repository of this model"))
        )
    if wishes.quantization and wishes.quantization != "none" and wishes.quantization not in FORMATS:
        text = tr("There is no format {format}.", format=wishes.quantization)
        return Obstacle("quantization", text, tr("One of {names}.", names=", ".join(FORMATS)))
    if wishes.kv_dtype not in (None, "auto", "fp8", "bfloat16", "float16"):
        text = tr("There is no KV cache in {dtype}.", dtype=wishes.kv_dtype)
        return Obstacle("kv-dtype", text, either("--kv-dtype auto", "fp8"))
    if wishes.max_len and facts.max_context and wishes.max_len > facts.max_context:
        text = cpu.beyond_training(facts.max_context, wishes.max_len)
        return Obstacle("trained-context", text, f"--max-len {facts.max_context}")
    if wishes.max_gpus and setup.gpus > wishes.max_gpus:
        text = tr(
            "tp {tp} × pp {pp} needs {gpus} GPUs, and --max-gpus says {most}.",
            tp=setup.tp,
            pp=setup.pp,
            gpus=setup.gpus,
            most=wishes.max_gpus,
        )
        return Obstacle("max-gpus", text, f"--max-gpus {setup.gpus}")
    return None


def _no_speed(facts: ModelFacts, device: Device, setup: Setup) -> Note:
    return Note("speed", tr("Speed unknown: {why}.", why=why_unknown(facts, device, setup)))


def _warnings(facts: ModelFacts, device: Device, setup: Setup, found: Fit) -> Iterator[Note]:
    yield from rules.warnings(facts, device, setup)
    if found.cut:
        text = ntr(
            "Only one person is served at a time with {tokens:,} tokens each: no more KV cache fits.",
            "Only {count:,} people are served at a time with {tokens:,} tokens each: no more KV cache fits.",
            found.users,
            count=found.users,
            tokens=found.length,
        )
        yield Note("few-users", text)
    if device.named:
        text = tr(
            "{count} × {gpu} are more than one machine holds: this is the advice for one with {here} of them. On the "
            "others the same can be served again.",
            count=device.named,
            gpu=device.name,
            here=len(device.indices),
        )
        yield Note("one-machine", text)
    if device.holders:
        holders = "; ".join(device.holders)
        yield Note("busy", tr("Others hold memory: {holders}. Only what is free is planned with.", holders=holders))
    if setup.quantization != "none" and facts.quantization is None:
        yield Note("requantize", *_another(facts, setup.quantization))
    if facts.gated:
        yield gated()
    if facts.chat is None and facts.local:
        yield no_template()


def _another(facts: ModelFacts, name: str) -> tuple[str, str | None]:
    """Where the checkpoint in another format comes from: a ready one that is known, or a search; and who says so."""
    found = FORMATS[name]
    for one in ready(facts.location):
        if one.format == name:
            text = tr(
                "This is another checkpoint of the model, in {format}: take {ref}.", format=found.title, ref=one.ref
            )
            return text, one.source
    text = tr(
        "This is another checkpoint of the model, in {format}: search the hub for the model's name and {word}, or "
        "quantise it here first.",
        format=found.title,
        word=found.label.split()[-1],
    )
    return text, None


def _weights_note(facts: ModelFacts, anatomy: Anatomy, setup: Setup, bill: Memory) -> Note:
    form = of(facts, setup.quantization)
    values = {
        "format": form.title,
        "flag": f"--quantization {form.name}",
        "size": size(bill.weights_bytes),
        "parameters": count(anatomy.parts.total),
    }
    if facts.quantization or setup.quantization == "none":
        text = tr(
            "{format} ({flag}), as the checkpoint is stored: {size} of weights on each GPU for {parameters} "
            "parameters.",
            **values,
        )
    else:
        text = tr(
            "{format} ({flag}), another checkpoint: {size} of weights on each GPU for {parameters} parameters.",
            **values,
        )
    return Note("weights", text, tr("parameters × bits ÷ 8 ÷ ranks"))


def _memory_note(device: Device, setup: Setup, found: Fit) -> Note:
    bill = found.memory
    text = tr(
        "{used} of the {budget} that may be used of {total}",
        used=size(bill.total_bytes),
        budget=size(bill.budget_bytes),
        total=size(device.total_bytes),
    )
    cache = on_gpu(setup.stack).cache
    if cache.counts_of == "total":
        how = tr("gpu_memory_utilization {share:.2f}, which counts of the total", share=found.utilization)
        text = f"{text}: {how}"
    elif cache.counts_of == "free":
        share = memory.kv_fraction(device, setup, bill)
        how = tr("{fraction} {share:.2f}, of what is free after loading", fraction=cache.knob, share=share)
        text = f"{text}: {how}"
    return Note("memory", f"{text}.", cache.source if cache.knob else None)


def _reasons(facts: ModelFacts, anatomy: Anatomy, device: Device, setup: Setup, found: Fit) -> Iterator[Note]:
    bill = found.memory
    yield _weights_note(facts, anatomy, setup, bill)
    if setup.gpus > 1:
        text = tr(
            "tp {tp} × pp {pp}: {gpus} GPUs share the weights, joined by {link}.",
            tp=setup.tp,
            pp=setup.pp,
            gpus=setup.gpus,
            link=tr(LINKS[device.link]),
        )
        yield Note("split", text)
    cache = bill.kv_bytes_per_token * bill.kv_capacity_tokens
    text = tr(
        "{users:,} × {length:,} tokens need {need} of KV cache and there are {cache}: {tokens:,} tokens, {longest:,} "
        "for each.",
        users=found.users,
        length=found.length,
        need=size(bill.kv_bytes_per_token * found.users * found.length),
        cache=size(cache),
        tokens=bill.kv_capacity_tokens,
        longest=found.longest,
    )
    yield Note("context", text, tr("2 × layers × kv heads × head dimension × bytes for each token"))
    yield _memory_note(device, setup, found)


LINKS = {"nvlink": "NVLink", "bridge": mark("NVLink bridges between pairs"), "pcie": "PCIe"}
"""How GPUs are joined, by `Device.link`."""
