"""Layers of a GGUF file on GPUs and the host: every byte is counted where llama.cpp has it."""

from __future__ import annotations

from dataclasses import replace

from tests.advise.test_offload import ENGINE, LLAMA_8B
from wizard.advise.placement import Load, dealt, on_gpus, on_host, placements
from wizard.kernel.units import GIB, MIB
from wizard.model.gguf_layers import Layer, Layers

SMALL = placements(Layers((Layer(40 * MIB, 60 * MIB, 5 * MIB, 7 * MIB),) * 4, 50 * MIB, 30 * MIB))
"""Four layers with experts and the output: first all on GPUs, then with the experts of more and more on the host."""
LOAD = Load(LLAMA_8B, ENGINE, 3, 2048)
ROW = 32 * 2 * 8 * 128 * 2
"""Bytes of KV cache per token of all 32 layers, in 16 bits."""


def test_a_gpu_holds_layers_up_to_the_last_byte() -> None:
    need = 450 * MIB + ROW * LOAD.tokens + LOAD.activations + MIB
    assert dealt(LOAD, SMALL[0], (MIB,), (need,)) == (5,)
    assert dealt(LOAD, SMALL[0], (MIB,), (need - 1,)) is None
    assert dealt(LOAD, SMALL[0], (need,), (need,)) is None
    (share,) = on_gpus(LOAD, SMALL[0], (5,), (MIB,), (need,))
    assert share.memory.total_bytes == share.memory.budget_bytes


def test_every_gpu_gets_a_layer_and_as_many_as_the_others_with_as_much_room() -> None:
    assert dealt(LOAD, SMALL[0], (0, 0), (8 * GIB, 8 * GIB)) in ((2, 3), (3, 2))
    assert dealt(LOAD, SMALL[0], (0,) * 4, (8 * GIB,) * 4) == (1, 1, 1, 2)
    assert dealt(LOAD, SMALL[0], (0,) * 6, (8 * GIB,) * 6) is None


def test_several_gpus_with_all_layers_have_copies_of_what_is_passed_on() -> None:
    """Three more of a step's inputs (4,096 floats) and mask (2,048 halves); with experts on the host there are none."""
    budgets = (8 * GIB, 8 * GIB)
    all_layers = [share.memory.activation_bytes for share in on_gpus(LOAD, SMALL[0], (2, 3), (0, 0), budgets)]
    assert all_layers == [LOAD.activations + 3 * ENGINE.piece_tokens * (4 * 4096 + 2 * 2048)] * 2
    (single,) = on_gpus(LOAD, SMALL[0], (5,), (0,), budgets[:1])
    assert single.memory.activation_bytes == LOAD.activations
    kept = on_gpus(LOAD, SMALL[1], (2, 3), (0, 0), budgets)
    assert [share.memory.activation_bytes - LOAD.activations for share in kept] == [7 * MIB, 0]  # a tensor is copied


def test_the_output_has_no_cache() -> None:
    first_two, others = on_gpus(LOAD, SMALL[0], (2, 3), (0, 0), (8 * GIB, 8 * GIB))
    assert first_two.memory.kv_bytes_per_token == others.memory.kv_bytes_per_token == ROW // 2
    assert (first_two.memory.weights_bytes, others.memory.weights_bytes) == (200 * MIB, 250 * MIB)


def test_the_host_has_the_rest_and_the_servers_own() -> None:
    split = next(each for each in SMALL if each.gpu_layers == 2)  # the output and one layer, without its experts
    assert (split.by_layer, split.host_bytes) == ((40 * MIB, 50 * MIB), (30 + 3 * 100 + 60) * MIB)
    assert split.copied_bytes == 7 * MIB
    memory = on_host(LOAD, split, GIB, 9 * GIB)
    assert (memory.weights_bytes, memory.kv_bytes_per_token) == (split.host_bytes, ROW * 3 // 4)
    assert memory.overhead_bytes == GIB + ENGINE.tokenizer_bytes * 128256
    assert memory.total_bytes == (
        memory.weights_bytes + memory.kv_bytes_per_token * 3 * 2048 + LOAD.activations + memory.overhead_bytes
    )
    whole = on_host(LOAD, SMALL[0], GIB, 9 * GIB)
    assert (whole.weights_bytes, whole.kv_bytes_per_token) == (30 * MIB, 0)


def test_what_is_not_known_of_a_model_takes_nothing() -> None:
    unknown = replace(LOAD, facts=replace(LLAMA_8B, vocabulary=None, hidden_size=None))
    assert on_host(unknown, SMALL[0], GIB, 9 * GIB).overhead_bytes == GIB
    shares = on_gpus(unknown, SMALL[0], (2, 3), (0, 0), (8 * GIB, 8 * GIB))
    copies = 3 * ENGINE.piece_tokens * 2 * 2048
    assert [share.memory.activation_bytes for share in shares] == [unknown.activations + copies] * 2


def test_the_cache_of_some_layers_is_rounded_up() -> None:
    assert [LOAD.cache(layers, 3) for layers in (0, 1, 2, 3)] == [0, 43691, 87382, ROW]
