"""The plans of the stack transformers: by itself on both runtimes, and as the second model of another stack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.plan.stack_values import (
    FACTS,
    TRANSFORMERS,
    WORKSPACE,
    commands,
    engine,
    ids,
    machine,
    named,
    planned,
    start,
    written,
)
from tests.stacks.trtllm_values import AWQ
from wizard.catalog.environments import environment, pins
from wizard.kernel.errors import HostError, InfeasibleError
from wizard.plan.options import Options
from wizard.plan.plan import Write
from wizard.plan.runtimes.docker import Docker
from wizard.plan.runtimes.select import runtime_of
from wizard.plan.stack import Second
from wizard.stacks.transformers.plan import BESIDE, beside

IN_IMAGE = replace(TRANSFORMERS, runtime="docker", release="24.09-trtllm-python-py3")
PLAIN = Options(batching="none")


def second(options: Options, driver: str = "580.95.05") -> Second:
    runtime = Docker(WORKSPACE, WORKSPACE.server("demo"), "image", devices=(0,))
    trt = replace(IN_IMAGE, stack="trtllm-engine", quantization="int8_wo")
    on = replace(machine(), driver_version=driver)
    return beside(trt, on, FACTS, runtime, options, Path("/w/models/llama"))


def test_the_steps() -> None:
    end = ["model", "repository", "start", "ready", "question"]
    assert ids(planned(TRANSFORMERS)) == ["environment", "engine-environment", *end]
    assert ids(planned(IN_IMAGE)) == ["image", "engine-environment", *end]


def test_natively_the_engine_runs_in_its_own_environment() -> None:
    argv, settings, env = engine(planned(TRANSFORMERS))
    assert argv[0].startswith("/w/environments/transformers-")
    assert argv[1] == "engines/transformers_engine.py"
    assert settings["mode"] == "continuous"
    assert (settings["dtype"], settings["max_seq_len"], settings["max_batch_size"]) == ("bfloat16", 4096, 8)
    assert env["LD_LIBRARY_PATH"] is None
    assert env["HF_HUB_OFFLINE"] == "1"


def test_the_plain_pipeline_is_an_option() -> None:
    assert engine(planned(TRANSFORMERS, options=PLAIN))[1]["mode"] == "unbatched"


def test_in_an_image_its_python_gets_the_pinned_packages() -> None:
    steps = planned(IN_IMAGE)
    step = named(steps, "engine-environment")
    (written_pins,) = [action for action in step.actions if isinstance(action, Write)]
    assert written_pins.text == pins(environment("transformers")).read_text(encoding="utf-8")
    folder = str(Path(written_pins.path).parent)
    install = next(command.argv for command in commands(step) if "pip" in command.argv)
    assert {"--no-deps", "--require-hashes"} <= set(install)
    assert f"--mount=type=bind,source={folder},target={folder}" in install
    argv, _, env = engine(steps)
    assert argv[0] == "python3"
    assert env["PYTHONPATH"] == f"{folder}/packages"
    assert f"--mount=type=bind,source={folder},target={folder},readonly" in start(steps).command().argv


def test_an_older_driver_gets_the_pins_for_cuda_12() -> None:
    old = replace(machine(), driver_version="560.35")
    steps = planned(replace(IN_IMAGE, environment="transformers-cuda12"), on=old)
    (written_pins,) = [action for action in named(steps, "engine-environment").actions if isinstance(action, Write)]
    assert written_pins.text == pins(environment("transformers-cuda12")).read_text(encoding="utf-8")
    part = second(Options(beside="transformers", batching="none"), old.driver_version or "")
    assert part
    assert "/transformers-cuda12-" in str(part.reads[0])


def test_images_do_not_share_packages() -> None:
    """Another image may have another Python."""
    first, other = (
        named(planned(replace(IN_IMAGE, release=tag)), "engine-environment") for tag in ("24.09-a", "25.01-a")
    )
    assert first.identity != other.identity


def test_without_gpus_the_cpu_computes() -> None:
    choice = replace(TRANSFORMERS, devices=(), gpu_memory_utilization=None)
    assert dict(start(planned(choice, on=machine("cpu"))).env)["CUDA_VISIBLE_DEVICES"] == ""


@pytest.mark.parametrize(
    ("facts", "code"), [(replace(FACTS, quantization=AWQ), "TW-L30"), (replace(FACTS, heads=31), "TW-L32")]
)
def test_what_cannot_end_well_is_refused_while_planning(facts: object, code: str) -> None:
    with pytest.raises(InfeasibleError) as caught:
        planned(replace(TRANSFORMERS, tp=2, devices=(0, 1)), facts, on=machine("2xH200"))  # type: ignore[arg-type]
    assert caught.value.code == code


def test_an_old_driver_is_refused_in_an_image_too() -> None:
    with pytest.raises(HostError) as caught:
        planned(IN_IMAGE, on=replace(machine(), driver_version="560.35"))
    assert caught.value.code == "TW-L01"


def test_beside_another_stack() -> None:
    part = second(Options(beside="transformers", batching="none"))
    assert part
    assert [step.id for step in part.steps] == ["engine-environment"]
    assert {file.path.split("/")[0] for file in part.repository.files} == {BESIDE}
    assert len(part.reads) == 1


def test_the_second_model_is_the_first_ones_checkpoint() -> None:
    part = second(Options(beside="transformers"))
    config = next(file.text for file in part.repository.files if file.path.endswith("config.pbtxt"))
    assert "/w/models/llama" in config


def test_the_repository_has_all_that_the_proxy_starts() -> None:
    files = written(planned(TRANSFORMERS))
    assert {"demo/config.pbtxt", "demo/1/model.py", "demo/1/engines/transformers_engine.py"} <= set(files)
    assert runtime_of(machine(), TRANSFORMERS, WORKSPACE, WORKSPACE.server("demo")).python in files["demo/config.pbtxt"]
