"""The engine in the user's own Python, and the runtime that is asked for: taken, or refused with what would help."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.advise.worlds import LLAMA_8B, VENV, facts_of, machine
from tests.worded import remedy_of, text_of
from wizard.advise.advice import Advice, Constraints
from wizard.advise.devices import devices
from wizard.advise.engine_python import check, gpu_obstacle, obstacle
from wizard.advise.ranking import advise
from wizard.kernel.errors import WizardError
from wizard.probe.host import ContainerEngine, EnginePython, Host
from wizard.texts import remedies
from wizard.texts.advise import source
from wizard.texts.errors import user_errors

LLAMA = facts_of(LLAMA_8B)
BARE = replace(machine("2xH200"), engines=(), engine_pythons=(VENV,))
PODMAN = ContainerEngine("podman", "5.0", "5.0", nvidia_runtime=True)


def having(**packages: str) -> EnginePython:
    return replace(VENV, packages=packages)


def advised(host: Host, **constraints: Any) -> Advice:
    return advise(host, LLAMA, Constraints(**constraints))


@pytest.mark.parametrize("stack", ["vllm", "transformers"])
def test_the_engine_that_is_there_serves(stack: str) -> None:
    best = advised(BARE, stack=stack, engine_python=VENV.path).choices[0]
    assert (best.stack, best.runtime, best.engine_python) == (stack, "native", VENV.path)
    version = {"vllm": "vLLM 0.26.0", "transformers": "transformers 5.17.0"}[stack]
    assert best.release == f"triton 2.51.0, {version}"
    (why,) = (note for note in best.reasons if note.code == "release")
    assert f"You chose the engine in {VENV.path}: {version} (PyTorch 2.11.0, CUDA 13.0)" in text_of(why)
    assert "/opt/venv" in (source(why) or "")


def test_it_serves_natively_though_docker_is_there() -> None:
    host = replace(machine("2xH200"), engine_pythons=(VENV,))
    assert advised(host, stack="vllm").choices[0].runtime == "docker"
    assert {choice.runtime for choice in advised(host, engine_python=VENV.path).choices} == {"native"}


def test_without_a_stack_the_engines_that_it_has_are_weighed() -> None:
    host = replace(BARE, engine_pythons=(having(transformers="5.17.0", torch="2.11.0"),))
    assert {choice.stack for choice in advised(host, engine_python=VENV.path).choices} == {"transformers"}
    why = {rejection.stack: text_of(rejection) for rejection in advised(host, engine_python=VENV.path).rejections}
    assert why["vllm"] == "vLLM is not installed in /opt/venv/bin/python."


def test_one_that_nobody_named_is_not_taken() -> None:
    assert {choice.engine_python for choice in advised(BARE).choices} == {None}


@pytest.mark.parametrize(
    ("python", "changes", "constraints", "code", "phrase"),
    [
        (having(torch="2.11.0"), {}, {}, "TW-A21", "not installed in"),
        (having(torch="2.11.0"), {}, {"stack": "vllm"}, "TW-A21", "vLLM is not installed"),
        (having(transformers="5.17.0"), {}, {"stack": "transformers"}, "TW-A21", "PyTorch is not installed"),
        (having(vllm="0.8.5.post1", torch="2.6.0"), {}, {}, "TW-A22", "has vLLM 0.8.5.post1; the wizard needs 0.9"),
        (having(transformers="5.10.4", torch="2.9"), {}, {}, "TW-A22", "needs 5.11 or newer"),
        (
            VENV,
            {"driver_version": "570.86.15", "cuda_driver_version": "12.8"},
            {},
            "TW-A23",
            "CUDA 13.0, which driver 570.86.15 does not support",
        ),
        (replace(VENV, cuda="12.8"), {"driver_version": "515.43", "cuda_driver_version": None}, {}, "TW-A23", "12.8"),
        (replace(VENV, cuda="14.0"), {"cuda_driver_version": "13.0"}, {}, "TW-A23", "CUDA 14.0"),
        (replace(VENV, cuda=None), {}, {}, "TW-A23", "built without CUDA"),
        (VENV, {}, {"runtime": "docker"}, "TW-A20", "docker uses the image's engine"),
        (VENV, {}, {"runtime": "podman", "stack": "vllm"}, "TW-A20", "podman"),
        (VENV, {}, {"release": "24.09"}, "TW-A20", "--release 24.09 selects an image"),
        (VENV, {}, {"stack": "llamacpp"}, "TW-A20", "llama.cpp does not support --engine-python"),
        (VENV, {}, {"stack": "trtllm-engine"}, "TW-A20", "does not support --engine-python"),
    ],
)
def test_what_cannot_serve_has_a_code_and_a_remedy(
    python: EnginePython, changes: dict[str, Any], constraints: dict[str, Any], code: str, phrase: str
) -> None:
    host = replace(BARE, engine_pythons=(python,), **changes)
    asked = Constraints(engine_python=VENV.path, **constraints)
    with pytest.raises(WizardError) as caught, user_errors():
        check(host, asked)
    assert caught.value.code == code
    assert phrase in caught.value.what
    assert caught.value.todo.strip(".")
    # The advice says the same, and giving the Python (or what speaks against it) up helps.
    refused = advise(host, LLAMA, asked)
    assert not refused.feasible
    changed = refused.rejections[0].remedies[0].changes
    assert changed, refused.rejections[0]
    assert "--" not in remedies.text(refused.rejections[0].remedies, flags=False)


@pytest.mark.parametrize(
    ("cuda", "driver", "runs"),
    [
        ("13.0", "580.95.05", True),
        ("13.3", "580.65", True),
        ("13.0", "575.1", False),
        ("12.9", "525.60", True),
        ("12.1", "520.1", False),
        ("12.8", "580.95.05", True),
        ("11.8", "450.80", True),
        ("13.0", None, True),
    ],
)
def test_minor_versions_of_cuda_need_the_same_driver(cuda: str, driver: str | None, runs: bool) -> None:
    host = replace(BARE, driver_version=driver, cuda_driver_version=None)
    assert (obstacle(host, replace(VENV, cuda=cuda), "vllm") is None) == runs


@pytest.mark.parametrize(("newest", "runs"), [("13.0", True), ("13.2", True), ("12.8", False)])
def test_what_the_driver_says_it_runs_goes_before_its_branch(newest: str, runs: bool) -> None:
    """In NVIDIA's containers an older driver runs newer CUDA by the forward-compatibility package."""
    for driver in ("570.86.15", "580.95.05"):
        host = replace(BARE, driver_version=driver, cuda_driver_version=newest)
        why = obstacle(host, VENV, "vllm")
        assert (why is None) == runs
        assert why is None or "PyTorch for CUDA 12.8" in remedy_of(why)


def test_by_its_branch_alone_no_older_pytorch_is_named() -> None:
    why = obstacle(replace(BARE, driver_version="570.86.15", cuda_driver_version=None), VENV, "vllm")
    assert why is not None
    assert "580" in remedy_of(why)
    assert "PyTorch for CUDA" not in remedy_of(why)


def test_a_stack_that_takes_no_python_is_reported_before_the_release_of_its_recipe() -> None:
    with pytest.raises(WizardError, match=r"does not support --engine-python") as caught, user_errors():
        check(BARE, Constraints(stack="trtllm-engine", engine_python=VENV.path, release="24.09"))
    assert "--stack vllm" in caught.value.todo


def test_a_stack_of_images_only_is_reported_before_the_release_of_its_recipe() -> None:
    refused = advised(machine("2xH200"), stack="trtllm-engine", runtime="native", release="24.09").rejections[0]
    assert "runs only in NVIDIA's images" in text_of(refused)
    bare = advised(BARE, stack="trtllm-engine", runtime="native", release="24.09").rejections[0]
    assert "--stack vllm" in remedy_of(bare)


def test_nightly_and_local_versions_are_as_new_as_their_numbers() -> None:
    for version in ("0.9", "0.9.0rc1", "0.26.0+cu130", "1.0.0.dev20261101"):
        assert obstacle(BARE, having(vllm=version), "vllm") is None, version


def test_a_gpu_that_the_pytorch_is_too_old_or_too_new_for_is_refused() -> None:
    blackwell = replace(machine("1xB200"), engines=(), engine_pythons=(replace(VENV, cuda="12.4"),))
    refused = advised(blackwell, stack="vllm", engine_python=VENV.path)
    assert "needs CUDA 12.8; PyTorch in /opt/venv/bin/python has 12.4" in text_of(refused.rejections[0])
    volta = replace(machine("1xV100"), engines=(), engine_pythons=(VENV,))
    refused = advised(volta, stack="vllm", engine_python=VENV.path)
    assert "needs compute capability 7.5" in " ".join(text_of(rejection) for rejection in refused.rejections)
    older = replace(volta, engine_pythons=(replace(VENV, cuda="12.4"),))
    assert advised(older, stack="vllm", engine_python=VENV.path).feasible


def test_an_engine_older_than_the_model_is_refused() -> None:
    host = replace(BARE, engine_pythons=(having(vllm="0.9.0", torch="2.7.0"),))
    gpt_oss = replace(LLAMA, architecture="GptOssForCausalLM")
    refused = advise(host, gpt_oss, Constraints(stack="vllm", engine_python=VENV.path))
    assert not refused.feasible
    assert "found 0.9.0" in text_of(refused.rejections[0])


def test_a_python_of_another_machine_is_unknown_unless_it_was_recorded() -> None:
    elsewhere = replace(BARE, engine_pythons=(), source="host.json")
    refused = advised(elsewhere, engine_python=VENV.path)
    assert "does not include the engine" in text_of(refused.rejections[0])
    assert advised(replace(BARE, source="host.json"), engine_python=VENV.path).feasible


# -- --runtime ---------------------------------------------------------------------------------------------------------


def test_native_is_taken_with_a_note_though_docker_is_there() -> None:
    best = advised(machine("2xH200"), stack="vllm", runtime="native").choices[0]
    assert (best.runtime, best.engine_python) == ("native", None)
    assert any(text_of(note).startswith("You requested --runtime native, so vLLM") for note in best.reasons)


def test_podman_is_taken_though_docker_is_there() -> None:
    host = replace(machine("2xH200"), engines=(*machine("2xH200").engines, PODMAN))
    for name in ("docker", "podman"):
        assert {choice.runtime for choice in advised(host, runtime=name).choices} == {name}


@pytest.mark.parametrize(
    ("constraints", "text", "remedy"),
    [
        ({"runtime": "podman", "stack": "vllm"}, "podman cannot be used: podman is not installed.", "--runtime docker"),
        ({"runtime": "native", "stack": "trtllm-engine"}, "runs only in NVIDIA's images", "--runtime docker"),
        ({"runtime": "native", "stack": "vllm", "release": "25.11"}, "25.11 is a container image", "omit --release"),
        ({"runtime": "docker", "stack": "llamacpp"}, "--runtime docker is not supported", "--runtime native"),
    ],
)
def test_a_runtime_that_cannot_be_is_refused_with_another(constraints: dict[str, Any], text: str, remedy: str) -> None:
    refused = advised(machine("2xH200"), **constraints)
    assert not refused.feasible
    matches = [rejection for rejection in refused.rejections if text in text_of(rejection)]
    assert matches, refused.rejections
    assert remedy in remedy_of(matches[0]) or constraints["stack"] == "llamacpp"


def test_docker_that_gives_no_gpus_is_refused_and_native_offered() -> None:
    plain = ContainerEngine("docker", "28.2.2", "28.2.2", nvidia_runtime=False)
    refused = advised(replace(machine("2xH200"), engines=(plain,)), stack="vllm", runtime="docker")
    assert "docker cannot be used: docker has no NVIDIA runtime." in text_of(refused.rejections[0])
    assert refused.rejections[0].remedies[0].changes == {"runtime": "native"}


@pytest.mark.parametrize(("cuda", "refused"), [("13.0", True), ("12.8", False)])
def test_volta_is_refused_from_cuda_13_on(cuda: str, refused: bool) -> None:
    """PyTorch 2.10 for CUDA 12.8 has its code (`vllm-cuda12`)."""
    (volta,) = devices(machine("1xV100"))
    obstacle = gpu_obstacle(volta, replace(VENV, cuda=cuda))
    assert (obstacle is not None) is refused
