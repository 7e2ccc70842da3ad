"""The borders of what runs and what fits: the last that does, and the first that does not.

The capabilities are written down here a second time, from the sources that `wizard.advise.rules` names: a test that
read them from the rules' own tables could not notice a slip in those.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.advise.worlds import HOSTS, LLAMA_8B, facts_of
from tests.worded import remedy_of
from wizard.advise import fit as fitting
from wizard.advise import memory, rules
from wizard.advise.advice import Constraints
from wizard.advise.compatibility import Obstacle
from wizard.advise.devices import Device, devices
from wizard.advise.fit import Fit, fit
from wizard.advise.setup import Setup
from wizard.kernel.units import GIB, MIB
from wizard.model.anatomy import Anatomy
from wizard.model.facts import Quantization

Capability = tuple[int, int]
(H100,) = devices(HOSTS["8xH100"])
FACTS = facts_of(LLAMA_8B)
assert FACTS.anatomy
SHAPE: Anatomy = FACTS.anatomy

ALL = ("vllm", "transformers", "trtllm-llmapi", "trtllm-engine")
TRTLLM = ("trtllm-llmapi", "trtllm-engine")
FIRST: dict[tuple[str, str], Capability] = {
    **{("vllm", name): (7, 5) for name in ("fp8", "fp8_block", "int8_sq", "int4_awq", "nvfp4")},
    **{("vllm", name): (7, 5) for name in ("int4_wo", "int8_wo")},
    ("vllm", "none"): (7, 0),
    ("vllm", "int4_gptq"): (7, 0),
    ("vllm", "mxfp4"): (8, 0),
    **{(stack, name): (8, 0) for stack in TRTLLM for name in ("none", "int4_awq", "int4_gptq")},
    **{(stack, name): (8, 9) for stack in TRTLLM for name in ("fp8", "w4a8_awq")},
    **{(stack, "fp8_block"): (9, 0) for stack in TRTLLM},
    **{(stack, "nvfp4"): (10, 0) for stack in TRTLLM},
    ("trtllm-engine", "mxfp4"): (10, 0),
    ("trtllm-llmapi", "mxfp4"): (9, 0),
    **{("trtllm-engine", name): (8, 0) for name in ("int8_sq", "int8_wo", "int4_wo")},
}
"""Stack and format → the first capability that runs it."""
LAST: dict[tuple[str, str], Capability] = {
    **{(stack, name): (12, 1) for stack in TRTLLM for name in ("none", "fp8", "nvfp4", "mxfp4")},
    **{(stack, "fp8_block"): (10, 3) for stack in TRTLLM},
    **{("trtllm-llmapi", name): (10, 3) for name in ("w4a8_awq", "int4_awq", "int4_gptq")},
    **{("trtllm-engine", name): (9, 0) for name in ("w4a8_awq", "int4_awq", "int4_gptq")},
    **{("trtllm-engine", name): (9, 0) for name in ("int8_sq", "int8_wo", "int4_wo")},
}
"""… and the last, where the table ends."""


def before(capability: Capability) -> Capability:
    major, minor = capability
    return (major, minor - 1) if minor else (major - 1, 9)


def codes(
    capability: Capability, stack: str, quantization: str = "none", dtype: str = "float16", kv: str = "auto"
) -> set[str]:
    """Codes of the rules that are broken."""
    gpu = replace(H100, compute_capability=capability)
    return {each.code for each in rules.obstacles(FACTS, SHAPE, gpu, Setup(stack, dtype, quantization, kv))}


@pytest.mark.parametrize(("stack", "name"), FIRST)
def test_a_format_begins_with_this_gpu(stack: str, name: str) -> None:
    first = FIRST[stack, name]
    assert "format" not in codes(first, stack, name)
    assert "format" in codes(before(first), stack, name)


@pytest.mark.parametrize(("stack", "name"), LAST)
def test_a_format_ends_with_this_gpu(stack: str, name: str) -> None:
    major, minor = LAST[stack, name]
    assert "format" not in codes((major, minor), stack, name)
    assert "format" in codes((major, minor + 1), stack, name)


@pytest.mark.parametrize(("stack", "first"), zip(ALL, [(7, 0), (7, 0), (8, 0), (8, 0)], strict=True))
def test_a_stack_begins_with_this_gpu(stack: str, first: Capability) -> None:
    assert "capability" not in codes(first, stack)
    assert "capability" in codes(before(first), stack)


def test_bfloat16_begins_with_ampere() -> None:
    assert "dtype" not in codes((8, 0), "vllm", dtype="bfloat16")
    assert "dtype" in codes((7, 9), "vllm", dtype="bfloat16")
    assert "dtype" not in codes((7, 9), "vllm", dtype="float16")


@pytest.mark.parametrize(("stack", "first"), [("vllm", (8, 9)), *((stack, (8, 0)) for stack in TRTLLM)])
def test_an_fp8_kv_cache_begins_with_this_gpu(stack: str, first: Capability) -> None:
    assert "kv-dtype" not in codes(first, stack, kv="fp8")
    assert "kv-dtype" in codes(before(first), stack, kv="fp8")


@pytest.mark.parametrize(("name", "refused"), [("fp8", True), ("fp8_block", True), ("nvfp4", False)])
def test_modelopts_own_fp8_is_not_unpacked_before_ampere(name: str, refused: bool) -> None:
    facts = replace(FACTS, quantization=Quantization("modelopt", 8, format=name))

    def broken(capability: Capability) -> bool:
        gpu = replace(H100, compute_capability=capability)
        obstacles = rules.obstacles(facts, SHAPE, gpu, Setup("vllm", "float16", name))
        return any(each.code == "format" for each in obstacles)

    assert broken((7, 5)) is refused
    assert not broken((8, 0))


@pytest.mark.parametrize(
    ("name", "first"),
    [("fp8", (8, 9)), ("fp8_block", (8, 9)), ("nvfp4", (10, 0)), ("mxfp4", (10, 0)), ("int4_awq", (0, 0))],
)
def test_weights_are_only_unpacked_before_this_gpu(name: str, first: Capability) -> None:
    def unpacked(capability: Capability, stack: str = "vllm") -> bool:
        return rules.weight_only(replace(H100, compute_capability=capability), Setup(stack, "float16", name))

    assert not unpacked(first)
    assert first == (0, 0) or unpacked(before(first))
    assert not unpacked(before(first), "trtllm-llmapi")


@pytest.mark.parametrize(
    ("capability", "first"),
    [((8, 0), "0.9.1"), ((7, 9), "0.16"), ((7, 5), "0.16"), ((7, 4), "0")],
)
def test_the_first_vllm_that_unpacks(capability: Capability, first: str) -> None:
    setup = Setup("vllm", "float16", "fp8")
    assert rules.unpacks(replace(H100, compute_capability=capability), setup) == first


@pytest.mark.parametrize(("total", "tokens"), [(70 * GIB, 8192), (70 * GIB - 1, 2048)])
def test_a_large_gpu_takes_more_tokens_in_a_step(total: int, tokens: int) -> None:
    assert memory.step_tokens(replace(H100, total_bytes=total)) == tokens


@pytest.mark.parametrize(
    ("stack", "inside", "links"),
    [("vllm", 225, 973), ("trtllm-llmapi", 360, 390), ("trtllm-engine", 360, 390), ("transformers", 100, 390)],
)
def test_what_a_stack_takes_beside_weights_and_cache(stack: str, inside: int, links: int) -> None:
    """In MiB: 621 of CUDA context, the stack's own buffers, links only from two GPUs on, graphs where it has them."""
    captured = memory.graphs(SHAPE, 4) if stack in ("vllm", "trtllm-llmapi") else 0
    assert memory.overhead(SHAPE, Setup(stack, "float16", "none"), 4) == (621 + inside) * MIB + captured
    assert memory.overhead(SHAPE, Setup(stack, "float16", "none", tp=2), 4) == (621 + inside + links) * MIB + captured
    assert memory.overhead(SHAPE, replace(Setup(stack, "float16", "none"), correction_bytes=-(10**12)), 4) == 0


@pytest.mark.parametrize(
    ("users", "sizes"),
    [(1, 2 + 1), (2, 3 + 2), (4, 4 + 3), (124, 34 + 18), (128, 35 + 19), (256, 51 + 35), (512, 51 + 51), (999, 102)],
)
def test_the_sizes_of_which_graphs_are_captured(users: int, sizes: int) -> None:
    """1, 2, 4, every 8 up to 256 and every 16 up to 512: for mixed steps up to twice the users, and up to the users."""
    assert memory.graphs(SHAPE, users) == round(0.07 * GIB + 0.18 * MIB * 32 * sizes)


def test_a_window_keeps_itself_a_step_and_a_block() -> None:
    (layers,) = SHAPE.attention
    window = replace(layers, window=1025)
    vllm, other = Setup("vllm", "float16", "none"), Setup("trtllm-engine", "float16", "none")
    assert [memory.kept_tokens(window, other, tokens, 2048, 32) for tokens in (1, 32, 33, 1056, 1057, 9999)] == [
        *(32, 32, 64, 1056, 1056, 1056),
    ]
    assert [memory.kept_tokens(window, vllm, tokens, 2048, 16) for tokens in (3087, 3088, 3089)] == [3088] * 3
    assert memory.kept_tokens(layers, vllm, 3089, 2048, 16) == 3104


@pytest.mark.parametrize(
    ("weights", "kept"),
    [(2 * MIB, 0), (2 * MIB + 2, MIB - 1), (4 * MIB, 0), (20 * MIB - 2, 1 + 1), (20 * MIB, 0), (20 * MIB + 2, 0)],
)
def test_blocks_between_1_and_10_mib_end_at_a_whole_mib(weights: int, kept: int) -> None:
    """Of a gated layer there are a tensor with both halves, of ``weights``, and one of half as many; two in a byte."""
    layer = replace(SHAPE, hidden=1, intermediate=weights // 2, layers=1, moe_layers=0, attention=())
    assert memory.block_ends(layer, Setup("vllm", "float16", "int4_awq")) == kept


ENGINE = Setup("trtllm-engine", "float16", "none")
GPU = replace(H100, total_bytes=2**36, free_bytes=2**36)
"""64 GiB, so that shares of it are exact."""
STEP = memory.step_tokens(GPU)


def share(people: int, tokens: int, bytes_more: int = 0) -> float:
    """The share of the GPU in which exactly so many people have so many tokens, and ``bytes_more``."""
    loaded = memory.weights(FACTS, SHAPE, ENGINE) + memory.overhead(SHAPE, ENGINE, people)
    loaded += memory.activations(SHAPE, ENGINE, people, STEP)
    cache = people * memory.sequence_bytes(SHAPE, ENGINE, tokens, STEP)
    return (loaded + cache + bytes_more - memory.outside(SHAPE, ENGINE, people)) / 2**36


def asked(constraints: Constraints, gpu: Device = GPU) -> Fit | Obstacle:
    return fit(FACTS, SHAPE, gpu, ENGINE, constraints)


@pytest.mark.parametrize(("people", "tokens"), [(1, 2048), (3, 4096), (7, 8192)])
def test_what_was_asked_for_fits_to_the_byte(people: int, tokens: int) -> None:
    constraints = Constraints(users=people, max_len=tokens, gpu_memory_utilization=share(people, tokens))
    fit = asked(constraints)
    assert isinstance(fit, Fit)
    assert (fit.users, fit.length, fit.longest) == (people, tokens, tokens)
    assert fit.memory.kv_capacity_tokens == people * tokens
    assert fit.memory.total_bytes == fit.memory.budget_bytes
    assert isinstance(asked(replace(constraints, gpu_memory_utilization=share(people, tokens, -1))), Obstacle)


def test_default_users_are_reduced_at_the_byte() -> None:
    exact, less = (asked(Constraints(gpu_memory_utilization=share(4, 2048, more))) for more in (0, -1))
    assert isinstance(exact, Fit)
    assert isinstance(less, Fit)
    assert (exact.users, exact.length, exact.cut) == (4, 2048, False)
    assert (less.users, less.length, less.cut) == (3, 2048, True)


def test_the_default_length_is_reduced_at_the_byte() -> None:
    exact, less = (asked(Constraints(gpu_memory_utilization=share(4, 8192, more))) for more in (0, -1))
    assert isinstance(exact, Fit)
    assert isinstance(less, Fit)
    assert (exact.users, exact.length) == (4, 8192)
    assert (less.users, less.length, less.cut) == (4, 4096, False)
    assert less.longest == 8192 - 32 // 4  # a block less for all of them together


def test_the_remedies_are_the_largest_that_fit() -> None:
    context = asked(Constraints(users=2, max_len=8192, gpu_memory_utilization=share(2, 4096)))
    assert isinstance(context, Obstacle)
    assert (context.code, remedy_of(context)) == ("context", "--max-len 4096")
    for people in (5, 1):
        users = asked(Constraints(users=9, max_len=2048, gpu_memory_utilization=share(people, 2048)))
        assert isinstance(users, Obstacle)
        assert (users.code, remedy_of(users)) == ("users", f"--users {people}")


def test_a_share_may_be_all_that_is_free() -> None:
    outside = memory.outside(SHAPE, ENGINE, 4)
    free = replace(GPU, free_bytes=2**35 + outside)
    held = replace(free, free_bytes=free.free_bytes + fitting.SPARE, holders=("somebody",))
    for gpu in (free, held):
        fit = asked(Constraints(gpu_memory_utilization=0.5), gpu)
        assert isinstance(fit, Fit)
        assert fit.memory.budget_bytes == 2**35 + outside
        busy = asked(Constraints(gpu_memory_utilization=0.5 + 2**-36), gpu)
        assert isinstance(busy, Obstacle)
        assert (busy.code, remedy_of(busy)) == ("busy", "--gpu-memory-utilization 0.50")
    unasked = asked(Constraints(), replace(free, free_bytes=free.free_bytes - 1))
    assert isinstance(unasked, Fit)
    assert unasked.utilization == 0.49  # whole hundredths, down


def test_a_cache_may_have_a_share_of_what_is_free_after_loading() -> None:
    bill = memory.bill(FACTS, SHAPE, GPU, ENGINE, 1, 2048, GPU.free_bytes)
    loaded = bill.weights_bytes + bill.activation_bytes + bill.overhead_bytes
    assert 0.9 * (2**36 - loaded) - 32 * bill.kv_bytes_per_token < bill.kv_capacity_tokens * bill.kv_bytes_per_token
    assert memory.kv_fraction(GPU, ENGINE, bill) == 0.9
    half = replace(bill, budget_bytes=loaded + (2**36 - loaded) // 2)
    assert memory.kv_fraction(GPU, ENGINE, half) == pytest.approx(0.5, abs=1e-4)
    assert memory.kv_fraction(GPU, ENGINE, replace(bill, budget_bytes=loaded - 1)) == 0.0
    assert memory.kv_fraction(GPU, Setup("vllm", "float16", "none"), bill) == 1.0


def test_a_single_user_is_served_where_the_default_number_does_not_fit() -> None:
    single = asked(Constraints(gpu_memory_utilization=share(1, 2048)))
    assert isinstance(single, Fit)
    assert (single.users, single.length, single.cut) == (1, 2048, True)
    assert isinstance(asked(Constraints(gpu_memory_utilization=share(1, 2048, -1))), Obstacle)


def test_a_gpu_without_room_for_what_is_not_counted_has_no_share() -> None:
    outside = memory.outside(SHAPE, ENGINE, 4)
    for free in (outside - 1, outside, outside + 2**36 // 100 + 1):
        busy = asked(Constraints(gpu_memory_utilization=0.5), replace(GPU, free_bytes=free))
        assert isinstance(busy, Obstacle)
        assert remedy_of(busy).startswith("--gpu-memory-utilization 0.01") is (free > outside)
        assert isinstance(asked(Constraints(), replace(GPU, free_bytes=free)), Obstacle)


def test_a_gpu_of_which_the_driver_reserves_all_holds_nothing() -> None:
    assert isinstance(asked(Constraints(), replace(GPU, total_bytes=0, free_bytes=0)), Obstacle)
