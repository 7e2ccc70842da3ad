"""Each link of the chain from the driver to the model: broken, and fixed by what the obstacle says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.advise.worlds import GPTQ, HOSTS, LLAMA_8B, MXFP4, facts_of, machine
from tests.worded import remedy_of, text_of
from wizard.advise.advice import Constraints
from wizard.advise.devices import devices
from wizard.advise.engines import obstacle
from wizard.advise.ranking import advise
from wizard.advise.reasons import Obstacle
from wizard.advise.release import Resolved, no_containers, resolve
from wizard.advise.setup import Setup
from wizard.catalog import profiles, stacks
from wizard.catalog.environments import engines
from wizard.catalog.releases import NONE, architectures, drivers, families, images, version
from wizard.catalog.trtllm_tools import tools
from wizard.model.facts import ModelFacts
from wizard.probe.host import ContainerEngine, Host
from wizard.texts import reasons

LLAMA_2 = replace(facts_of(LLAMA_8B), rope=None)
LLAMA_31 = replace(LLAMA_2, rope="llama3")
QWEN3 = replace(LLAMA_2, architecture="Qwen3ForCausalLM")
GPT_OSS = replace(LLAMA_2, architecture="GptOssForCausalLM")


def asked(
    host: Host | str,
    facts: ModelFacts = LLAMA_2,
    stack: str = "vllm",
    release: str | None = None,
    *,
    driver: str | None = None,
    quantization: str = "none",
    runtime: str | None = None,
) -> Resolved | Obstacle:
    target = machine(host) if isinstance(host, str) else host
    target = replace(target, driver_version=driver or target.driver_version)
    setup = Setup(stack, "float16", quantization)
    return resolve(target, facts, devices(target)[0], setup, release, runtime)


def taken(*arguments: Any, **more: Any) -> str:
    result = asked(*arguments, **more)
    assert isinstance(result, Resolved), result
    return result.release.partition("-")[0]


def refused(*arguments: Any, **more: Any) -> Obstacle:
    result = asked(*arguments, **more)
    assert isinstance(result, Obstacle), result
    return result


def test_the_reason_is_one_sentence() -> None:
    resolved = asked("1xH100", stack="trtllm-engine", driver="590.44.01")
    assert isinstance(resolved, Resolved)
    assert (resolved.runtime, resolved.release, resolved.warnings) == ("docker", "26.07-trtllm-python-py3", ())
    assert text_of(resolved.reason) == (
        "Driver 590.44.01 supports release 26.07 (CUDA 13.1), which includes TensorRT-LLM 1.2.1 and serves "
        "LlamaForCausalLM on compute capability 9.0."
    )
    assert "compatibility.md" in (resolved.reason.source or "")


def test_a_model_that_is_in_no_table_is_not_judged_and_has_a_note() -> None:
    resolved = asked("1xH100", replace(LLAMA_2, architecture="NobodysForCausalLM"))
    assert isinstance(resolved, Resolved)
    assert "whether it serves NobodysForCausalLM is not in the wizard's tables" in text_of(resolved.reason)


@pytest.mark.parametrize(
    ("stack", "release", "tag"),
    [
        ("trtllm-engine", "24.09", "24.09"),
        ("trtllm-engine", "24.09-trtllm-python-py3", "24.09"),
        ("trtllm-engine", "0.13.0", "24.09"),
        ("trtllm-engine", "v0.13.0", "24.09"),
        ("vllm", "0.9.2", "25.08"),
        ("trtllm-engine", "0.9.0", "24.05"),
        ("transformers", "25.11", "25.11"),
    ],
)
def test_a_release_is_named_by_tag_or_by_engine(stack: str, release: str, tag: str) -> None:
    assert taken("1xL4", stack=stack, release=release) == tag


def test_a_release_that_has_no_image_with_this_engine() -> None:
    why = refused("1xL4", stack="trtllm-engine", release="26.08")
    assert (why.code, text_of(why)) == ("release", "No Triton image with TensorRT-LLM is known for 26.08.")
    assert remedy_of(why) == "--release 26.07, or another release (23.12 or newer)"


def test_driver_and_release() -> None:
    """Blackwell has no machine code in some kernels, so minor-version compatibility does not count there."""
    why = refused("1xRTX-PRO-6000", release="25.06", driver="570.86.10")
    assert (why.code, text_of(why)) == (
        "driver",
        "Release 25.06 needs NVIDIA driver 575 or newer; found 570.86.10.",
    )
    assert remedy_of(why) == "--release 25.03, or NVIDIA driver 575 or newer"
    assert taken("1xRTX-PRO-6000", release="25.03", driver="570.86.10") == "25.03"
    assert taken("1xRTX-PRO-6000", release="25.06", driver="575.51.03") == "25.06"


@pytest.mark.parametrize(
    ("gpu", "driver", "facts", "tag"),
    [
        ("1x4090", "535.129.03", LLAMA_2, "25.07"),
        ("1xA6000", "570.86.10", QWEN3, "25.07"),
        ("1xA100", "545.23.08", LLAMA_2, "25.07"),
        ("1xH100", "535.129.03", QWEN3, "25.07"),
        ("1xA100", "580.95.05", LLAMA_2, "25.11"),  # as it is, though 26.08 would run by compatibility
    ],
)
def test_a_driver_runs_every_minor_version_of_its_cuda(gpu: str, driver: str, facts: ModelFacts, tag: str) -> None:
    resolved = asked(gpu, facts, driver=driver)
    assert isinstance(resolved, Resolved)
    assert (resolved.release, resolved.warnings) == (f"{tag}-vllm-python-py3", ())
    assert ("With CUDA minor-version compatibility" in text_of(resolved.reason)) == (tag != "25.11")


def test_a_newer_minor_version_of_cuda_is_used_no_further_than_the_model_needs() -> None:
    """FP8 on Turing takes vLLM 0.16, whose first image is for driver 595."""
    resolved = asked(replace(machine("1xT4"), interpreters=()), driver="580.95.05", quantization="fp8")
    assert isinstance(resolved, Resolved)
    assert (resolved.release, resolved.warnings) == ("26.03-vllm-python-py3", ())
    assert "minor-version" in text_of(resolved.reason)


def test_a_model_that_no_image_with_cuda_12_serves_gets_the_newer_vllm() -> None:
    """Drivers for CUDA 12 get it natively, so a newer driver may not get an older vLLM in an image."""
    for driver, release in (("570.86.10", "triton 2.51.0, vLLM 0.19.1"), ("580.95.05", "triton 2.51.0, vLLM 0.31.0")):
        resolved = asked("1xA6000", GPT_OSS, driver=driver)
        assert isinstance(resolved, Resolved)
        assert (resolved.runtime, resolved.release) == ("native", release)
    assert "25.11-vllm-python-py3 has an older version of vLLM" in text_of(resolved.reason)
    by_hand = asked("1xA6000", GPT_OSS, driver="580.95.05", runtime="docker")
    assert isinstance(by_hand, Resolved)
    assert by_hand.release == "25.11-vllm-python-py3"


def test_a_release_without_a_known_cuda_wants_its_own_driver() -> None:
    assert refused("1x4090", release="24.03", driver="535.129.03").code == "driver"
    assert taken("1x4090", release="24.03", driver="545.23.08") == "24.03"


@pytest.mark.parametrize(
    ("gpu", "driver", "release", "tag"),
    [
        ("1xA100", "470.82.01", None, "25.03"),
        ("1xA100", "470.82.01", "24.10", "24.10"),
        ("1xA100", "450.80.02", None, "23.12"),
        ("1xA100", "535.129.03", "25.08", "25.08"),
        ("1xA100", "535.129.03", "26.02", "26.02"),
        ("1xH100", "550.54.15", "25.10", "25.10"),
    ],
)
def test_data_centre_gpus_run_documented_releases_on_older_drivers(
    gpu: str, driver: str, release: str | None, tag: str
) -> None:
    resolved = asked(gpu, release=release, driver=driver)
    assert isinstance(resolved, Resolved)
    assert resolved.release == f"{tag}-vllm-python-py3"
    (note,) = resolved.warnings
    assert note.code == "forward-compatibility"
    assert driver in text_of(note)


@pytest.mark.parametrize(
    ("gpu", "driver", "release"),
    [
        ("1x4090", "535.129.03", "25.10"),  # not of the data centre
        ("1xA100", "535.54.03", "25.10"),  # of a documented branch, but older
        ("1xA100", "530.41.03", "25.10"),  # of a branch that has no forward compatibility
        ("1xA100", "470.82.01", "25.06"),  # CUDA 12.9 dropped it
        ("1xA100", "535.129.03", "25.11"),  # not documented
        ("1xL4", "470.256.02", None),  # this driver does not know the GPU itself
    ],
)
def test_where_forward_compatibility_is_not_documented_the_driver_is_too_old(
    gpu: str, driver: str, release: str | None
) -> None:
    assert refused(gpu, release=release, driver=driver).code == "driver"


def test_forward_compatibility_is_used_no_further_than_the_model_needs() -> None:
    assert taken(replace(machine("1xH100"), interpreters=()), GPT_OSS, driver="535.129.03") == "25.10"
    assert refused(replace(machine("1xT4"), interpreters=()), driver="535.129.03", quantization="fp8").code == "driver"


DRIVERS = sorted(
    {candidate.driver for family in families() for candidate in images(family).releases}
    | {int(branch.partition(".")[0]) for row in drivers().forward for branch in row.drivers}
    | {460, 510, 515, 520, 525, 530, 550, 565}
)
"""Branches of every row, and those that are in none."""
LEFT_OUT = (460, 510, 515, 520, 530, 545, 555, 560, 565)
"""Branches that NVIDIA's forward compatibility leaves out, or leaves out of the newest rows."""
GPUS = ("1xA100", "1xH100", "1xL4", "1xA6000", "1x4090", "1xT4", "2xV100", "1xB200", "1xRTX-PRO-6000")


def models(stack: str) -> list[ModelFacts]:
    """One model for each set of engines that the table lets serve it, of those that there are."""
    known = stacks.facts(stack)
    engines_there = [version(env.engine.split()[1]) for env in engines(stack)] if known.native else []
    if known.image:
        engines_there += [version(release.engine) for release in images(known.image.family).releases]
    sets: dict[object, ModelFacts] = {}
    for model in architectures().models:
        first, last = model.first.get(known.floors, "0"), model.last.get(known.floors, "999")
        served = tuple(first != NONE and version(first) <= has <= version(last) for has in engines_there)
        family = tools().family(model.name) if known.builds_engine else None
        since = family.architectures[model.name] if family else None
        sets.setdefault((served, since), replace(LLAMA_2, architecture=model.name))
    return [LLAMA_2, *sets.values()]


FOR_CUDA_12 = {
    model.name
    for model in architectures().models
    if model.first["vllm"] != NONE
    and version(model.first["vllm"]) <= version(engines("vllm")[-1].engine.split()[1])
    and "vllm" not in model.last
}
"""Models that the last vLLM for CUDA 12 has, as have all later ones."""
MODELS = {stack: models(stack) for stack in stacks.gpu_stacks()}


def with_every_driver(host: Host, stack: str, facts: ModelFacts) -> list[tuple[int, tuple[int, ...] | None]]:
    """Branch → version of the engine that it gets; None if it gets none."""
    rows = []
    known = {
        f"{release.tag}-{each.suffix}": release.engine for each in map(images, families()) for release in each.releases
    }
    for branch in DRIVERS:
        made = asked(replace(host, driver_version=f"{branch}.99"), facts, stack)
        text = None if isinstance(made, Obstacle) else known.get(made.release) or made.release.rpartition(" ")[2]
        rows.append((branch, version(text) if text else None))
    return rows


def never_older(rows: list[tuple[int, tuple[int, ...] | None]]) -> None:
    got = [(engine, branch) for branch, engine in rows if engine]
    assert [engine for engine, _ in got] == sorted(engine for engine, _ in got), rows
    first = min((branch for _, branch in got), default=DRIVERS[-1])
    assert {branch for branch, engine in rows if engine is None and branch > first} <= {*LEFT_OUT}, rows


@pytest.mark.parametrize("stack", ["vllm", "trtllm-llmapi", "trtllm-engine"])
@pytest.mark.parametrize("gpu", GPUS)
def test_a_newer_driver_never_gets_an_older_engine_in_containers(gpu: str, stack: str) -> None:
    host = replace(machine(gpu), interpreters=())  # so nothing is served natively
    for facts in MODELS[stack]:
        never_older(with_every_driver(host, stack, facts))


@pytest.mark.parametrize("stack", ["vllm", "transformers"])
@pytest.mark.parametrize("gpu", GPUS)
def test_a_newer_driver_never_gets_an_older_engine_natively(gpu: str, stack: str) -> None:
    for facts in MODELS[stack]:
        never_older(with_every_driver(replace(machine(gpu), engines=()), stack, facts))


@pytest.mark.parametrize("gpu", GPUS)
def test_a_newer_driver_never_gets_an_older_vllm_in_containers_or_natively(gpu: str) -> None:
    """Where both are there, whichever of them it gets."""
    for facts in MODELS["vllm"]:
        never_older(with_every_driver(machine(gpu), "vllm", facts))


@pytest.mark.parametrize("driver", ["525.60.13", "535.129.03", "550.54.15", "570.86.10", "580.95.05", "615.10"])
@pytest.mark.parametrize("engines", [True, False])
@pytest.mark.parametrize("gpu", [device for device in GPUS if device not in ("1xB200", "1xRTX-PRO-6000")])
def test_every_driver_of_cuda_12_and_later_serves_every_model_of_vllm(gpu: str, engines: bool, driver: str) -> None:
    host = replace(machine(gpu), driver_version=driver, engines=machine(gpu).engines if engines else ())
    for facts in MODELS["vllm"]:
        result = asked(host, facts)
        if isinstance(result, Obstacle):  # of a vLLM newer than those for CUDA 12, or dropped before them
            assert facts.architecture not in FOR_CUDA_12, (facts.architecture, result)


@pytest.mark.parametrize(
    ("gpu", "stack", "release", "reason", "instead"),
    [
        ("1xB200", "vllm", "24.12", "needs CUDA 12.8; release 24.12 has 12.6", "25.11"),
        ("1xB200", "trtllm-engine", "24.12", "needs CUDA 12.8", "26.02"),
        ("1xRTX-PRO-6000", "trtllm-llmapi", "25.05", "needs TensorRT-LLM's PyTorch backend 0.20.0", "26.02"),
        ("2xV100", "vllm", "24.12", "needs compute capability 7.5; the Tesla V100", "24.10"),
        ("1xH100", "trtllm-llmapi", "25.04", "has no Triton model for the LLM API", "26.02"),
    ],
)
def test_gpu_and_release(gpu: str, stack: str, release: str, reason: str, instead: str) -> None:
    why = refused(gpu, stack=stack, release=release)
    assert why.code == "image"
    assert reason in text_of(why)
    assert remedy_of(why).startswith(f"--release {instead}, or ")
    assert taken(gpu, stack=stack, release=instead) == instead


@pytest.mark.parametrize(
    ("facts", "stack", "old", "first"),
    [
        (LLAMA_31, "vllm", "24.08", "24.09"),
        (LLAMA_31, "trtllm-engine", "24.07", "24.08"),
        (replace(LLAMA_2, architecture="MixtralForCausalLM"), "vllm", "23.12", "24.03"),
        (replace(LLAMA_2, architecture="Phi3ForCausalLM"), "vllm", "24.05", "24.06"),
        (replace(LLAMA_2, architecture="Phi3ForCausalLM"), "trtllm-engine", "24.05", "24.06"),
        (replace(LLAMA_2, architecture="Gemma2ForCausalLM"), "vllm", "24.08", "24.09"),
        (replace(LLAMA_2, architecture="DeepseekV3ForCausalLM"), "vllm", "25.01", "25.02"),
        (QWEN3, "vllm", "25.04", "25.05"),
        (QWEN3, "trtllm-engine", "25.08", "25.09"),
        (QWEN3, "trtllm-llmapi", "25.05", "25.06"),
        (replace(LLAMA_2, architecture="GptOssForCausalLM"), "trtllm-llmapi", "25.11", "25.12"),
        (replace(LLAMA_2, architecture="Llama4ForConditionalGeneration"), "vllm", "25.04", "25.05"),
    ],
)
def test_model_and_engine(facts: ModelFacts, stack: str, old: str, first: str) -> None:
    why = refused("1xH100", facts, stack, old)
    assert why.code == "architecture"
    assert facts.architecture in text_of(why).split()
    assert f"release {old} has" in text_of(why)
    assert remedy_of(why).startswith("--release ")
    assert taken("1xH100", facts, stack, first) == first


DROPPED = replace(LLAMA_2, architecture="MllamaForConditionalGeneration")
"""vLLM names it from 0.6.2 to 0.10.2."""


@pytest.mark.parametrize(("release", "served"), [("24.10", False), ("24.12", False), ("25.02", True), ("25.10", True)])
def test_an_image_of_every_release_that_names_a_model_serves_it(release: str, served: bool) -> None:
    assert isinstance(asked("1xH100", DROPPED, release=release), Resolved) is served


def test_a_model_that_a_later_release_dropped_gets_the_newest_that_has_it() -> None:
    assert taken("1xH100", DROPPED) == "25.10"
    why = refused("1xH100", DROPPED, release="25.11")
    assert (why.code, remedy_of(why)) == ("architecture", "--release 25.10, or an older release")
    assert text_of(why) == "MllamaForConditionalGeneration needs vLLM 0.10.2 or older; release 25.11 has 0.11.0."


def test_natively_a_dropped_model_gets_an_older_environment_or_none() -> None:
    host = replace(machine("1xH100"), engines=(), driver_version="580.95.05")
    older = asked(host, replace(LLAMA_2, architecture="BambaForCausalLM"))  # to 0.23.0
    assert isinstance(older, Resolved)
    assert older.release.endswith("vLLM 0.19.1")
    why = refused(host, DROPPED)
    assert text_of(why) == "MllamaForConditionalGeneration needs vLLM 0.10.2 or older; found 0.31.0."
    assert remedy_of(why).startswith("an older release")


def with_engines_of(old: str, stack: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All environments of ``stack`` have the engine's version ``old``."""
    (folder / "environments").mkdir()
    for env in engines(stack):
        text = profiles.find(f"environments/{env.name}.toml").read_text(encoding="utf-8")
        text = text.replace(env.engine.split()[1], old)
        (folder / f"environments/{env.name}.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("TRITON_WIZARD_PROFILES", str(folder))


@pytest.mark.parametrize(
    ("stack", "old", "first", "title"),
    [
        ("vllm", "0.10.1.1", "0.10.2", "vLLM"),
        ("sglang", "0.5.1.post3", "0.5.2", "SGLang"),
        ("transformers", "4.56.2", "4.57.1", "Transformers"),
    ],
)
def test_an_environment_older_than_a_model_is_never_chosen(
    stack: str, old: str, first: str, title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = replace(machine("1xH100"), engines=(), driver_version="580.95.05")
    facts = replace(LLAMA_2, architecture="Qwen3NextForCausalLM")
    assert isinstance(asked(host, facts, stack), Resolved)
    with_engines_of(old, stack, tmp_path, monkeypatch)
    why = refused(host, facts, stack)
    assert (why.code, text_of(why)) == ("architecture", f"Qwen3NextForCausalLM needs {title} {first}; found {old}.")


def test_transformers_finds_models_by_their_type_so_none_is_refused_for_its_name() -> None:
    """Its class for PhiMoEForCausalLM is PhimoeForCausalLM."""
    resolved = asked("1xH100", replace(LLAMA_2, architecture="PhiMoEForCausalLM"), "transformers")
    assert isinstance(resolved, Resolved)
    assert "whether it serves PhiMoEForCausalLM is not in the wizard's tables" in text_of(resolved.reason)


NONE_NAMES_IT = [
    ("vllm", "MinistralForCausalLM"),
    ("sglang", "FalconForCausalLM"),
]


@pytest.mark.parametrize(("stack", "name"), NONE_NAMES_IT)
def test_an_engine_none_of_whose_releases_names_a_model_is_never_chosen(stack: str, name: str) -> None:
    host = replace(machine("1xH100"), engines=(), driver_version="580.95.05")
    why = refused(host, replace(LLAMA_2, architecture=name), stack)
    assert why.code == "architecture"
    assert text_of(why) == f"{stacks.title(stack)} does not list {name} as a supported model."


@pytest.mark.parametrize(("stack", "name"), NONE_NAMES_IT)
def test_what_newer_releases_than_were_read_name_is_unknown(
    stack: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_engines_of("99.0", stack, tmp_path, monkeypatch)
    host = replace(machine("1xH100"), engines=(), driver_version="580.95.05")
    resolved = asked(host, replace(LLAMA_2, architecture=name), stack)
    assert isinstance(resolved, Resolved)
    assert f"whether it serves {name} is not in the wizard's tables" in text_of(resolved.reason)


@pytest.mark.parametrize("stack", ["vllm", "sglang", "transformers", "trtllm-llmapi"])
def test_a_model_in_no_table_has_a_note_with_every_stack(stack: str) -> None:
    host = replace(machine("1xH100"), driver_version="580.95.05")
    resolved = asked(host, replace(LLAMA_2, architecture="NobodysForCausalLM"), stack)
    assert isinstance(resolved, Resolved)
    assert "whether it serves NobodysForCausalLM is not in the wizard's tables" in text_of(resolved.reason)


@pytest.mark.parametrize("name", ["FalconForCausalLM", "GPT2LMHeadModel", "GemmaForCausalLM", "PhiForCausalLM"])
def test_a_model_that_the_pytorch_backend_does_not_list(name: str) -> None:
    why = refused("1xH100", replace(LLAMA_2, architecture=name), "trtllm-llmapi")
    assert (why.code, remedy_of(why)) == ("architecture", "--stack vllm")
    assert f"does not list {name}" in text_of(why)


def test_a_model_that_the_wizard_cannot_convert() -> None:
    why = refused("1xH100", replace(LLAMA_2, architecture="Grok1ForCausalLM"), "trtllm-engine")
    assert (why.code, remedy_of(why)) == ("architecture", "--stack vllm")
    assert text_of(why) == "The wizard cannot convert Grok1ForCausalLM into an engine."


def test_rotary_embeddings_and_transformers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_engines_of("4.42.0", "transformers", tmp_path, monkeypatch)
    assert taken("1xH100", LLAMA_2, "transformers") == "25.11"
    why = refused("1xH100", LLAMA_31, "transformers")
    assert text_of(why).startswith("LlamaForCausalLM with llama3 rotary embeddings needs Transformers 4.43.0; ")


@pytest.mark.parametrize(
    ("quantization", "facts", "old", "first"),
    [
        ("int4_gptq", facts_of(LLAMA_8B, quantization_config=GPTQ, rope_scaling=None), "23.12", "24.03"),
        ("fp8", LLAMA_2, "24.05", "24.06"),
        ("mxfp4", facts_of("openai/gpt-oss-20b", quantization_config=MXFP4), "25.08", "25.09"),
    ],
)
def test_format_and_engine(quantization: str, facts: ModelFacts, old: str, first: str) -> None:
    why = refused("1xH100", replace(facts, architecture=None), "vllm", old, quantization=quantization)
    assert why.code == "format"
    assert taken("1xH100", replace(facts, architecture=None), "vllm", first, quantization=quantization) == first


def test_what_tensorrt_llm_cannot_quantise_yet() -> None:
    why = refused("1xB200", LLAMA_2, "trtllm-engine", "25.03", quantization="nvfp4")
    assert why.code == "format"
    assert taken("1xB200", LLAMA_2, "trtllm-engine", "25.05", quantization="nvfp4") == "25.05"


@pytest.mark.parametrize("engine", families())
def test_every_release_serves_a_llama_on_some_gpu(engine: str) -> None:
    """An H100, an A100 or a V100 with any driver: no row of the tables is dead, but those that build no engine."""
    served = [name for name in stacks.gpu_stacks() if (image := stacks.facts(name).image) and image.family == engine]
    for release in images(engine).releases:
        if engine == "trtllm" and obstacle(release):
            continue
        made = [
            asked(gpu, stack=stack, release=release.tag, driver="700.10")
            for gpu in ("1xH100", "2xV100")
            for stack in served
        ]
        assert any(isinstance(each, Resolved) and each.release.startswith(release.tag) for each in made), release.tag
        assert all(text_of(each) and remedy_of(each) for each in made if isinstance(each, Obstacle))


DOCKER = ContainerEngine("docker", "28.2.2", "28.2.2", nvidia_runtime=True)
HERE = replace(HOSTS["1xL4"], source="this machine")


@pytest.mark.parametrize(
    ("engines", "why"),
    [
        ((DOCKER,), ""),
        ((), "neither docker nor podman is installed"),
        ((replace(DOCKER, nvidia_runtime=False),), "docker has no NVIDIA runtime"),
        (
            (replace(DOCKER, server_version=None, nvidia_runtime=None, problem="it sleeps"),),
            "docker does not respond (it sleeps)",
        ),
        ((replace(DOCKER, nvidia_runtime=False), replace(DOCKER, name="podman")), ""),
    ],
)
def test_whether_containers_get_gpus(engines: tuple[ContainerEngine, ...], why: str) -> None:
    reason = no_containers(replace(HERE, engines=engines))
    assert (reasons.text(reason) if reason else "") == why


@pytest.mark.parametrize(
    ("engines", "runtime"),
    [
        ((DOCKER, replace(DOCKER, name="podman")), "docker"),
        ((replace(DOCKER, name="podman"), DOCKER), "docker"),
        ((replace(DOCKER, nvidia_runtime=False), replace(DOCKER, name="podman")), "podman"),
        ((replace(DOCKER, name="podman"),), "podman"),
    ],
)
def test_docker_is_used_unless_only_podman_provides_gpus(engines: tuple[ContainerEngine, ...], runtime: str) -> None:
    resolved = asked(replace(HERE, engines=engines))
    assert isinstance(resolved, Resolved)
    assert resolved.runtime == runtime


@pytest.mark.parametrize("stack", ["vllm", "transformers"])
def test_without_containers_it_runs_natively_and_says_why(stack: str) -> None:
    resolved = asked(replace(HERE, engines=()), stack=stack)
    assert isinstance(resolved, Resolved)
    name = "vLLM 0.31.0" if stack == "vllm" else "transformers 5.17.0"
    assert (resolved.runtime, resolved.release, resolved.environment) == ("native", f"triton 2.51.0, {name}", stack)
    assert text_of(resolved.reason).startswith(
        f"Neither docker nor podman is installed, so {'vLLM' if stack == 'vllm' else stack} "
    )


def test_without_containers_the_llm_api_is_marked_as_untried() -> None:
    newer = replace(HERE.interpreters[0], version=(3, 12, 3))
    resolved = asked(replace(HERE, engines=(), interpreters=(newer,)), stack="trtllm-llmapi")
    assert isinstance(resolved, Resolved)
    assert (resolved.runtime, resolved.release) == ("native", "triton 2.51.0, TensorRT-LLM 1.2.1")
    engine = "TensorRT-LLM 1.2.1 (PyTorch 2.9.1, CUDA 13.0) runs in its own environment behind Triton 2.51.0"
    assert engine in text_of(resolved.reason)
    (note,) = resolved.warnings
    assert (note.code, "was not run on a GPU" in text_of(note)) == ("untried", True)
    assert "such as the CUDA toolkit; the plan checks for it" in text_of(note)
    bare = replace(note, params={**note.params, "needs_more": False})
    assert text_of(bare).endswith("the real package was not run on a GPU.")


def test_the_llm_api_needs_a_python_that_its_wheels_are_for() -> None:
    older = replace(HERE.interpreters[0], version=(3, 11, 7))
    why = refused(replace(HERE, engines=(), interpreters=(older,)), stack="trtllm-llmapi")
    assert (why.code, "supports only Python 3.10 or 3.12; found 3.11" in text_of(why)) == ("python", True)


def test_without_containers_there_is_no_engine_of_tensorrt_llm() -> None:
    why = refused(replace(HERE, engines=()), stack="trtllm-engine")
    assert why.code == "containers"
    assert "`triton-wizard prerequisites`" in remedy_of(why)
    assert "--stack vllm" in remedy_of(why)


def test_a_release_cannot_be_had_without_containers() -> None:
    why = refused(replace(HERE, engines=()), release="25.11")
    assert (why.code, remedy_of(why).partition(", or ")[2]) == ("containers", "omit --release")


PASCAL = replace(machine("2xV100").gpus[0], compute_capability=(6, 0))


@pytest.mark.parametrize(
    ("host", "code"),
    [
        (replace(HERE, driver_version="520.61.05"), "driver"),
        (replace(HERE, cpu=replace(HERE.cpu, architecture="aarch64")), "machine"),
        (replace(HERE, interpreters=()), "python"),
        (replace(machine("2xV100"), source="this machine", gpus=(PASCAL,)), "image"),
    ],
)
def test_what_the_native_environments_cannot_run_on(host: Host, code: str) -> None:
    assert refused(replace(host, engines=())).code == code


@pytest.mark.parametrize(
    ("gpu", "driver", "environment"),
    [
        ("1xL4", "580.95.05", ""),
        ("1xL4", "570.86.10", "-cuda12"),
        ("1xT4", "525.60.13", "-cuda12"),
        ("1xT4", "580.95.05", ""),
        ("2xV100", "580.95.05", "-cuda12"),
        ("1xRTX-PRO-6000", "575.51.03", "-cuda12"),
    ],
)
@pytest.mark.parametrize("stack", ["vllm", "transformers"])
def test_driver_and_gpu_decide_on_the_native_environment(gpu: str, driver: str, environment: str, stack: str) -> None:
    resolved = asked(replace(machine(gpu), engines=()), stack=stack, driver=driver)
    assert isinstance(resolved, Resolved)
    assert resolved.environment == f"{stack}{environment}"
    has = {"vllm": "vLLM 0.31.0", "vllm-cuda12": "vLLM 0.19.1"}.get(resolved.environment, "transformers 5.17.0")
    assert resolved.release == f"triton 2.51.0, {has}"
    assert f"{has} (PyTorch" in text_of(resolved.reason)


def test_vllms_attention_is_compiled_for_blackwell_by_the_driver() -> None:
    why = refused(replace(machine("1xRTX-PRO-6000"), engines=()), driver="570.86.10")
    assert (why.code, remedy_of(why)) == ("driver", "NVIDIA driver 575 or newer")


def test_where_no_image_will_do_it_runs_natively_and_says_why() -> None:
    resolved = asked("4xA6000", GPT_OSS, driver="570.86.10")
    assert isinstance(resolved, Resolved)
    assert (resolved.runtime, resolved.environment) == ("native", "vllm-cuda12")
    assert text_of(resolved.reason).startswith(
        "No image is compatible. Every suitable release needs NVIDIA driver 580 or newer; found 570.86.10, "
    )
    assert refused("4xA6000", GPT_OSS, driver="570.86.10", release="25.11").code == "driver"
    assert refused(replace(machine("4xA6000"), interpreters=()), GPT_OSS, driver="570.86.10").code == "driver"


def test_transformers_in_an_image_needs_the_driver_of_its_own_cuda() -> None:
    why = refused("1xA100", stack="transformers", driver="470.82.01")
    assert (why.code, remedy_of(why)) == ("driver", "NVIDIA driver 525 or newer")
    for driver, tag, environment in (("560.35.03", "25.07", "-cuda12"), ("580.95.05", "25.11", "")):
        resolved = asked("1xH100", stack="transformers", driver=driver)
        assert isinstance(resolved, Resolved)
        assert resolved.release == f"{tag}-vllm-python-py3"
        assert resolved.environment == f"transformers{environment}"


def test_the_advice_names_the_release_that_would_do() -> None:
    host = replace(machine("1xRTX-PRO-6000"), driver_version="570.86.10")
    advice = advise(host, LLAMA_2, Constraints(stack="vllm", release="25.06", quantization="none"))
    assert not advice.feasible
    first = advice.rejections[0]
    assert (first.code, remedy_of(first)) == ("driver", "--release 25.03, or NVIDIA driver 575 or newer")
    (choice, *_) = advise(host, LLAMA_2, Constraints(stack="vllm", release="25.03", quantization="none")).choices
    assert choice.release == "25.03-vllm-python-py3"
    assert "release" in {note.code for note in choice.reasons}


def test_a_release_that_is_not_the_obstacle() -> None:
    advice = advise(
        machine("1xL4"), LLAMA_2, Constraints(stack="vllm", release="25.11", quantization="none", max_len=131_072)
    )
    assert not advice.feasible
    assert "--max-len" in remedy_of(advice.rejections[0])
