"""The tables of releases: whole, ordered, and of one mind with one another."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest

from wizard.catalog import profiles
from wizard.catalog.environments import engines, pins
from wizard.catalog.releases import (
    NONE,
    architectures,
    ceiling,
    drivers,
    families,
    floor,
    image_bytes,
    images,
    unknown,
    version,
)
from wizard.catalog.trtllm_tools import tools


@pytest.mark.parametrize("engine", families())
def test_releases_are_newest_first_and_never_go_back(engine: str) -> None:
    releases = images(engine).releases
    assert [release.tag for release in releases] == sorted((release.tag for release in releases), reverse=True)
    for newer, older in pairwise(releases):
        assert version(newer.engine)[:3] >= version(older.engine)[:3]
        assert newer.driver >= older.driver
        assert newer.compute_capability >= older.compute_capability


@pytest.mark.parametrize(
    ("text", "numbers"), [("0.5.3.post1", (0, 5, 3, 1)), ("12.5.1.007", (12, 5, 1, 7)), ("535.129.03", (535, 129, 3))]
)
def test_versions_are_ordered_by_their_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert version(text) == numbers


def test_every_floor_has_a_source_and_can_be_met() -> None:
    table = architectures()
    for model in (*table.models, *table.ropes, *table.formats):
        assert model.source
        for column, engine in (("vllm", "vllm"), ("trtllm", "trtllm"), ("llm_api", "trtllm")):
            first = model.first.get(column, NONE)
            if column in table.read and first != NONE:
                assert version(first) <= version(table.read[column])  # an image with it may be still to come
            elif first != NONE and f"{first}rc" not in model.source:  # as well
                assert any(version(each.engine) >= version(first) for each in images(engine).releases), (
                    model.name,
                    column,
                )
    names = [model.name for model in table.models]
    assert len(names) == len(set(names))
    wanted = (
        "Llama Mistral Mixtral Qwen2 Qwen2Moe Qwen3 Qwen3Moe Phi Phi3 Gemma Gemma2 Gemma3 Falcon GPTNeoX GPTJ GptOss"
    )
    assert {f"{name}ForCausalLM" for name in wanted.split()} <= set(names)


def test_forward_compatibility_is_about_releases_that_there_are() -> None:
    tags = {release.tag for family in families() for release in images(family).releases}
    assert {tag for row in drivers().forward for tag in row.releases} <= tags


@pytest.mark.parametrize(
    ("gpu", "runs"), [("NVIDIA A100-SXM4-80GB", True), ("NVIDIA RTX A6000", False), ("NVIDIA GeForce RTX 4090", False)]
)
def test_forward_compatibility_is_for_the_data_centre(gpu: str, runs: bool) -> None:
    assert drivers().runs("24.10", "535.129.03", gpu) is runs


@pytest.mark.parametrize("name", ["24.09", "24.09-vllm-python-py3", "0.13.0", "v0.13.0", "0.5.3.post1"])
def test_known_releases(name: str) -> None:
    assert unknown(name) == ""


@pytest.mark.parametrize(("name", "near"), [("24.13", "24.12"), ("0.13.9", "0.13.0"), ("latest", "")])
def test_unknown_releases_name_near_ones(name: str, near: str) -> None:
    assert "unknown release" in unknown(name)
    assert near in unknown(name)


def test_sizes_of_images() -> None:
    assert image_bytes("24.09-trtllm-python-py3") == 21_000_000_000
    assert image_bytes("23.12-trtllm-python-py3") is None  # the matrix does not say
    assert image_bytes("26.07") is None


def test_what_is_converted_is_served() -> None:
    """A model whose conversion the wizard knows has a floor of TensorRT-LLM too, so that the advice can judge it."""
    judged = {model.name for model in architectures().models if "trtllm" in model.first}
    families = ("llama", "phi", "qwen", "gemma", "falcon", "gptneox", "gptj")
    known = {name for family in tools().families if family.name in families for name in family.architectures}
    assert {name for name in known if not name.startswith(("QWen", "RW"))} <= judged


@pytest.mark.parametrize(
    ("name", "engine", "tags"),
    [
        ("24.09", "trtllm", ["24.09"]),
        ("24.09-trtllm-python-py3", "trtllm", ["24.09"]),
        ("24.09-vllm-python-py3", "trtllm", []),
        ("24.09-vllm-python-py3", "vllm", ["24.09"]),
        ("25.01-foo", "trtllm", []),
        ("v0.13.0", "trtllm", ["24.09"]),
    ],
)
def test_a_release_is_named_whole_or_not_at_all(name: str, engine: str, tags: list[str]) -> None:
    assert [release.tag for release in images(engine).named(name)] == tags


@pytest.mark.parametrize("stack", ["vllm", "transformers"])
def test_environments_come_newest_first_and_fit_their_pins(stack: str) -> None:
    environments = engines(stack)
    assert [environment.name for environment in environments] == [stack, f"{stack}-cuda12"]
    for newer, older in pairwise(environments):
        assert version(newer.engine_name) >= version(older.engine_name)
        assert (newer.driver or 0) > (older.driver or 0)
        assert newer.compute_capability > older.compute_capability
    for environment in environments:
        text = pins(environment).read_text(encoding="utf-8")
        torch = re.search(r"PyTorch ([\d.]+), CUDA (\d+)", environment.engine)
        assert torch
        assert f"torch=={torch[1]} " in text
        assert environment.driver == drivers().branches[torch[2]]
        assert "--hash=sha256:" in text
        assert bool(re.search(r"^nvidia-cuda-runtime-cu12==", text, re.M)) == (torch[2] == "12")


@pytest.mark.parametrize(
    ("name", "stack", "first"),
    [
        ("GptOssForCausalLM", "vllm", "0.10.1"),
        ("GptOssForCausalLM", "sglang", "0.5.1"),
        ("GptOssForCausalLM", "transformers", "4.55.0"),
        ("FalconForCausalLM", "sglang", NONE),
        ("GptOssForCausalLM", "trtllm-engine", None),
        ("NobodysModel", "vllm", None),
        ("NobodysModel", "sglang", None),
        (None, "sglang", None),
    ],
)
def test_first_versions_are_of_the_table_or_of_the_stack_itself(
    name: str | None, stack: str, first: str | None
) -> None:
    assert floor(architectures().models, name, stack) == first


@pytest.mark.parametrize(
    ("name", "stack", "last"),
    [
        ("BambaForCausalLM", "vllm", "0.23.0"),
        ("BambaForCausalLM", "transformers", None),
        ("LlamaForCausalLM", "vllm", None),
        ("NobodysModel", "vllm", None),
        (None, "vllm", None),
    ],
)
def test_last_versions_are_of_models_that_a_release_dropped(name: str | None, stack: str, last: str | None) -> None:
    assert ceiling(architectures().models, name, stack) == last


def test_last_versions_follow_first_ones_and_end_before_what_was_read() -> None:
    table = architectures()
    assert set(table.read) == {"vllm", "sglang", "transformers", "llm_api"}
    for model in (*table.models, *table.methods):
        for column, last in model.last.items():
            assert version(model.first[column]) <= version(last) < version(table.read[column]), model.name


def test_models_to_chat_with_are_in_the_table() -> None:
    """Those of the models that the wizard lists, and of the families of 2024 to 2026."""
    configs = (profiles.find("releases/architectures.toml").parent.parent / "configs").glob("*.json")
    listed = {json.loads(config.read_text(encoding="utf-8"))["config"]["architectures"][0] for config in configs}
    families_of = """
        Qwen3Next Qwen3_5 Qwen3_5Moe Glm4 Glm4Moe GlmMoeDsa MiniMaxM2 NemotronH Granite GraniteMoeHybrid Lfm2 SmolLM3
        Olmo2 Olmo3 PhiMoE Gemma3n Ministral3 KimiLinear DeepseekV32 DeepseekV4 Step3p5 MiMo HunYuanDenseV1 HunYuanMoEV1
        Ernie4_5 Ernie4_5_Moe SeedOss Exaone4 Apertus FalconH1 Jamba Bamba Zamba2"""
    seeing = "Qwen3_5 Gemma3n Gemma4 Mistral3 KimiK25 MiniMaxM3Sparse Step3VL"
    wanted = listed | {f"{name}ForCausalLM" for name in families_of.split()}
    wanted |= {f"{name}ForConditionalGeneration" for name in seeing.split()}
    assert wanted <= {model.name for model in architectures().models}
