"""Advice for CPU machines: fits or not, with reasons; what was asked for is refused rather than changed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.stack_values import VLLM
from tests.values import CPU_HOST, GGUF, GIB, PYTHON
from tests.worded import remedy_of, text_of
from wizard.advise import cpu
from wizard.advise.advice import Advice, Checkpoint, Constraints
from wizard.advise.ranking import advise
from wizard.model.anatomy import Anatomy, Parts
from wizard.model.facts import ModelFacts, WeightFile
from wizard.probe.host import Cpu, Gpu, Host, System

ENGINE = cpu.on_cpu("llamacpp")
LARGE = replace(
    GGUF, name="large", parameters=8 * 10**9, weight_bytes=8 * GIB, layers=32, hidden_size=4096, heads=32, kv_heads=8,
    head_dim=128, intermediate_size=14336, vocabulary=128256, max_context=131072,
)  # fmt: skip


def codes(advice: Advice) -> list[str]:
    return [rejection.code for rejection in advice.rejections]


def test_a_small_gguf_on_a_cpu_is_served_as_it_is() -> None:
    advice = advise(CPU_HOST, GGUF, Constraints())
    choice = advice.choices[0]
    assert advice.feasible
    assert (choice.stack, choice.runtime, choice.tp, choice.quantization) == ("llamacpp", "native", 1, "gguf_q8_0")
    assert (choice.max_batch_size, choice.max_seq_len) == (4, 1024)
    assert {reason.code for reason in choice.reasons} == {
        *("limit", "cpu", "cpu-unmeasured", "format", "users", "memory", "release")
    }
    assert choice.memory.total_bytes <= choice.memory.budget_bytes
    assert choice.memory.kv_bytes_per_token == 2 * 4 * 2 * 64 * 2


def test_an_unquantised_gguf_is_a_gguf_too() -> None:
    assert advise(CPU_HOST, replace(GGUF, quantization=None, dtype="F32"), Constraints()).feasible


def test_the_memory_breakdown_adds_up() -> None:
    bill = advise(CPU_HOST, LARGE, Constraints(users=2, max_len=2048)).choices[0].memory
    assert bill.kv_capacity_tokens == 4096
    parts = bill.weights_bytes + bill.kv_bytes_per_token * bill.kv_capacity_tokens + bill.activation_bytes
    assert bill.total_bytes == parts + bill.overhead_bytes


@pytest.mark.parametrize(
    ("host", "code", "remedy"),
    [
        (replace(CPU_HOST, cpu=Cpu("Old", "x86_64", 4, ("sse4_2",))), "cpu", "Haswell"),
        (replace(CPU_HOST, cpu=Cpu("RISC-V", "riscv64", 4)), "machine", "x86_64, aarch64"),
        (replace(CPU_HOST, system=System("RHEL 9", "5.14", "glibc 2.34")), "libc", "Debian 12"),
        (replace(CPU_HOST, system=System("Alpine", "6.6", "musl 1.2")), "libc", "newer distribution"),
        (replace(CPU_HOST, interpreters=()), "python", "`uv python install 3.12`"),
        (
            replace(CPU_HOST, interpreters=(replace(PYTHON, version=(3, 13, 0), usable=False, why_not="too new"),)),
            "python",
            "`uv python install 3.12`",
        ),
        (replace(CPU_HOST, memory_available_bytes=50_000_000), "memory", "smaller model"),
        (replace(CPU_HOST, memory_available_bytes=None, unknown={"memory_available_bytes": "no /proc"}), "memory", ""),
    ],
)
def test_an_unfit_machine_gets_a_reason_and_a_fix(host: Host, code: str, remedy: str) -> None:
    advice = advise(host, GGUF, Constraints())
    assert not advice.feasible
    assert codes(advice) == [code]
    assert remedy in remedy_of(advice.rejections[0])


@pytest.mark.parametrize(
    ("name", "packages"),
    [
        ("Debian GNU/Linux 12 (bookworm)", "sudo apt install libpython3.11 python3.11-venv"),
        ("Ubuntu 22.04.5 LTS", "sudo apt install libpython3.10 python3.10-venv"),
        ("Ubuntu 24.04.3 LTS", "sudo apt install libpython3.12 python3.12-venv"),
        ("Fedora Linux 43 (Server Edition)", "sudo dnf install python3.12"),
        ("Rocky Linux 10.1 (Red Quartz)", "sudo dnf install python3"),
        ("Debian GNU/Linux 13 (trixie)", None),
        ("Ubuntu 25.10", None),
        ("Arch Linux", None),
    ],
)
def test_a_missing_python_is_named_as_this_distribution_has_it(name: str, packages: str | None) -> None:
    host = replace(CPU_HOST, interpreters=(), system=replace(CPU_HOST.system, name=name))
    remedy = remedy_of(advise(host, GGUF, Constraints()).rejections[0])
    commands = f"`{packages}`, or `uv python install 3.12`" if packages else "`uv python install 3.12`"
    assert remedy == f"Install Python: {commands}."


def test_an_interpreter_that_cannot_says_why() -> None:
    host = replace(CPU_HOST, interpreters=(replace(PYTHON, usable=False, why_not="it has no shared library"),))
    assert "it has no shared library" in text_of(advise(host, GGUF, Constraints()).rejections[0])


@pytest.mark.parametrize(
    ("constraints", "code", "remedy"),
    [
        (Constraints(stack="vllm"), "no-gpu", "--stack llamacpp"),
        (Constraints(tp=2), "tp", "omit --tp"),
        (Constraints(pp=2), "pp", "omit --pp"),
        (Constraints(kv_dtype="fp8"), "kv-dtype", "omit --kv-dtype"),
        (Constraints(quantization="awq"), "quantization", "--quantization gguf_q8_0"),
        (Constraints(max_len=4096), "trained-context", "--max-len 1024"),
        (Constraints(isl=4096, osl=1), "trained-context", "Use a smaller --isl or --osl."),
        (Constraints(replicas=2), "replicas", "omit --replicas"),
    ],
)
def test_a_constraint_that_cannot_be_met_is_refused_not_changed(
    constraints: Constraints, code: str, remedy: str
) -> None:
    advice = advise(CPU_HOST, GGUF, constraints)
    assert codes(advice) == [code]
    assert remedy in remedy_of(advice.rejections[0])


def test_constraints_that_can_be_met_are_met_exactly() -> None:
    choice = advise(CPU_HOST, GGUF, Constraints(users=7, max_len=300, tp=1, quantization="gguf_q8_0")).choices[0]
    assert (choice.max_batch_size, choice.max_seq_len, choice.tp) == (7, 300, 1)


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        (replace(GGUF, weights=()), "format"),
        (replace(GGUF, weights=(WeightFile("a.safetensors", 1, "safetensors"),)), "format"),
        (replace(GGUF, layers=None, unknown={"layers": "not in the header"}), "shape"),
        (replace(GGUF, weight_bytes=None), "shape"),
    ],
)
def test_a_model_that_this_stack_cannot_load_is_rejected(facts: ModelFacts, code: str) -> None:
    assert codes(advise(CPU_HOST, facts, Constraints()))[0] == code


def test_the_context_is_cut_to_fit_with_a_note() -> None:
    host = replace(CPU_HOST, memory_available_bytes=11 * GIB)
    choice = advise(host, LARGE, Constraints(users=8)).choices[0]
    assert choice.max_seq_len < 4096
    assert "context-cut" in {note.code for note in choice.warnings}
    assert choice.memory.total_bytes <= choice.memory.budget_bytes


def test_the_default_context_is_4096_tokens() -> None:
    assert advise(CPU_HOST, LARGE, Constraints(users=1)).choices[0].max_seq_len == 4096


def test_a_context_that_was_asked_for_is_not_cut() -> None:
    host = replace(CPU_HOST, memory_available_bytes=11 * GIB)
    advice = advise(host, LARGE, Constraints(users=8, max_len=4096))
    assert codes(advice) == ["memory"]
    assert "--max-len" in remedy_of(advice.rejections[0])


def test_a_processor_without_measurements_is_accepted_with_a_note() -> None:
    arm = replace(CPU_HOST, cpu=Cpu("Neoverse-V2", "aarch64", 72, ("asimd", "sve")))
    choice = advise(arm, GGUF, Constraints()).choices[0]
    assert (choice.stack, choice.runtime) == ("llamacpp", "native")
    (note,) = [warning for warning in choice.warnings if warning.code == "untried-processor"]
    assert "aarch64" in text_of(note)
    assert "emulation" in text_of(note)


def test_gpu_constraints_without_effect_get_a_note() -> None:
    notes = advise(CPU_HOST, GGUF, Constraints(gpu_memory_utilization=0.5)).choices[0].warnings
    assert "no-gpu-used" in {note.code for note in notes}


def test_unused_or_missing_hardware_gets_a_note() -> None:
    host = replace(CPU_HOST, gpus=(Gpu(0, "NVIDIA A100"),))
    facts = replace(GGUF, chat=None, gated=True)
    notes = {note.code for note in advise(host, facts, Constraints()).choices[0].warnings}
    assert notes == {"gpu-unused", "no-template", "gated"}


@given(
    budget=st.integers(0, 64 * GIB),
    users=st.integers(1, 64),
    facts=st.sampled_from([GGUF, LARGE]),
)
def test_the_longest_context_fits_and_one_block_more_does_not(budget: int, users: int, facts: ModelFacts) -> None:
    longest = cpu.longest_context(facts, ENGINE, users=users, server_bytes=10**7, budget=budget)
    assert longest % 256 == 0

    def total(context: int) -> int:
        bill = cpu.bill(facts, ENGINE, users=users, context=context, server_bytes=10**7, budget=budget)
        assert bill is not None
        return bill.total_bytes

    assert longest == 0 or total(longest) <= budget
    assert total(longest + 256) > budget


@given(st.integers(0, 64 * GIB), st.integers(1, 64))
def test_advice_never_overspends(available: int, users: int) -> None:
    advice = advise(replace(CPU_HOST, memory_available_bytes=available), LARGE, Constraints(users=users))
    assert advice.feasible or codes(advice) == ["memory"]
    assert all(choice.memory.total_bytes <= available for choice in advice.choices)


def test_other_files_are_named_only_where_one_was_chosen_among_them() -> None:
    repository, file = (replace(VLLM, checkpoint=Checkpoint("o/r", file=name)) for name in (None, "x-Q4_K_M.gguf"))
    assert cpu.with_others(VLLM) is VLLM
    assert cpu.with_others(repository) is repository
    assert [note.code for note in cpu.with_others(file).reasons] == ["gguf-others"]


@pytest.mark.parametrize(
    ("unknown", "less"), [({}, 0), ({"vocabulary": None}, 3 * 128256 * 4), ({"hidden_size": None}, 0)]
)
def test_buffers_hold_a_piece_of_the_prompt_its_mask_and_logits(unknown: dict[str, None], less: int) -> None:
    """Rows of the feed-forward (14,336) and the residual stream (4,096) in 4 bytes, a mask in 2, logits of 3 users."""
    piece = ENGINE.piece_tokens
    rows = 3 * 14336 + (0 if "hidden_size" in unknown else 5 * 4096)
    bytes_ = cpu.activation_bytes(replace(LARGE, **unknown), ENGINE, users=3, context=1000)
    assert bytes_ == piece * rows * 4 + piece * 1000 * 2 + 3 * 128256 * 4 - less


def test_the_breakdown_by_hand() -> None:
    """32 layers of 8 heads with 128 + 128 elements of 2 bytes; a tokenizer for each of 128,256 words."""
    bill = cpu.bill(LARGE, ENGINE, users=3, context=1000, server_bytes=GIB, budget=99 * GIB)
    assert bill
    assert (bill.weights_bytes, bill.kv_bytes_per_token, bill.kv_capacity_tokens) == (8 * GIB, 131072, 3000)
    assert bill.activation_bytes == cpu.activation_bytes(LARGE, ENGINE, users=3, context=1000)
    assert bill.overhead_bytes == GIB + ENGINE.tokenizer_bytes * 128256
    assert bill.total_bytes == 8 * GIB + 131072 * 3000 + bill.activation_bytes + bill.overhead_bytes
    wordless = cpu.bill(replace(LARGE, vocabulary=None), ENGINE, users=3, context=1000, server_bytes=GIB, budget=1)
    assert wordless
    assert wordless.overhead_bytes == GIB


def test_a_tenth_of_the_free_memory_is_left_and_a_dtype_may_be_unknown() -> None:
    choice = advise(replace(CPU_HOST, memory_available_bytes=10**10), GGUF, Constraints()).choices[0]
    assert choice.memory.budget_bytes == 9 * 10**9
    assert [advise(CPU_HOST, replace(GGUF, dtype=dtype), Constraints()).choices[0].dtype for dtype in ("Q8", None)] == [
        *("Q8", "unknown")
    ]


@pytest.mark.parametrize(
    ("constraints", "most", "tokens", "least"),
    [
        (Constraints(max_len=100), 131072, 100, 100),
        (Constraints(isl=300, osl=200), 131072, 500, 500),
        (Constraints(), 131072, 4096, 256),
        (Constraints(), None, 4096, 256),
        (Constraints(), 1000, 1000, 256),
        (Constraints(), 200, 200, 200),
        (Constraints(goal="documents"), 131072, 28_672 + 1024, 256),
        (Constraints(tpot=50.0), 131072, 4096, 1280),
        (Constraints(tpot=50.0), 1000, 1000, 1000),
    ],
)
def test_the_tokens_of_each_user_and_the_fewest_of_use(
    constraints: Constraints, most: int | None, tokens: int, least: int
) -> None:
    assert cpu.contexts(replace(LARGE, max_context=most), constraints) == (tokens, least)


@pytest.mark.parametrize(
    ("width", "experts", "elements"), [(None, None, 0), (9, None, 9), (None, 4, 8), (9, 4, 9), (7, 4, 8)]
)
def test_a_token_passes_the_feed_forward_or_the_experts_that_it_is_sent_to(
    width: int | None, experts: int | None, elements: int
) -> None:
    mixed = Anatomy(Parts(), (), 1, 1, 1, 0, 1, experts=8, experts_per_token=2, expert_intermediate=experts or 0)
    facts = replace(LARGE, intermediate_size=width, anatomy=mixed if experts else None)
    assert cpu.feed_forward(facts) == elements
