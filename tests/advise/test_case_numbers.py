"""Numbers of a case: the smallest and the largest that are read, those beside them, and what a missing one means."""

from __future__ import annotations

from typing import Any

import pytest

from tests.advise.worlds import CONFIGS, LLAMA_8B
from wizard.advise.cases import case
from wizard.kernel.units import GIB, MIB
from wizard.model.anatomy import Attention

GPU: dict[str, Any] = {"name": "NVIDIA Something New", "cc": 8.9, "memory_mib": 24_576}
SHAPE: dict[str, Any] = {
    **{"id": "made/up", "layers": 4, "hidden": 64, "heads": 8, "vocab": 100, "max_position": 4096, "params": 10**15},
    **{"experts": 8, "moe_layers": 2, "moe_ffn": 16},
}
MLA = {"kv_lora_rank": 32, "qk_rope_head_dim": 8, "q_lora_rank": 16}
WINDOW = {"window": 1024, "layers": 3}


def made(group: str, **changes: Any) -> dict[str, Any]:
    """A case with changes of its GPU, its model (or ``mla`` or ``sliding_window`` of it), or its request."""
    inner = {"mla": MLA, "sliding_window": WINDOW}.get(group)
    more = changes if inner is None else {group: {**inner, **changes}}
    return {
        "gpus": [{**GPU, **(changes if group == "gpus" else {})}],
        "model": {**SHAPE, **(more if group not in ("gpus", "request") else {})},
        "request": changes if group == "request" else {},
    }


@pytest.mark.parametrize(
    ("group", "field", "least", "most"),
    [
        ("gpus", "count", 1, 64),
        ("gpus", "memory_mib", 1, 10**15),
        ("gpus", "free_mib", 0, 24_576),
        ("model", "layers", 1, 10_000),
        ("model", "hidden", 1, 10**6),
        ("model", "heads", 1, 10**5),
        ("model", "kv_heads", 1, 10**15),
        ("model", "head_dim", 1, 10**5),
        ("model", "ffn", 0, 10**8),
        ("model", "vocab", 1, 10**8),
        ("model", "experts", 0, 10**5),
        ("model", "experts_per_token", 0, 8),
        ("model", "moe_layers", 0, 10_000),
        ("model", "moe_ffn", 0, 10**8),
        ("model", "shared_expert_ffn", 0, 10**8),
        ("model", "max_position", 1, 10**9),
        ("model", "params", 1, 10**15),
        ("mla", "kv_lora_rank", 1, 10**6),
        ("mla", "qk_rope_head_dim", 1, 10**6),
        ("mla", "q_lora_rank", 0, 10**6),
        ("sliding_window", "window", 1, 10**15),
        ("sliding_window", "layers", 0, 4),
        *(
            ("request", name, 1, 10**9)
            for name in ("users", "max_batch_size", "max_len", "max_model_len", "isl", "osl")
        ),
        *(("request", name, 1, 10**9) for name in ("replicas", "max_gpus", "tp", "pp")),
    ],
)
def test_a_number_is_read_up_to_here(group: str, field: str, least: int, most: int) -> None:
    for value in (least, most):
        case(made(group, **{field: value}))
    for value in (least - 1, most + 1):
        with pytest.raises(ValueError, match=f"`{field}` must be an integer from .*, not '{value}'"):
            case(made(group, **{field: value}))


@pytest.mark.parametrize(
    ("cc", "capability"), [("8.9", (8, 9)), ("12", (12, 0)), ("123.456", (123, 456)), ("8.", None), ("1234", None)]
)
def test_a_compute_capability_has_a_major_and_perhaps_a_minor_version(
    cc: str, capability: tuple[int, int] | None
) -> None:
    if capability is None:
        with pytest.raises(ValueError, match="compute capability"):
            case(made("gpus", cc=cc))
    else:
        assert case(made("gpus", cc=cc))[0].gpus[0].compute_capability == capability


def test_what_a_gpu_does_not_say() -> None:
    """450 MiB are the driver's; of memory that is the host's, 4 GiB are other programs'."""
    (gpu,) = case(made("gpus"))[0].gpus
    assert (gpu.memory_total_bytes, gpu.memory_free_bytes) == (24_576 * MIB, (24_576 - 450) * MIB)
    assert (gpu.index, gpu.pcie_width, gpu.mig_enabled, gpu.memory_is_shared_with_host) == (0, 16, False, False)
    assert case(made("gpus", memory_mib=400))[0].gpus[0].memory_free_bytes == 0
    host, *_ = case(made("gpus", memory_mib=None, memory_total_kib_meminfo=100 * 1024**2))
    (shared,) = host.gpus
    assert (shared.memory_total_bytes, shared.memory_free_bytes) == (100 * GIB, 96 * GIB)
    assert shared.memory_is_shared_with_host
    assert host.memory_total_bytes == 100 * GIB
    unknown, *_ = case(made("gpus", memory_mib=None))
    assert (unknown.gpus[0].memory_total_bytes, unknown.gpus[0].memory_free_bytes) == (None, None)
    assert unknown.memory_total_bytes == 64 * GIB


def test_every_pair_of_gpus_has_four_links_if_their_number_is_not_known() -> None:
    host, *_ = case(made("gpus", count=3, nvlink="y"))
    assert [gpu.index for gpu in host.gpus] == [0, 1, 2]
    assert [(link.a, link.b, link.kind) for link in host.gpu_links] == [(0, 1, "NV4"), (0, 2, "NV4"), (1, 2, "NV4")]
    assert case(made("gpus", count=3))[0].gpu_links == ()


def test_what_a_model_does_not_say() -> None:
    plain = {name: None for name in ("experts", "experts_per_token", "moe_layers", "moe_ffn")}
    facts = case(made("model", **plain, ffn=32))[1]
    assert (facts.kv_heads, facts.head_dim, facts.experts, facts.experts_per_token) == (8, 8, None, None)
    assert facts.anatomy
    assert (facts.anatomy.intermediate, facts.anatomy.expert_intermediate, facts.anatomy.moe_layers) == (32, 0, 0)
    assert facts.anatomy.attention == (Attention(4, 8, 8, 8),)
    assert case(made("model", hidden=4))[1].head_dim == 1


def test_the_parts_are_those_of_the_stated_shape() -> None:
    """4 layers of hidden size 64 with 8 heads of 8, of which 2 have 8 experts of width 16 and a shared one of 24."""
    parts = case(made("model", kv_heads=2, shared_expert_ffn=24))[1].anatomy.parts  # type: ignore[union-attr]
    assert (parts.embedding, parts.head) == (100 * 64, 100 * 64)
    assert (parts.attention, parts.key_value) == (2 * 4 * 64 * 8 * 8, 2 * 4 * 64 * 8 * 2)
    assert (parts.experts, parts.shared) == (2 * 3 * 64 * 8 * 16, 2 * 3 * 64 * 24)
    assert (parts.router, parts.norms) == (2 * 8 * 64, 2 * 4 * 64 + 64)
    assert parts.total == 10**15  # the rest is the feed-forward of the other layers
    tied = case(made("model", tied_embeddings=True, params=1))[1].anatomy.parts  # type: ignore[union-attr]
    assert (tied.head, tied.mlp) == (0, 0)
    latent = case(made("mla", q_lora_rank=16))[1].anatomy.parts  # type: ignore[union-attr]
    assert (latent.latent, latent.key_value, latent.mlp) == (4 * 64 * (32 + 8 + 16), 0, 0)
    wide = case({**made("mla"), "model": {**SHAPE, "mla": MLA, "ffn": 10}})[1].anatomy.parts  # type: ignore[union-attr]
    assert wide.mlp == (4 - 2) * 3 * 64 * 10


def test_layers_with_a_window_come_after_those_without() -> None:
    def attention(**window: Any) -> tuple[Attention, ...]:
        facts = case(made("sliding_window", **window))[1]
        assert facts.anatomy
        return facts.anatomy.attention

    assert attention() == (Attention(1, 8, 8, 8), Attention(3, 8, 8, 8, 1024))
    assert attention(layers=None) == (Attention(4, 8, 8, 8, 1024),)
    assert attention(window=4095) == (Attention(1, 8, 8, 8), Attention(3, 8, 8, 8, 4095))
    assert attention(window=4096) == attention(window=None) == attention(layers=0) == (Attention(4, 8, 8, 8),)
    latent = case(made("mla"))[1].anatomy
    assert latent
    assert latent.attention == (Attention(4, 1, 40, 0, latent=40),)


@pytest.mark.parametrize("field", ["ttft", "tpot", "cost_per_hour", "gpu_memory_utilization"])
def test_limits_are_above_zero(field: str) -> None:
    assert getattr(case(made("request", **{field: 1}))[2], field) == 1.0
    assert getattr(case(made("request", **{field: 0.01}))[2], field) == 0.01
    for value in (0, -1, True, "1"):
        with pytest.raises(ValueError, match="above 0"):
            case(made("request", **{field: value}))
    if field == "gpu_memory_utilization":
        with pytest.raises(ValueError, match="at most 1"):
            case(made("request", **{field: 1.01}))


def test_a_request_is_of_a_few_who_chat_unless_it_says_otherwise() -> None:
    request = case(made("request"))[2]
    assert (request.goal, request.p99, request.expert_parallel, request.as_published) == ("chat", False, False, False)
    asked = {"p99": True, "expert_parallel": True, "checkpoint_as_published": True, "max_batch_size": 3, "users": 5}
    request = case(made("request", **asked))[2]
    assert (request.p99, request.expert_parallel, request.as_published, request.users) == (True, True, True, 3)


@pytest.mark.parametrize(("size", "bits"), [(10**9, 8e9 / 8_030_261_248), (0, None), (None, None)])
def test_a_file_has_its_bits_per_parameter_and_its_name(size: int | None, bits: float | None) -> None:
    stated = {"id": "meta/llama", "config": CONFIGS[LLAMA_8B], "gguf": "Q4_K_M", "weight_bytes": size}
    facts = case({"model": stated})[1]
    assert facts.quantization
    assert (facts.quantization.bits, facts.quantization.format) == (bits, "gguf_q4_k_m")
    (file,) = facts.weights
    assert (file.name, file.bytes, file.format, facts.dtype) == ("llama-Q4_K_M.gguf", size or None, "gguf", "Q4_K_M")
