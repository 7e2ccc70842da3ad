"""Serving on GPUs: every stack × format × split × KV dtype, through rules and memory to choices or rejections. Pure."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from wizard.advise import (
    benchmarked,
    calibration,
    checkpoint,
    cost,
    data_parallel,
    encoders,
    engine_python,
    experts,
    gpu_notes,
    gpu_setups,
    memory,
    rules,
    service,
    slices,
    speculation,
)
from wizard.advise.advice import Checkpoint, Choice, Constraints, Rejection
from wizard.advise.devices import Device, devices
from wizard.advise.fit import LONGEST, Fit, fit
from wizard.advise.reasons import Note, Obstacle, Remedy, because, change, do
from wizard.advise.release import Resolved, resolve
from wizard.advise.setup import Setup
from wizard.advise.speed import estimate, why_unknown
from wizard.catalog import gguf_types
from wizard.catalog.releases import version
from wizard.catalog.stacks import gpu_stacks, on_gpu
from wizard.model.anatomy import Anatomy
from wizard.model.facts import ModelFacts
from wizard.model.formats import FORMATS
from wizard.probe.engine_python import absolute, known
from wizard.probe.host import EnginePython, Host

SIZES = ("memory", "context", "users")
"""Codes of obstacles that fewer bytes for each request can resolve."""
AFTER = ("checkpoint", "replicas", "ttft", "tpot")
"""Codes of obstacles that only setups with enough memory meet."""
WIDEST = 4
"""Tensor-parallel ranks over PCIe beyond which stages or replicas are better, even if the speed model disagrees: Llama
70B in FP8 on L40S serves 1,549 tokens/s with tp 4 and 1,498 with tp 8, on twice the GPUs (128 tokens in and out;
TensorRT-LLM docs/source/performance/perf-overview.md). Up to there the estimated speed decides.
"""


def candidates(
    host: Host, facts: ModelFacts, constraints: Constraints, past: calibration.Calibration = calibration.NOTHING
) -> tuple[list[Choice], list[Rejection]]:
    """All choices on the GPUs of ``host``, unranked, and for each stack and format why the others were rejected."""
    stacks = [gpu_stack for gpu_stack in gpu_stacks() if constraints.stack in (None, gpu_stack)]
    groups = devices(host)
    python = known(host, constraints.engine_python) if constraints.engine_python else None
    if why := _before(host, facts, groups):
        stored = constraints.quantization or (facts.quantization and facts.quantization.format) or "none"
        tp, pp = constraints.tp or 1, constraints.pp or 1
        return [], [Rejection(stack, stored, tp, pp, why.code, why.reason, why.remedies) for stack in stacks]
    choices: list[Choice] = []
    rejected: dict[tuple[str, str, str], Rejection] = {}
    for device in groups:
        unused = () if constraints.max_gpus else tuple(service.unused(host, device, groups))
        releases: dict[tuple[str, str], Resolved | Obstacle] = {}
        larger = {key for key in rejected if key[-1] in SIZES}  # on a group with more memory
        for setup in gpu_setups.setups(facts, device, constraints, stacks):
            kind = (setup.stack, setup.quantization)
            if kind not in releases:  # the same for every split
                releases[kind] = _python_conflict(constraints, setup, python) or resolve(
                    host, facts, device, setup, constraints.release, constraints.runtime, python
                )
            divided = experts.divided(facts, device, setup, constraints, releases[kind])
            made, why = _replicated(facts, device, divided, constraints, past, releases[kind])
            choices += [replace(choice, reasons=(*choice.reasons, *unused)) for choice in made]
            if why and not made and (setup.dp == 1 or constraints.dp):
                key = (setup.stack, setup.quantization, why.code)
                rejection = Rejection(*key[:2], setup.tp, setup.pp, why.code, why.reason, why.remedies)
                if key not in larger and (key not in rejected or _nearer(why, rejected[key])):
                    rejected[key] = rejection
    able = experts.as_needed(worthwhile(choices, constraints), constraints)
    return data_parallel.as_needed(able, constraints), _final(rejected)


def _final(rejected: dict[tuple[str, str, str], Rejection]) -> list[Rejection]:
    """The rejections, without those for memory where a setup on more GPUs fits and is rejected for something else."""

    def settled(rejection: Rejection) -> bool:
        others = (rejected.get((rejection.stack, rejection.quantization or "none", code)) for code in AFTER)
        size = rejection.tp * rejection.pp
        return rejection.code in SIZES and any(other and other.tp * other.pp > size for other in others)

    return [rejection for rejection in rejected.values() if not settled(rejection)]


def _nearer(why: Obstacle, before: Obstacle | Rejection) -> bool:
    """Whether a setup came nearer to what was asked for than the one ``before``: the widest split, or the fastest."""
    if (why.code in AFTER) != (before.code in AFTER):
        return why.code in AFTER
    if why.code not in ("ttft", "tpot"):
        return why.code in SIZES
    limits = [each.remedies[0].changes.get(why.code) for each in (why, before)]
    mine, theirs = (value if isinstance(value, float) else inf for value in limits)
    return mine < theirs


def _replicated(
    facts: ModelFacts,
    device: Device,
    setup: Setup,
    constraints: Constraints,
    past: calibration.Calibration,
    release: Resolved | Obstacle,
) -> tuple[list[Choice], Obstacle | None]:
    """``setup`` with more and more replicas while they give users something; and the last obstacle."""
    choices: list[Choice] = []
    why = None
    counts = service.replicas(constraints, device, setup, release) if isinstance(release, Resolved) else (1,)
    for count in counts:
        several = setup if count == setup.replicas else replace(setup, replicas=count)
        made = _choice(facts, device, several, constraints, past, release)
        if isinstance(made, Obstacle) and made.code in SIZES and not constraints.kv_dtype:
            smaller = _choice(facts, device, replace(several, kv_cache_dtype="fp8"), constraints, past, release)
            # With half the bytes per token more fits, so its rejection has the better figures.
            made = smaller if isinstance(smaller, Choice) or smaller.code in (made.code, *AFTER) else made
        if isinstance(made, Choice):
            choices.append(made)
            most = constraints.max_len or min(facts.max_context or LONGEST, LONGEST)
            if setup.gpus > 1 and service.enough(made, constraints, most):
                break
        else:
            why = made if why is None or _nearer(made, why) else why
            if made.code not in (*SIZES, "ttft", "tpot"):
                break
    return choices, why


def _python_conflict(constraints: Constraints, setup: Setup, python: EnginePython | None) -> Obstacle | None:
    """What conflicts with serving from the requested Python, whatever it has."""
    if constraints.engine_python and python is None:
        return engine_python.unknown(constraints.engine_python)
    return engine_python.against_constraints(constraints, setup.stack)


def worthwhile(choices: list[Choice], constraints: Constraints) -> list[Choice]:
    """The choices without pipelines that were not requested and have no advantage.

    Those are no faster for a single user, serve no more tokens and have no more room than ranks on as many GPUs, or
    than fewer stages of more ranks. `WIDEST` ranks over PCIe are not such an alternative. Other numbers of stages than
    `wizard.advise.gpu_setups.STAGES` are only for room that no other setup has.
    """

    def better(other: Choice, choice: Choice) -> bool:
        like = (other.stack, other.quantization) == (choice.stack, choice.quantization)
        room = other.users >= choice.users and other.max_seq_len >= choice.max_seq_len
        if like and choice.pp not in gpu_setups.STAGES and other.pp in gpu_setups.STAGES:
            return room
        if not like or other.pp >= choice.pp or other.gpus != choice.gpus or wide(other):
            return False
        if not (choice.speed and other.speed and choice.speed.tpot_ms and other.speed.tpot_ms):
            return False
        tokens = [(each.speed.throughput_tokens_per_s or 0) / each.replicas for each in (choice, other) if each.speed]
        room = other.max_batch_size >= choice.max_batch_size and other.max_seq_len >= choice.max_seq_len
        return other.speed.tpot_ms <= choice.speed.tpot_ms and tokens[1] >= tokens[0] and room

    return [
        choice
        for choice in choices
        if constraints.pp or choice.pp == 1 or not any(better(each, choice) for each in choices)
    ]


def waits(choice: Choice) -> bool:
    """Whether its ranks wait for one another without NVLink in every layer."""
    return choice.tp > 1 and any(note.params.get("link") not in (None, "nvlink") for note in choice.reasons)


def wide(choice: Choice) -> bool:
    """Whether it has more ranks than are useful without NVLink (`WIDEST`)."""
    return choice.tp > WIDEST and any(note.code == rules.PCIE for note in choice.warnings)


def _before(host: Host, facts: ModelFacts, groups: list[Device]) -> Obstacle | None:
    """What prevents every GPU stack from serving the model here."""
    if not groups:
        return _no_group(host)
    if any(file.format == "gguf" for file in facts.weights):
        return Obstacle("gguf", because("gguf"), (do("own-repository"),))
    if facts.quantization and facts.quantization.format is None:
        why = because("unknown-method", method=facts.quantization.method, bits=facts.quantization.bits)
        return Obstacle("format", why, (do("give-unquantized"),))
    if facts.anatomy is None or not facts.anatomy.attention:
        unknown = facts.unknown.get("anatomy") or facts.unknown.get("parameters") or because("silent-config")
        return Obstacle(
            "shape", because("unknown-memory", model=facts.name, whys=(unknown,)), (do("whole-repository"),)
        )
    return None


def _no_group(host: Host) -> Obstacle:
    """Why no GPU of ``host`` can be used."""
    if not host.gpus:
        problem = host.gpu_problem
        no_gpu = because("no-gpu", problem=problem.what, code=problem.code) if problem else because("no-gpu")
        return Obstacle("no-gpu", no_gpu, (do("gguf-or-driver"),))
    gpu = host.gpus[0].name
    if all(each.mig_enabled and not each.mig_slices for each in host.gpus):
        return Obstacle("mig", because("mig-empty", gpu=gpu), (do("make-slices"),))
    return Obstacle("gpu-unknown", because("gpu-unknown", gpu=gpu), (do("update-driver"),))


def _choice(
    facts: ModelFacts,
    device: Device,
    setup: Setup,
    constraints: Constraints,
    past: calibration.Calibration,
    release: Resolved | Obstacle,
) -> Choice | Obstacle:
    anatomy = facts.anatomy
    if anatomy is None:
        raise AssertionError("checked before")
    ready = _prevented(facts, anatomy, device, setup, constraints) or release
    if isinstance(ready, Obstacle):
        return ready
    release = ready
    whole, facts = facts, encoders.loaded(facts, setup.stack, release.engine_version)
    anatomy = facts.anatomy or anatomy
    engine = calibration.engine(setup.stack, release.release)
    measured = calibration.typical(past, machine=device.name, stack=setup.stack, engine=engine, model=facts.ref)
    setup = plain = replace(setup, triton_bytes=memory.triton(setup.stack, release.runtime))
    if measured:
        setup = replace(setup, correction_bytes=calibration.difference(measured))
    old = data_parallel.too_old(setup, release.engine_version) or experts.too_old(setup, release.engine_version)
    unable = slices.obstacle(device, setup, release) or old
    best = (
        unable
        or speculation.obstacle(facts, setup, constraints, release.engine_version)
        or fit(facts, anatomy, device, setup, constraints)
    )
    if isinstance(best, Fit):  # how many replicas are possible depends on what one needs
        best = service.too_many(constraints, device, setup, release) or best
    if isinstance(best, Obstacle):
        return best
    fetched = _fetched(facts, anatomy, device, setup, release)
    of_free = on_gpu(setup.stack).cache.counts_of == "free"
    load = service.load_of(constraints, best.users, best.length)
    tokens = best.memory.kv_capacity_tokens
    speed = estimate(facts, device, setup, load, tokens, release.engine_version)
    speed = service.together(speed, constraints, setup.shares)
    total = replace(load, users=(speed and speed.users) or load.users * setup.shares)
    named = {"machine": device.name, "engine": engine, "model": whole.ref}
    speed, benched = benchmarked.corrected(speed, past.speeds, setup, total, **named)
    if isinstance(fetched, Obstacle):
        return fetched
    if why := service.too_slow(speed, constraints):
        return why
    unknown = () if speed else (Note("speed", {"why": why_unknown(facts, device, setup)}),)
    used = filter(None, (service.idle(constraints, device, setup, release),))
    parts = slices.of(device, setup, release)[: setup.replicas]
    choice = Choice(
        stack=setup.stack,
        runtime=release.runtime,
        dtype=setup.dtype,
        quantization=setup.quantization,
        kv_cache_dtype=setup.kv_cache_dtype,
        tp=setup.tp,
        pp=setup.pp,
        max_batch_size=best.users,
        max_seq_len=best.length,
        release=release.release,
        memory=best.memory,
        devices=tuple(gpu for gpu, _ in parts) or device.indices[: setup.gpus * setup.replicas],
        slices=tuple(part.uuid for _, part in parts),
        replicas=setup.replicas,
        dp=setup.dp,
        expert_parallel=setup.expert_parallel,
        speculative=setup.speculative,
        proposed_tokens=setup.lookahead,
        draft=facts.draft if setup.speculative == "eagle3" else None,
        gpu_memory_utilization=best.utilization,
        kv_cache_fraction=memory.kv_fraction(device, setup, best.memory) if of_free else None,
        step_tokens=memory.step_tokens(device),
        speed=speed,
        warnings=(
            *unknown,
            *gpu_notes.warnings(facts, device, setup, best, fetched),
            *encoders.notes(whole, setup.stack, release.engine_version),
            *release.warnings,
        ),
        reasons=(
            *gpu_notes.reasons(anatomy, device, setup, best, fetched, constraints),
            *benched,
            *used,
            release.reason,
        ),
        engine_python=constraints.engine_python and absolute(constraints.engine_python),
        environment=release.environment,
        engine_version=release.engine_version,
        checkpoint=fetched,
        cost=cost.cost(speed, constraints.cost_per_hour, device.watts and device.watts * setup.gpus * setup.replicas),
    )
    if short := service.shortened(facts, constraints, choice):
        choice = replace(choice, warnings=(short, *choice.warnings))
    if measured is None:
        return choice
    users = best.users
    counted = memory.overhead(anatomy, setup, users) - memory.overhead(anatomy, plain, users)
    return calibration.corrected(choice, measured, counted)


def _prevented(
    facts: ModelFacts, anatomy: Anatomy, device: Device, setup: Setup, constraints: Constraints
) -> Obstacle | None:
    """What prevents ``setup``, whatever the release and the memory."""
    barred = _against_constraints(facts, setup, constraints) or service.too_long(facts, constraints)
    if why := barred or next(rules.obstacles(facts, anatomy, device, setup), None):
        return why
    if facts.quantization is None and not constraints.quantization and rules.weight_only(device, setup):
        return rules.not_multiplied(device, setup)
    return None


def _against_constraints(facts: ModelFacts, setup: Setup, constraints: Constraints) -> Obstacle | None:
    stored = facts.quantization.format if facts.quantization else "none" if constraints.as_published else None
    if stored and constraints.quantization and constraints.quantization != stored:
        why = because("checkpoint-stored", format=stored, asked=constraints.quantization)
        return Obstacle("quantization", why, (change(quantization=stored), do("other-repository")))
    if constraints.quantization and constraints.quantization != "none" and constraints.quantization not in FORMATS:
        asked = constraints.quantization
        gguf = asked in map(gguf_types.format_of, gguf_types.bits())
        why = because("gguf-format", name=asked) if gguf else because("no-format", name=asked)
        return Obstacle("quantization", why, (do("choose", names=tuple(FORMATS)),))
    if constraints.kv_dtype not in (None, "auto", "fp8", "bfloat16", "float16"):
        auto, fp8 = change(kv_dtype="auto"), Remedy("fp8-cache", {"kv_dtype": "fp8"})
        return Obstacle("kv-dtype", because("no-cache", dtype=constraints.kv_dtype), (auto, fp8))
    if constraints.max_gpus is not None and setup.gpus > constraints.max_gpus:
        why = because("over-max-gpus", **rules.split_of(setup), most=constraints.max_gpus)
        return Obstacle("max-gpus", why, (change(max_gpus=setup.gpus),))
    return None


def _fetched(
    facts: ModelFacts, anatomy: Anatomy, device: Device, setup: Setup, release: Resolved
) -> Checkpoint | Obstacle:
    """What is fetched, or why nothing that is known can be served as ``setup``."""
    fetched = checkpoint.checkpoint(facts, setup.stack, setup.quantization, device.compute_capability)
    if fetched is None:
        return checkpoint.unknown(facts, setup.stack, setup.quantization)
    if lacks := speculation.missing(setup, fetched):
        return lacks
    if fetched.how != "loading" or not checkpoint.whole_while_loading(setup.stack, version(release.engine_version)):
        return fetched
    room = device.free_bytes - on_gpu(setup.stack).memory.context_bytes
    return checkpoint.too_large_to_load(facts, anatomy, setup.quantization, setup.gpus, room) or fetched
