"""From a machine, a model and wishes to ranked choices. Pure: the same values give the same advice."""

from __future__ import annotations

from wizard.advise import memory
from wizard.advise.advice import Advice, Choice, Memory, Note, Rejection, Wishes
from wizard.advise.compatibility import Obstacle, obstacles
from wizard.catalog.environments import Environment, environment
from wizard.kernel.errors import InfeasibleError
from wizard.kernel.units import count, size
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host

STACK = "llamacpp"
KV_DTYPE = "f16"
DEFAULT_CONTEXT = 4096
"""Tokens for each user unless asked otherwise: a long chat; more only costs memory."""
LEAST_CONTEXT = 256


def advise(host: Host, facts: ModelFacts, wishes: Wishes) -> Advice:
    """Recommend how to serve ``facts`` on ``host``.

    This version serves GGUF models on the CPU with llama.cpp behind Triton; everything else is rejected with the
    reason and the smallest change that would work. What the user asked for explicitly is never changed.
    """
    env = environment(STACK)
    found = [*_against_wishes(facts, wishes), *_against_model(facts), *obstacles(host, env)]
    if found:
        return Advice(False, rejections=tuple(_rejection(facts, wishes, one) for one in found))
    budget = int((host.memory_available_bytes or 0) * (1 - memory.RESERVE))
    fit = _fit(host, facts, wishes, env, budget)
    if isinstance(fit, Obstacle):
        return Advice(False, rejections=(_rejection(facts, wishes, fit),))
    return Advice(True, choices=(fit,))


def recommended(advice: Advice) -> Choice:
    """The first choice.

    Raises:
        InfeasibleError: TW-A01 if there is none, with the first rejection's reason and remedy.
    """
    if not advice.feasible:
        why = advice.rejections[0]
        raise InfeasibleError("TW-A01", why.text, why.remedy)
    return advice.choices[0]


def _rejection(facts: ModelFacts, wishes: Wishes, why: Obstacle) -> Rejection:
    quantization = wishes.quantization or (facts.quantization.detail if facts.quantization else None)
    return Rejection(
        wishes.stack or STACK, quantization, wishes.tp or 1, wishes.pp or 1, why.code, why.text, why.remedy
    )


def _against_wishes(facts: ModelFacts, wishes: Wishes) -> list[Obstacle]:
    found: list[Obstacle] = []
    if wishes.stack not in (None, STACK):
        text = f"This version of the wizard serves with {STACK}; {wishes.stack} is not built in yet."
        found.append(Obstacle("stack", text, f"--stack {STACK}"))
    for name, value in (("tp", wishes.tp), ("pp", wishes.pp)):
        if value not in (None, 1):
            text = f"{STACK} on the CPU runs in one process; {name} {value} would need as many GPUs."
            found.append(Obstacle(name, text, f"--{name} 1"))
    if wishes.kv_dtype not in (None, KV_DTYPE):
        found.append(
            Obstacle(
                "kv-dtype", f"The KV cache is kept in {KV_DTYPE}, not {wishes.kv_dtype}.", f"--kv-dtype {KV_DTYPE}"
            )
        )
    stored = facts.quantization.detail if facts.quantization else None
    if wishes.quantization and wishes.quantization.lower() != (stored or "none").lower():
        text = f"This model's file is stored as {stored or 'unquantised'}, not {wishes.quantization}."
        found.append(Obstacle("quantization", text, f"Give the {wishes.quantization} file of this model instead."))
    if wishes.max_len and facts.max_context and wishes.max_len > facts.max_context:
        text = f"The model was trained for {facts.max_context} tokens of context; {wishes.max_len} were asked for."
        found.append(Obstacle("context", text, f"--max-len {facts.max_context}"))
    return found


def _against_model(facts: ModelFacts) -> list[Obstacle]:
    if not any(file.format == "gguf" for file in facts.weights):
        return [
            Obstacle(
                "format",
                f"{facts.name} is not a GGUF file, which is what {STACK} loads.",
                "Give a GGUF of this model, e.g. a hub repository whose name ends in -GGUF, or a .gguf file.",
            )
        ]
    if facts.weight_bytes is None or memory.kv_bytes_per_token(facts, KV_DTYPE) is None:
        why = "; ".join(facts.unknown.values()) or "its header does not say its shape"
        return [Obstacle("shape", f"How much memory {facts.name} takes is unknown: {why}.", "Give another GGUF file.")]
    return []


def _fit(host: Host, facts: ModelFacts, wishes: Wishes, env: Environment, budget: int) -> Choice | Obstacle:
    if host.memory_available_bytes is None:
        why = host.unknown.get("memory_available_bytes", "the system does not say")
        return Obstacle("memory", f"How much memory is free is unknown: {why}.", "Mend what the reason says.")
    users = max(1, wishes.users)
    longest = memory.longest_context(
        facts, users=users, kv_dtype=KV_DTYPE, server_bytes=env.server_bytes, budget=budget
    )
    wanted = wishes.max_len or min(facts.max_context or DEFAULT_CONTEXT, DEFAULT_CONTEXT)
    context = wanted if wanted <= longest else longest
    if (wishes.max_len and context < wanted) or context < min(LEAST_CONTEXT, wanted):
        return _too_large(facts, wishes, env, budget, longest, min(wanted, wishes.max_len or LEAST_CONTEXT))
    bill = memory.bill(facts, tokens=users * context, kv_dtype=KV_DTYPE, server_bytes=env.server_bytes, budget=budget)
    if bill is None:
        raise AssertionError("the shape was checked before")
    return Choice(
        stack=STACK,
        runtime="native",
        dtype=facts.dtype or "unknown",
        quantization=facts.quantization.detail if facts.quantization else None,
        kv_cache_dtype=KV_DTYPE,
        tp=1,
        pp=1,
        max_batch_size=users,
        max_seq_len=context,
        release=f"triton {env.triton}",
        memory=bill,
        warnings=tuple(_warnings(host, facts, wishes, wanted, context)),
        reasons=tuple(_reasons(host, facts, env, f"{users} requests", context, bill)),
    )


def _too_large(facts: ModelFacts, wishes: Wishes, env: Environment, budget: int, longest: int, wanted: int) -> Obstacle:
    need = memory.bill(
        facts, tokens=max(1, wishes.users) * wanted, kv_dtype=KV_DTYPE, server_bytes=env.server_bytes, budget=budget
    )
    total = need.total_bytes if need else 0
    need_text = f"{facts.name} needs {size(total)} of memory for {wishes.users} users × {wanted} tokens"
    text = f"{need_text}; {size(budget)} may be used."
    if longest >= LEAST_CONTEXT:
        return Obstacle("memory", text, f"--max-len {longest}, or fewer --users")
    return Obstacle(
        "memory", text, f"Free {size(total - budget)} of memory, or choose a smaller model or quantisation."
    )


def _warnings(host: Host, facts: ModelFacts, wishes: Wishes, wanted: int, context: int) -> list[Note]:
    notes: list[Note] = []
    if context < wanted:
        notes.append(Note("context-cut", f"The context was cut from {wanted} to {context} tokens so that it fits."))
    if host.gpus:
        name = host.gpus[0].name
        notes.append(Note("gpu-unused", f"This version serves on the CPU; the {name} of this machine is not used yet."))
    if wishes.max_gpus or wishes.gpu_memory_utilization:
        notes.append(Note("no-gpu-used", "No GPU is used: --max-gpus and --gpu-memory-utilization change nothing."))
    if facts.chat is None:
        notes.append(Note("no-template", "The model has no chat template: it continues text rather than answers."))
    if facts.gated:
        notes.append(
            Note("gated", "The model is gated: accept its licence on its page and log in with `hf auth login`.")
        )
    return notes


def _reasons(host: Host, facts: ModelFacts, env: Environment, users: str, context: int, bill: Memory) -> list[Note]:
    gguf = "https://github.com/ggml-org/ggml/blob/master/docs/gguf.md"
    where = "No NVIDIA GPU was found" if not host.gpus else "GPU stacks are not built in yet"
    stored = facts.quantization.detail if facts.quantization else "GGUF"
    return [
        Note(
            "cpu", f"{where}, so the CPU serves: {host.cpu.cores} cores for llama.cpp behind Triton's Python backend."
        ),
        Note(
            "format", f"The file is GGUF ({stored}, {count(facts.parameters)} parameters): it is loaded as it is.", gguf
        ),
        Note(
            "users",
            f"{users} are worked on at the same time, {context} tokens of prompt plus answer for each.",
        ),
        Note(
            "memory", f"{size(bill.total_bytes)} needed; {size(bill.budget_bytes)} allowed (nine tenths of the free)."
        ),
        Note("release", f"Triton {env.triton} comes in a wheel, so neither Docker nor a GPU is needed."),
    ]
