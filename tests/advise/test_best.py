"""Which models of the catalog come first on a machine: what public guides and tools offer of that size, or better."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.advise.worlds import machine, sliced
from tests.values import CPU_HOST
from wizard.advise import best
from wizard.advise.advice import Constraints
from wizard.advise.best import Estimate, estimates, room
from wizard.advise.cpu import on_cpu
from wizard.advise.ranking import advise
from wizard.advise.verdict import verdict
from wizard.catalog.goals import goal
from wizard.catalog.models import CuratedModel, curated
from wizard.kernel.units import GIB
from wizard.model.source import find
from wizard.probe.host import Host
from wizard.probe.shorthand import host as shorthand
from wizard.texts.advise import verdict as words

MODELS = curated()


def pleasant(host: Host) -> list[str]:
    return [each.name for each in estimates(host, MODELS) if each.fits and each.keeps_pace]


def laptop(name: str, gib: int) -> Host:
    return replace(shorthand(name), memory_available_bytes=gib * GIB)


def test_8_gb_of_gpu_memory_get_8_and_9_b_and_not_3_b() -> None:
    """Public guides name Qwen3.5 9B, Qwen3 8B and Llama 3.1 8B in Q4_K_M for 8 GB, and warn of a dense 27 B."""
    small = laptop("rtx4060", 13)
    names = pleasant(small)
    assert {"qwen3.5-9b", "qwen3-8b", "llama-3.1-8b"} <= {*names}
    assert not {"qwen3.6-27b", "gemma-3-27b", "qwen3-32b"} & {*names}
    assert names.index("qwen3-8b") < names.index("qwen3-1.7b")


def test_experts_in_host_memory_keep_the_pace_where_dense_layers_do_not() -> None:
    """With 32 GB of memory, 12 GB of GPU memory are enough for 30B-A3B (butler.aiskillhub.info/guides)."""
    names = pleasant(laptop("rtx3060", 28))
    assert "qwen3-30b-a3b-2507" in names
    assert "qwen3-32b" not in names
    assert "qwen3-30b-a3b-2507" not in pleasant(laptop("rtx3060", 6))  # it does not fit


@pytest.mark.parametrize("name", ["rtx3060", "cpu"])
def test_with_more_cores_more_models_keep_the_pace(name: str) -> None:
    host = laptop(name, 28)
    few, many = ({*pleasant(replace(host, cpu=replace(host.cpu, cores=cores)))} for cores in (1, 64))
    assert few < many


@pytest.mark.parametrize("gpu", ["rtx4090", "rtx3090", "a10"])
def test_24_gb_get_27_to_32_b_in_4_bits_before_8_b_in_16(gpu: str) -> None:
    """Public guides for 24 GB name Qwen3.6 27B, Gemma 4 31B, 26B-A4B and Qwen3 32B in Q4_K_M (specpicks.com,
    bestllmfor.com, runaihome.com, butler.aiskillhub.info), the newest first.
    """
    names = pleasant(laptop(gpu, 60))
    assert 24e9 <= MODELS[names[0]].parameters <= 36e9
    assert max(map(names.index, ["qwen3.6-27b", "gemma-4-31b", "gemma-4-26b-a4b"])) < names.index("qwen3.5-9b")


def test_what_a_gpu_holds_comes_before_what_it_holds_a_part_of() -> None:
    ranked = [each for each in estimates(laptop("t4", 60), MODELS) if each.fits and each.keeps_pace]
    assert [each.split for each in ranked] == sorted(each.split for each in ranked)
    assert ranked[-1].split
    assert not ranked[0].split


def test_what_fits_as_published_is_not_a_file_and_the_most_precise_file_is_taken() -> None:
    sizes = {each.name: each.bytes for each in estimates(shorthand("rtx4090"), MODELS)}
    assert sizes["qwen3-8b"] == MODELS["qwen3-8b"].parameters * 2
    assert sizes["qwen3.6-27b"] == pytest.approx(MODELS["qwen3.6-27b"].parameters * 4.8944 / 8)
    larger = {each.name: each.bytes for each in estimates(shorthand("a6000"), MODELS)}
    assert larger["qwen3.6-27b"] == pytest.approx(MODELS["qwen3.6-27b"].parameters * 8.5008 / 8)


@pytest.mark.parametrize(("gib", "cores", "least", "most"), [(6, 4, 1e9, 4e9), (13, 8, 4e9, 20e9), (28, 8, 4e9, 40e9)])
def test_without_gpus_the_first_one_has_the_size_that_memory_and_cores_bear(
    gib: int, cores: int, least: float, most: float
) -> None:
    host = replace(CPU_HOST, memory_available_bytes=gib * GIB, cpu=replace(CPU_HOST.cpu, cores=cores))
    assert least <= MODELS[pleasant(host)[0]].parameters <= most


def test_the_verdict_of_a_file_that_a_gpu_holds_is_fits_and_of_a_split_one_tight() -> None:
    small = laptop("rtx4060", 28)
    eight = find("Qwen/Qwen3-8B", offline=True)
    assert verdict(small, eight, advise(small, eight, Constraints())).word == "fits"
    split = find("Qwen/Qwen3-32B", offline=True)
    tight = verdict(small, split, advise(small, split, Constraints()))
    assert tight.word == "tight"
    assert tight.why
    assert tight.why.code == "partly-on-gpu"


def test_mig_slices_do_not_add_up_and_hold_no_layers_of_a_file() -> None:
    """A model is not split over slices, and llama.cpp gets whole GPUs only."""
    slice_bytes = 9984 * 1024**2
    host = sliced("1xA100", "1g.10gb", slice_bytes, 7)
    assert room(host).bytes == slice_bytes
    for each in estimates(host, MODELS):
        assert each.bytes <= slice_bytes or not each.fits


def test_gpus_that_nvml_cannot_describe_have_no_room_and_hold_no_layers() -> None:
    h100 = shorthand("1xH100")
    host = replace(h100, gpus=(replace(h100.gpus[0], memory_total_bytes=None, memory_free_bytes=None),))
    free = room(host)
    assert free.bytes == 0
    assert not free.wants_file(1)
    assert not pleasant(host)


def test_the_verdict_counts_the_slices_and_the_memory_of_one() -> None:
    host = sliced("1xA100", "1g.10gb", 9984 * 1024**2, 4)
    small, large = (find(name, offline=True) for name in ("Qwen/Qwen3-0.6B", "Qwen/Qwen3-32B"))
    good = verdict(host, small, advise(host, small, Constraints(stack="transformers", users=16)))
    assert words(good)[1].startswith("on 4 MIG slices")
    assert words(verdict(host, large, advise(host, large, Constraints())))[1].endswith(
        "61.0 GiB of weights, 9.8 GiB free"
    )


ONE = replace(MODELS["qwen3-8b"], parameters=8_000_000_000, bits=16.0, active=None)
"""A model with 16 GB of weights."""


def judged(host: Host, model: CuratedModel = ONE) -> Estimate:
    (estimate,) = estimates(host, {"one": model})
    return estimate


def test_readers_read_238_words_a_minute_of_four_thirds_of_a_token_and_wait_ten_seconds() -> None:
    assert pytest.approx(189.0756, abs=1e-4) == best.READING_MS
    assert goal("documents").ttft_ms == best.PATIENCE_MS


def test_a_score_is_doublings_of_the_parameters_and_of_the_density() -> None:
    """Density doubles in three and a half months: 106.5 days."""
    twice = replace(ONE, parameters=16_000_000_000)
    assert best.score(twice) - best.score(ONE) == pytest.approx(1)
    later = replace(ONE, date=(ONE.day + timedelta(days=213)).isoformat())
    assert best.score(later) - best.score(ONE) == pytest.approx(213 / 106.53125)


@pytest.mark.parametrize(("more", "fits"), [(0, True), (-1, False)])
def test_weights_take_four_fifths_of_the_memory(more: int, fits: bool) -> None:
    free = best.Room(20_000_000_000 + more, on_gpus=True, holds_layers=True)
    assert free.wants_file(16_000_000_000, best.ROOM) is not fits
    assert best.weight_bytes(free, replace(ONE, gguf=None)) == best.published(ONE) == 16_000_000_000
    host = replace(CPU_HOST, memory_available_bytes=round(judged(CPU_HOST).bytes / 0.8) + 1 + 2 * more)
    assert judged(host).fits is fits
    assert not free.wants_file(20_000_000_000 + more)
    assert free.wants_file(20_000_000_001)


def test_a_machine_that_says_nothing_of_its_memory_fits_nothing() -> None:
    assert room(replace(CPU_HOST, memory_available_bytes=None)).bytes == 0
    assert not judged(replace(CPU_HOST, memory_available_bytes=None)).fits


def test_equal_gpus_add_up_and_different_ones_do_not() -> None:
    single, both = room(shorthand("1xL4")), room(shorthand("2xL4"))
    assert both.bytes == 2 * single.bytes
    mixed = machine("A100+T4")
    assert room(mixed).bytes == room(shorthand("A100")).bytes
    assert (both.on_gpus, both.holds_layers) == (True, True)


def test_the_pace_of_a_processor_by_hand() -> None:
    """Of the smallest file: its bytes at 31 GB/s, a core's share of the weights; a chat's prompt in ten seconds."""
    engine = on_cpu("llamacpp").speed
    assert engine

    def pace(cores: int, active: int) -> tuple[float, float]:
        bits = best.bits(room(CPU_HOST), ONE)
        token = active * bits / 8 / 31e9 + active / (engine.decode_weights * cores)
        return token * 1e3, 1024 * active / (engine.prefill_weights * cores) * 1e3

    for cores in (1, 2, 4, 8, 16, 64):
        for active in (10**8, 5 * 10**8, 10**9, 2 * 10**9, 8 * 10**9):
            token, prompt = pace(cores, active)
            host = replace(CPU_HOST, memory_available_bytes=10**12, cpu=replace(CPU_HOST.cpu, cores=cores))
            keeps = token <= 189.0756 and prompt <= 10_000
            assert judged(host, replace(ONE, active=active)).keeps_pace is keeps
    assert {judged(host, replace(ONE, active=active)).keeps_pace for active in (10**8, 8 * 10**10)} == {True, False}
