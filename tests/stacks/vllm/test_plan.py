"""The plans of the stack vllm: Triton's backend in an image, our proxy natively, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2 as pb

from tests.plan.stack_values import (
    FACTS,
    IN_IMAGE,
    RECURRENT,
    VLLM,
    arguments,
    commands,
    engine,
    ids,
    machine,
    named,
    planned,
    start,
    written,
)
from wizard.advise.advice import Choice
from wizard.catalog.environments import environment
from wizard.catalog.releases import images
from wizard.kernel.errors import InfeasibleError
from wizard.model.facts import Quantization, WeightFile
from wizard.plan.options import Options
from wizard.stacks.vllm.plan import CHECK

GPTQ = replace(FACTS, quantization=Quantization("gptq", 4, format="int4_gptq", group_size=128))
ORDERED = replace(FACTS, quantization=Quantization("gptq", 4, format="int4_gptq", group_size=128, desc_act=True))
COLUMNS = replace(FACTS, quantization=Quantization("gptq", 4, format="int4_gptq", desc_act=True))
AS_GPTQ = replace(IN_IMAGE, quantization="int4_gptq", dtype="float16")


def test_what_is_quick_and_can_fail_goes_before_what_is_long() -> None:
    end = ["check", "model", "repository", "start", "ready", "question"]
    assert ids(planned(IN_IMAGE)) == ["image", *end]
    assert ids(planned(VLLM)) == ["environment", "engine-environment", *end]


def test_the_backend_completes_its_configuration_and_the_proxy_does_not() -> None:
    assert "--disable-auto-complete-config" not in start(planned(IN_IMAGE)).argv
    assert "--disable-auto-complete-config" in start(planned(VLLM)).argv


def test_in_an_image_triton_has_the_gpus_and_vllm_stays_offline() -> None:
    choice = replace(IN_IMAGE, devices=(0, 1), tp=2)
    plan = planned(choice, on=machine("2xA6000"))
    argv = start(plan).command().argv
    assert '--gpus="device=0,1"' in argv
    assert {"--env=HF_HUB_OFFLINE=1", "--env=VLLM_NO_USAGE_STATS=1", "--env=LOGNAME=triton-wizard"} <= set(argv)
    (checked,) = (each.argv for each in commands(named(plan, "check")) if CHECK in each.argv)
    assert "--env=LOGNAME=triton-wizard" in checked


@pytest.mark.parametrize(
    ("change", "key", "value"),
    [
        ({"tp": 2, "devices": (0, 1)}, "tensor_parallel_size", 2),
        ({"pp": 2, "devices": (0, 1)}, "pipeline_parallel_size", 2),
        ({"max_batch_size": 900}, "max_num_seqs", 900),
        ({"max_seq_len": 512}, "max_model_len", 512),
        ({"gpu_memory_utilization": 0.5}, "gpu_memory_utilization", 0.5),
        ({"kv_cache_dtype": "fp8"}, "kv_cache_dtype", "fp8"),
        ({"dtype": "float16"}, "dtype", "float16"),
        ({"quantization": "fp8"}, "quantization", "fp8"),
    ],
)
def test_the_choice_reaches_vllm_on_both_runtimes(change: dict[str, Any], key: str, value: object) -> None:
    on = machine("2xH200")
    assert arguments(planned(replace(IN_IMAGE, **change), on=on))[key] == value
    _, settings, _ = engine(planned(replace(VLLM, **change), on=on))
    assert settings[key] == value


CONTRACT = json.loads(Path(__file__).with_name("contract.json").read_text(encoding="utf-8"))["versions"]
STEPS = {"max_num_batched_tokens": 2048, "enable_chunked_prefill": True, "enable_prefix_caching": True}


@pytest.mark.parametrize(("engine_version", "explicit"), [("0.27.1", True), ("0.11.0", True), ("0.10.2", False)])
def test_an_image_gets_the_step_that_was_counted(engine_version: str, explicit: bool) -> None:
    """vLLM 0.31 would take 16,384 tokens on a B200 and 2,048 on an A100; an old one may take a prompt as a whole."""
    choice = replace(IN_IMAGE, step_tokens=2048, engine_version=engine_version)
    given = arguments(planned(choice))
    assert {name: given[name] for name in STEPS if name in given} == (STEPS if explicit else {})


def test_natively_the_step_and_the_caching_are_explicit() -> None:
    _, settings, _ = engine(planned(replace(VLLM, step_tokens=2048)))
    assert settings.items() >= STEPS.items()
    _, settings, _ = engine(planned(replace(VLLM, step_tokens=2048, max_batch_size=4096)))
    assert settings["max_num_batched_tokens"] == 4096  # vLLM rejects a step that is smaller than its batch
    _, settings, _ = engine(planned(replace(VLLM, step_tokens=2048), RECURRENT))
    assert settings["enable_prefix_caching"] is False


@pytest.mark.parametrize("version", CONTRACT)
def test_every_version_knows_every_argument(version: str) -> None:
    changes: dict[str, Any] = {"tp": 2, "pp": 2, "devices": (0, 1, 2, 3), "kv_cache_dtype": "fp8"}
    changes |= {"quantization": "fp8", "expert_parallel": True, "speculative": "ngram", "dp": 2}
    _, settings, _ = engine(planned(replace(VLLM, **changes, step_tokens=2048)))
    assert settings.keys() <= set(CONTRACT[version])


def test_the_pins_and_the_images_are_of_versions_in_the_contract() -> None:
    """Those of the environments, and images on both sides of `CHUNKS`."""
    for name in ("vllm", "vllm-cuda12"):
        assert environment(name).engine.split()[1] in CONTRACT
    assert {release.engine for release in images("vllm").releases[:1]} <= set(CONTRACT)


def test_natively_the_engine_runs_in_its_own_environment() -> None:
    steps = planned(VLLM)
    argv, settings, env = engine(steps)
    assert argv[0].startswith("/w/environments/vllm-")
    assert argv[1] == "engines/vllm_engine.py"
    assert f"demo/1/{argv[1]}" in written(steps)
    assert settings["model"].startswith("/w/models/")
    assert env["LD_LIBRARY_PATH"] is None  # it is the stub's
    assert str(env["PATH"]).startswith(str(Path(argv[0]).parent))


@pytest.mark.parametrize(("gpus", "backend"), [("1xT4", "TRITON_ATTN"), ("1xL4", None)])
def test_gpus_before_ampere_get_an_attention_that_needs_no_compiler_of_cudas(gpus: str, backend: str | None) -> None:
    choice = replace(VLLM, environment="vllm-cuda12", devices=(0,), tp=1)
    steps = planned(choice, on=machine(gpus))
    argv, settings, _ = engine(steps)
    assert settings.get("attention_backend") == backend
    assert argv[0].startswith("/w/environments/vllm-cuda12-")
    assert arguments(planned(IN_IMAGE, on=machine(gpus))).get("attention_backend") is None


def test_the_arguments_are_asked_of_the_very_vllm_that_serves() -> None:
    for choice in (IN_IMAGE, VLLM):
        steps = planned(choice)
        given = arguments(steps) if choice is IN_IMAGE else engine(steps)[1]
        *_, last = commands(named(steps, "check"))
        assert last.argv[-1] == str(sorted(given)).replace("'", '"')


def test_the_arguments_are_asked_once_of_each_environment() -> None:
    def noted(choice: Choice) -> tuple[str, tuple[str, ...]]:
        step = named(planned(choice), "check")
        return step.fingerprint, step.done.files

    assert noted(VLLM) == noted(replace(VLLM, max_batch_size=9))  # the values do not matter, the names do
    assert noted(VLLM) != noted(replace(VLLM, tp=2))
    (note,) = noted(VLLM)[1]
    assert Path(note).parts[:4] == Path(engine(planned(VLLM))[0][0]).parts[:4]  # it goes away with the environment
    assert noted(IN_IMAGE) != noted(replace(IN_IMAGE, release="24.09-vllm-python-py3"))


@pytest.mark.parametrize(("keys", "status"), [('["model"]', 0), ('["model", "swap_spaces"]', 1)])
def test_an_unknown_argument_ends_the_check(tmp_path: Path, keys: str, status: int) -> None:
    folder = tmp_path / "vllm" / "engine"
    folder.mkdir(parents=True)
    (folder / "arg_utils.py").write_text(
        "import dataclasses\n@dataclasses.dataclass\nclass AsyncEngineArgs:  # FakeVllm\n    model: str = ''\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", CHECK, keys],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    assert ("swap_spaces" in done.stderr) == bool(status)


def test_gptq_is_served_in_float16() -> None:
    assert arguments(planned(AS_GPTQ, GPTQ))["dtype"] == "float16"


@pytest.mark.parametrize(
    ("choice", "facts", "code"),
    [
        (replace(IN_IMAGE, quantization="int4_awq"), FACTS, "TW-L30"),
        (IN_IMAGE, GPTQ, "TW-L30"),
        (replace(AS_GPTQ, quantization="int4_awq"), GPTQ, "TW-L30"),
        (replace(IN_IMAGE, tp=3), FACTS, "TW-L32"),
        (replace(IN_IMAGE, pp=64), FACTS, "TW-L32"),
        (IN_IMAGE, replace(FACTS, weights=(WeightFile("pytorch_model.bin", 1, "pickle"),)), "TW-L33"),
    ],
)
def test_what_cannot_end_well_is_refused_while_planning(choice: Any, facts: Any, code: str) -> None:
    for runtime in ("docker", "native"):
        with pytest.raises(InfeasibleError) as caught:
            planned(replace(choice, runtime=runtime), facts)
        assert caught.value.code == code
        assert caught.value.todo


@pytest.mark.parametrize(("tp", "facts"), [(1, ORDERED), (2, ORDERED), (2, COLUMNS), (2, GPTQ)])
def test_an_order_that_costs_nothing_is_served(tp: int, facts: Any) -> None:
    assert planned(replace(AS_GPTQ, tp=tp, devices=tuple(range(tp))), facts, on=machine("2xH200"))


def test_adapters_are_mounted_or_fetched(tmp_path: Path) -> None:
    local = tmp_path / "my adapter"
    local.mkdir()
    (local / "adapter_config.json").write_text("{}")
    steps = planned(IN_IMAGE, options=Options(lora={"mine": str(local), "theirs": "owner/name"}))
    (fetched,) = [step for step in steps if step.id == "adapter-theirs"]
    folder = str(Path(fetched.done.files[0]).parent)
    assert written(steps)["demo/1/multi_lora.json"] == f'{{\n  "mine": "{local}",\n  "theirs": "{folder}"\n}}\n'
    assert arguments(steps)["enable_lora"] == "true"  # 24.05 wants a text
    assert f"--mount=type=bind,source={local},target={local},readonly" in start(steps).command().argv
    assert ids(steps).index("adapter-theirs") < ids(steps).index("repository")


@pytest.mark.parametrize("place", ["/no/such/folder", "a b/c", "owner/name/more", ""])
def test_an_adapter_that_is_nowhere_is_tw_l34(place: str) -> None:
    with pytest.raises(InfeasibleError) as caught:
        planned(IN_IMAGE, options=Options(lora={"mine": place}))
    assert caught.value.code == "TW-L34"


def adapter(folder: Path, text: str) -> str:
    folder.mkdir()
    (folder / "adapter_config.json").write_text(text)
    return str(folder)


@pytest.mark.parametrize(
    ("ranks", "passed"),
    [
        ([8], None),
        ([16], None),
        ([8, 17], 32),
        ([64], 64),
        ([200, 8], 256),
        ([320], 512),
        (["x"], None),
        ([True], None),
    ],
)
def test_the_rank_of_a_local_adapter_is_passed(tmp_path: Path, ranks: list[object], passed: int | None) -> None:
    """vLLM knows these ranks only and takes 16 for the largest unless it is told (its LoRAConfig)."""
    lora = {f"a{n}": adapter(tmp_path / f"{n}", json.dumps({"r": rank})) for n, rank in enumerate(ranks)}
    assert arguments(planned(IN_IMAGE, options=Options(lora=lora))).get("max_lora_rank") == passed


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000], ids=["empty", "list", "broken", "deep"])
def test_a_missing_rank_is_not_passed(tmp_path: Path, text: str) -> None:
    made = planned(IN_IMAGE, options=Options(lora={"a": adapter(tmp_path / "a", text)}))
    assert "max_lora_rank" not in arguments(made)


def test_a_rank_that_vllm_has_not_is_tw_l34(tmp_path: Path) -> None:
    with pytest.raises(InfeasibleError, match="rank 513") as caught:
        planned(IN_IMAGE, options=Options(lora={"a": adapter(tmp_path / "a", '{"r": 513}')}))
    assert caught.value.code == "TW-L34"


@pytest.mark.parametrize("names", [("a", "A"), ("my sql", "my-sql")])
def test_adapters_of_one_name_are_tw_l34(names: tuple[str, str]) -> None:
    with pytest.raises(InfeasibleError, match="differ only in case or punctuation") as caught:
        planned(IN_IMAGE, options=Options(lora=dict.fromkeys(names, "owner/name")))
    assert caught.value.code == "TW-L34"


@pytest.mark.parametrize(
    "choice",
    [VLLM, replace(IN_IMAGE, replicas=2, devices=(0, 1)), replace(IN_IMAGE, dp=2, devices=(0, 1))],
)
def test_adapters_need_tritons_backend(choice: Choice) -> None:
    with pytest.raises(InfeasibleError, match="Triton's own vLLM backend") as caught:
        planned(choice, options=Options(lora={"theirs": "owner/name"}))
    assert caught.value.code == "TW-L34"


def replicas_of(choice: Choice) -> list[str]:
    """The GPUs that each replica sees."""
    config = text_format.Parse(written(planned(choice, on=machine("8xH200")))["demo/config.pbtxt"], pb.ModelConfig())
    replicas = json.loads(config.parameters["engine_replicas"].string_value)
    return [replica["CUDA_VISIBLE_DEVICES"] for replica in replicas]


def test_every_replica_has_its_gpus_by_nvmls_numbers_and_in_a_container_by_the_containers() -> None:
    several = {"tp": 2, "replicas": 2, "devices": (3, 4, 6, 7)}
    assert replicas_of(replace(VLLM, **several)) == ["3,4", "6,7"]
    assert replicas_of(replace(IN_IMAGE, **several)) == ["0,1", "2,3"]


def test_the_steps_of_the_engine_are_as_long_as_the_memory_was_counted_for() -> None:
    _, settings, _ = engine(planned(replace(VLLM, step_tokens=2048)))
    assert settings["max_num_batched_tokens"] == 2048
    _, settings, _ = engine(planned(replace(VLLM, step_tokens=2048, max_batch_size=5000)))
    assert settings["max_num_batched_tokens"] == 5000


def test_another_answer_restarts_the_server_and_keeps_the_rest() -> None:
    before, after = planned(VLLM), planned(replace(VLLM, max_seq_len=512))
    changed = {a.id for a, b in zip(before, after, strict=True) if a.fingerprint != b.fingerprint}
    assert changed == {"repository", "start"}
