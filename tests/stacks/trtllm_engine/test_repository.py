from __future__ import annotations

import os
from pathlib import Path

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2 as pb

from tests.repository import standins
from tests.server_environment import write
from wizard.kernel.errors import UsageError
from wizard.repository.lint import lint
from wizard.repository.linting.finding import Server
from wizard.stacks.trtllm_engine.repository import SINCE, UNTIL, repository, version_of

GOLDEN = Path(__file__).resolve().parent.parent.parent / "golden" / "repository"
WRITE = os.environ.get("TRITON_WIZARD_GOLDEN") == "write"
"""Write the golden files anew; read the difference before it is committed."""

RELEASES = ("0.7.2", "0.8.0", "0.10.0", "0.13.0", "0.17.0", "0.19.0", "1.2.1")


def made(release: str, **more: object) -> dict[str, pb.ModelConfig]:
    arguments: dict[str, object] = {
        "engine_dir": "/engines/m",
        "tokenizer_dir": "/models/m",
        "max_batch_size": 8,
        **more,
    }
    files = repository(release, **arguments).files  # type: ignore[arg-type]
    return {
        file.path.split("/")[0]: text_format.Parse(file.text, pb.ModelConfig())
        for file in files
        if file.path.endswith("config.pbtxt")
    }


def parameters(config: pb.ModelConfig) -> dict[str, str]:
    return {key: value.string_value for key, value in config.parameters.items()}


@pytest.mark.parametrize("release", RELEASES)
def test_golden(release: str) -> None:
    text = "\n".join(
        f"==> {file.path} <==\n{file.text}"
        for file in repository(
            release, engine_dir="/engines/m", tokenizer_dir="/models/m", max_batch_size=8, kv_cache_fraction=0.9
        ).files
    )
    path = GOLDEN / f"trtllm-{release}.txt"
    if WRITE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("bls", [True, False])
def test_the_linter_finds_nothing(release: str, bls: bool, tmp_path: Path) -> None:
    for name in ("engine", "tokenizer"):
        (tmp_path / name).mkdir()
    text = '{"pretrained_config": {"mapping": {"tp_size": 1, "pp_size": 1}}, "build_config": {"max_batch_size": 8}}'
    (tmp_path / "engine/config.json").write_text(text)
    (tmp_path / "engine/rank0.engine").touch()
    plan = repository(
        release,
        engine_dir=str(tmp_path / "engine"),
        tokenizer_dir=str(tmp_path / "tokenizer"),
        max_batch_size=8,
        bls=bls,
    )
    root = write(plan, tmp_path / "repository")
    standins.put(root, plan.copied)
    assert lint(root, Server(frozenset({"python", "tensorrtllm"}), gpus=1)).findings == ()


def test_what_is_copied_and_what_only_needs_a_folder() -> None:
    plan = repository("0.13.0", engine_dir="/e", tokenizer_dir="/t", max_batch_size=1)
    assert plan.copied == ("preprocessing/1", "postprocessing/1", "tensorrt_llm_bls/1")
    assert {"tensorrt_llm/1/.keep", "ensemble/1/.keep"} <= {file.path for file in plan.files}
    assert "tensorrt_llm_bls" not in made("0.13.0", bls=False)


def test_names_follow_the_release() -> None:
    def inputs(release: str, model: str) -> set[str]:
        return {tensor.name for tensor in made(release)[model].input}

    assert {"min_length", "random_seed"} <= inputs("0.19.0", "ensemble")
    assert {"min_tokens", "seed"} <= inputs("1.0.0", "ensemble")
    assert "frequency_penalty" not in inputs("0.7.2", "ensemble")
    assert "frequency_penalty" in inputs("0.8.0", "ensemble")
    assert "exclude_input_in_output" not in inputs("0.15.0", "ensemble")
    assert "exclude_input_in_output" in inputs("0.16.0", "ensemble")
    assert {tensor.name for tensor in made("0.13.0")["ensemble"].output} == {
        *("text_output", "cum_log_probs", "output_log_probs", "context_logits", "generation_logits", "batch_index"),
    }


def test_parameters_follow_the_release() -> None:
    assert parameters(made("0.8.0")["preprocessing"])["tokenizer_type"] == "auto"
    assert "tokenizer_type" not in parameters(made("0.9.0")["preprocessing"])
    assert parameters(made("0.18.2")["preprocessing"])["visual_model_path"] == ""
    assert parameters(made("0.19.0")["preprocessing"])["multimodal_model_path"] == ""
    assert made("0.11.0")["tensorrt_llm"].dynamic_batching.HasField("default_queue_policy") is False
    assert made("0.12.0")["tensorrt_llm"].dynamic_batching.HasField("default_queue_policy") is True


def test_the_parameters_are_those_of_the_choice() -> None:
    config = made("0.13.0", decoupled=False, kv_cache_fraction=0.5, settings={"enable_kv_cache_reuse": "true"})
    given = parameters(config["tensorrt_llm"])
    assert (given["gpt_model_path"], given["gpt_model_type"]) == ("/engines/m", "inflight_fused_batching")
    assert (given["kv_cache_free_gpu_mem_fraction"], given["enable_kv_cache_reuse"]) == ("0.5", "true")
    assert not config["tensorrt_llm"].model_transaction_policy.decoupled
    assert all(config[name].max_batch_size == 8 for name in config)
    assert not any("${" in value for model in config.values() for value in parameters(model).values())


@pytest.mark.parametrize("release", ["0.6.1", "1.3.0", "26.07", "", "x.y", "main"])
def test_no_such_release(release: str) -> None:
    with pytest.raises(UsageError, match="cannot generate a repository for TensorRT-LLM") as error:
        version_of(release)
    assert error.value.code == "TW-L60"


def test_a_parameter_that_a_release_does_not_know() -> None:
    for release, name in (("0.13.0", "eagle_choices"), ("0.10.0", "enable_trt_overlap"), ("0.13.0", "nonsense")):
        with pytest.raises(UsageError, match=name) as error:
            made(release, settings={name: "1"})
        assert error.value.code == "TW-L61"
    assert set(UNTIL) <= set(SINCE)
