"""MIG slices serve one replica each, the engine decides which of them it can be started on, and the others say why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.advise.worlds import GIB, facts_of, machine, sliced
from tests.worded import remedy_of, text_of
from wizard.advise import slices
from wizard.advise.advice import Choice, Constraints
from wizard.advise.devices import devices, group
from wizard.advise.ranking import advise, recommended
from wizard.advise.reasons import Note
from wizard.advise.release import Resolved
from wizard.advise.setup import Setup
from wizard.probe.host import Host, MigSlice
from wizard.texts.advise import note as sentence
from wizard.texts.explain import figures
from wizard.texts.report import bill_title

QWEN = "Qwen/Qwen3-0.6B"
ONE, FOUR = (sliced(f"{count}xA100", "1g.10gb", 9856 * 1024**2, 4) for count in (1, 4))


def served(host: Host, **constraints: Any) -> Choice:
    return recommended(advise(host, facts_of(QWEN), Constraints(**constraints)))


def idle(choice: Choice) -> list[str]:
    return [sentence(note) for note in choice.reasons if note.code == "idle"]


@pytest.mark.parametrize("runtime", ["native", "docker"])
def test_an_engine_that_asks_only_pytorch_gets_every_slice(runtime: str) -> None:
    choice = served(ONE, stack="transformers", runtime=runtime, users=4)
    assert choice.slices == ("MIG-0-0", "MIG-0-1", "MIG-0-2", "MIG-0-3")
    assert (choice.replicas, choice.devices) == (4, (0, 0, 0, 0))
    assert bill_title(choice).startswith("Each of 4 MIG slices: ")
    assert "4 replicas share the requests, each on a MIG slice and with room for 1 user" in "".join(
        sentence(note) for note in choice.reasons
    )
    assert not idle(choice)


def test_no_split_over_slices_is_tried_unless_it_is_asked_for() -> None:
    assert {each.tp for each in advise(ONE, facts_of(QWEN), Constraints()).rejections} == {1}
    (*refused,) = advise(ONE, facts_of(QWEN), Constraints(tp=2)).rejections
    assert refused[0].code == "mig"
    assert remedy_of(refused[0]) == "--tp 1"


def test_vllm_gets_the_slices_whose_number_is_that_of_a_gpu() -> None:
    """It queries the GPU with the slice's number, in wheels from 0.26 on."""
    choice = served(ONE, stack="vllm", runtime="native", users=16)
    assert choice.slices == ("MIG-0-0",)
    assert idle(choice) == [
        "3 of 4 × NVIDIA A100-SXM4-80GB MIG 1g.10gb stay free: vLLM 0.31.0 cannot be started on them beside others."
    ]
    choice = served(FOUR, stack="vllm", runtime="native", users=16)
    assert choice.replicas == 16
    two = sliced("2xA100", "1g.10gb", 9856 * 1024**2, 4)
    assert served(two, stack="vllm", runtime="native", users=8).slices == ("MIG-0-0", "MIG-0-1", "MIG-1-0", "MIG-1-1")


def test_in_a_container_gpus_are_numbered_anew_so_vllm_gets_the_first_slice_of_each() -> None:
    new = replace(FOUR, driver_version="615.10")
    choice = served(new, stack="vllm", runtime="docker", users=16)
    assert choice.engine_version == "0.27.1"
    assert choice.slices == ("MIG-0-0", "MIG-1-0", "MIG-2-0", "MIG-3-0")


def test_a_vllm_that_reads_numbers_only_needs_a_container_with_one_slice() -> None:
    old = replace(ONE, driver_version="535.104.05")
    refused = advise(old, facts_of(QWEN), Constraints(stack="vllm", runtime="native"))
    (first, *_) = [rejection for rejection in refused.rejections if rejection.code == "mig"]
    assert text_of(first) == "vLLM 0.19.1 is not known to start on a MIG slice by its UUID."
    assert "--runtime docker" in remedy_of(first)
    choice = served(old, stack="vllm", runtime="docker", users=4)
    assert (choice.replicas, choice.slices) == (1, ("MIG-0-0",))


def test_slices_of_several_sizes_say_why_they_are_not_used_together() -> None:
    (gpu,) = machine("1xA100").gpus
    parts = (
        *(MigSlice(f"MIG-{n}", "2g.20gb", 19 * GIB, n) for n in range(2)),
        MigSlice("MIG-2", "3g.40gb", 39 * GIB, 2),
    )
    mixed = replace(ONE, gpus=(replace(gpu, mig_enabled=True, mig_slices=parts),))
    choice = served(mixed, stack="transformers", users=2)
    assert choice.slices == ("MIG-0", "MIG-1")
    assert idle(choice) == [
        "1 × NVIDIA A100-SXM4-80GB MIG 3g.40gb stays free: replicas need slices of one size, and theirs differs."
    ]
    chosen = group(mixed, choice.devices, choice.slices)  # both groups have the same GPU
    assert chosen
    assert chosen.name.endswith("2g.20gb")
    assert figures(mixed, facts_of(QWEN), choice)


def test_more_replicas_than_slices_name_both_numbers() -> None:
    refused = advise(ONE, facts_of(QWEN), Constraints(stack="transformers", replicas=5))
    assert not refused.feasible
    first = refused.rejections[0]
    assert (
        text_of(first) == "5 replicas need 5 MIG slices of the same size; found 4 × NVIDIA A100-SXM4-80GB MIG 1g.10gb."
    )
    assert remedy_of(first) == "--replicas 4"


def test_a_slice_without_a_uuid_is_no_device() -> None:
    (gpu,) = ONE.gpus
    unnamed = tuple(replace(part, uuid="") for part in gpu.mig_slices[1:])
    (device,) = devices(replace(ONE, gpus=(replace(gpu, mig_slices=(gpu.mig_slices[0], *unnamed)),)))
    assert [part.uuid for part in device.slices] == ["MIG-0-0"]


def test_gpus_of_one_kind_know_each_other() -> None:
    (device,) = devices(FOUR)
    assert device.kin == (0, 1, 2, 3)
    assert device.indices == (0,) * 4 + (1,) * 4 + (2,) * 4 + (3,) * 4


@pytest.mark.parametrize(
    ("version", "runtime", "served"),
    [
        ("0.25.9", "native", []),
        ("0.25.9", "docker", [(0, 0)]),
        ("0.26.0", "native", [(gpu, part) for gpu in (0, 1) for part in (0, 1)]),
        ("0.26", "docker", [(0, 0), (1, 0)]),  # as the profile writes it
    ],
)
def test_vllm_reads_uuids_from_this_release_on(version: str, runtime: str, served: list[tuple[int, int]]) -> None:
    (device,) = devices(sliced("2xA100", "1g.10gb", 9856 * 1024**2, 4))
    release = Resolved(runtime, "26.08", Note("release"), engine_version=version)
    parts = slices.of(device, Setup("vllm", "bfloat16", "none"), release)
    assert [(gpu, part.index) for gpu, part in parts] == served
    assert (slices.obstacle(device, Setup("vllm", "bfloat16", "none"), release) is None) == bool(served)


@pytest.mark.parametrize("runtime", [None, "native"])
def test_an_engine_that_cannot_select_a_slice_is_itself_the_cause(runtime: str | None) -> None:
    host = sliced("2xA100", "3g.40gb", 42412802048, 2)
    (first, *_) = advise(host, facts_of(QWEN), Constraints(stack="sglang", replicas=2, runtime=runtime)).rejections
    assert (first.stack, first.code) == ("sglang", "mig")


def test_a_runtime_that_cannot_select_a_slice_is_itself_the_cause() -> None:
    old = replace(ONE, driver_version="535.104.05")
    (first, *_) = advise(old, facts_of(QWEN), Constraints(stack="vllm", runtime="native")).rejections
    assert first.code == "mig"
    assert first.remedies[0].changes == {"runtime": "docker"}
