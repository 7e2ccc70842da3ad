"""What the wizard writes and accepts, against the real templates and Python models of each release."""

from __future__ import annotations

from pathlib import Path

import pytest
from tritonclient.grpc import model_config_pb2 as pb

from tests.stacks.trtllm_engine.templates import TEMPLATES, filled_as_tutorial_000
from tests.stacks.trtllm_engine.test_repository import made
from wizard.repository.lint import lint
from wizard.repository.linting.finding import Finding, Server


def declared(config: pb.ModelConfig) -> dict[tuple[str, str], str]:
    """Kind and name → type and dimensions."""
    return {
        (kind, tensor.name): " ".join([pb.DataType.Name(tensor.data_type)[5:], *map(str, tensor.dims)])
        for kind in ("input", "output")
        for tensor in getattr(config, kind)
    }


@pytest.mark.parametrize("release", TEMPLATES)
def test_types_and_dims_are_those_of_the_templates(release: str) -> None:
    different = {
        (model, key): (ours, real)
        for model, config in made(release).items()
        for key, ours in declared(config).items()
        if (real := TEMPLATES[release][model][key[0]].get(key[1], ours)) != ours and not real.startswith("$")
    }
    assert different == {}


def test_counts_of_07_are_signed() -> None:
    """Up to 0.6 they were unsigned; 0.7.0, 0.7.1 and 0.7.2 have the same templates."""
    for release in ("0.7.0", "0.7.1", "0.7.2"):
        assert declared(made(release)["ensemble"])["input", "max_tokens"] == "INT32 -1"
        assert not any("UINT32" in words for config in made(release).values() for words in declared(config).values())


@pytest.mark.parametrize("release", TEMPLATES)
def test_what_the_python_models_ask_for_is_declared(release: str) -> None:
    """They do not start without the outputs whose type they ask for; BLS is refused what a model does not declare."""
    missing = {
        (model, name)
        for model, config in made(release).items()
        for name in TEMPLATES[release][model]["asked"]
        if name not in {tensor.name for tensor in config.output}
    }
    assert missing == set()
    assert TEMPLATES[release]["preprocessing"]["asked"]


def findings(root: Path, release: str, **more: str) -> list[Finding]:
    place = filled_as_tutorial_000(root, release, **more)
    server = Server(frozenset({"python", "tensorrtllm"}), gpus=1, mounts=((str(root), "/data"),))
    return list(lint(place, server).findings)


@pytest.mark.parametrize(("release", "count"), [("0.12.0", 25), ("0.13.0", 26), ("0.15.0", 30)])
def test_a_repository_filled_as_tutorial_000_does_is_accepted(release: str, count: int, tmp_path: Path) -> None:
    """0.15 has a variable that the tutorial, made for 0.13, does not know."""
    more = {"encoder_input_features_data_type": "TYPE_FP16"} if release == "0.15.0" else {}
    reported = findings(tmp_path, release, **more)
    assert [(each.code, each.severity) for each in reported] == [("R103", "warning"), ("R901", "warning")]
    assert f"{count} optional parameters" in reported[0].what
    assert "preprocessing: add_special_tokens, gpt_model_path" in reported[0].what


def test_the_type_that_the_tutorial_leaves_open_in_015_is_an_error(tmp_path: Path) -> None:
    """A server refuses it too (``unfilled_type`` in tests/e2e/test_lint.py)."""
    errors = [each for each in findings(tmp_path, "0.15.0") if each.severity == "error"]
    assert [(each.code, each.model) for each in errors] == [("R509", "ensemble"), ("R101", "tensorrt_llm")]
    assert "${encoder_input_features_data_type}" in errors[1].what
    assert "TYPE_FP16" in errors[1].fix


@pytest.mark.parametrize("name", ["visual_model_path", "multimodal_model_path"])
def test_with_a_visual_model_preprocessing_needs_the_engine(name: str, tmp_path: Path) -> None:
    release = "0.13.0" if name.startswith("visual") else "0.19.0"
    errors = [each for each in findings(tmp_path, release, **{name: "/data/visual"}) if each.code == "R102"]
    assert [(each.model, each.what) for each in errors] == [
        ("preprocessing", "the parameter 'gpt_model_path' is still ${engine_dir}")
    ]
