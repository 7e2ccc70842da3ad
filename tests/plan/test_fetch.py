"""The step that gets the model: where it lies then, what must be there, and what it takes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.stacks.trtllm_values import LLAMA
from tests.values import GGUF, plan_of
from wizard.kernel.paths import Workspace
from wizard.model.facts import ModelFacts, Quantization, WeightFile
from wizard.plan.fetch import fetch
from wizard.plan.plan import Command, Estimate

WORKSPACE = Workspace(Path("/w"))
HUB_GGUF = replace(GGUF, ref="org/demo-GGUF", source="hub", location="org/demo-GGUF", local=False)
FILE = WeightFile("sub/demo.gguf", None, "gguf")
SHARDS = tuple(WeightFile(f"{name}.safetensors", None, "safetensors") for name in "ab")


@pytest.mark.parametrize(
    ("facts", "path", "files"),
    [
        (LLAMA, "", ["config.json", "model.safetensors"]),
        (replace(LLAMA, weights=SHARDS), "", ["config.json", "a.safetensors", "b.safetensors"]),
        (replace(LLAMA, weights=(), quantization=Quantization("awq", 4)), "", ["config.json"]),
        (HUB_GGUF, "/demo.gguf", ["demo.gguf"]),
        (replace(HUB_GGUF, weights=(FILE,)), "/sub/demo.gguf", ["sub/demo.gguf"]),
        (replace(HUB_GGUF, weights=()), "/demo.gguf", ["demo.gguf"]),
        (replace(HUB_GGUF, weights=(*SHARDS, FILE), quantization=None), "/sub/demo.gguf", ["sub/demo.gguf"]),
    ],
)
def test_what_is_fetched_is_there_when_its_files_are(facts: ModelFacts, path: str, files: list[str]) -> None:
    fetched = fetch(facts, WORKSPACE)
    folder = str(fetched.path).removesuffix(path)
    assert fetched.step.done.files == (*(f"{folder}/{name}" for name in files), f"{folder}.manifest.json")
    assert fetched.reads == fetched.step.reads == ()
    command, proof = fetched.step.actions
    assert isinstance(command, Command)
    assert isinstance(proof, Command)
    assert proof.argv[:4] == (sys.executable, "-m", "wizard.model.verify", folder)
    assert proof.argv[4:] == ("--repo", facts.location, *(("--", *command.argv[5:-2]) if path else ()))
    assert command.argv[:4] == (sys.executable, "-m", "huggingface_hub.cli.hf", "download")
    assert command.argv[-1] == folder
    assert command.secrets == ("HF_TOKEN",)
    assert ("one GGUF file" in fetched.step.why) == bool(path)


def test_the_folder_is_the_models_own() -> None:
    assert fetch(LLAMA, WORKSPACE).path == Path("/w/models/llama-2-7b-hf-ce6f710b")
    assert fetch(replace(LLAMA, revision="abc"), WORKSPACE).path != fetch(LLAMA, WORKSPACE).path


@pytest.mark.parametrize(("size", "estimate"), [(4 * 10**9, Estimate(205, 4 * 10**9, 4 * 10**9)), (None, Estimate(5))])
def test_a_download_takes_what_its_bytes_take(size: int | None, estimate: Estimate) -> None:
    step = fetch(replace(LLAMA, weight_bytes=size, weights=()), WORKSPACE).step
    assert step.estimate == plan_of(Path("/w"), step).estimate == estimate


@pytest.mark.parametrize("name", ["folder", "file.gguf"])
def test_what_is_on_this_machine_is_linked(name: str, tmp_path: Path) -> None:
    source = tmp_path / name
    if source.suffix:
        source.touch()
        facts = replace(GGUF, location=str(source), weights=(WeightFile("file.gguf", None, "gguf"),))
    else:
        source.mkdir()
        facts = replace(LLAMA, local=True, location=str(source))
    fetched = fetch(facts, WORKSPACE)
    folder = fetched.path.parent if source.suffix else fetched.path
    assert fetched.path.parent.parent == (Path("/w/models") if source.suffix else Path("/w"))
    assert [action.shell() for action in fetched.step.actions] == [
        f"mkdir -p {fetched.path.parent}",
        f"ls -d {source}",
        f"ln -sfn {source} {fetched.path}",
        f"{sys.executable} -m wizard.model.verify {folder}{' -- file.gguf' if source.suffix else ''}",
    ]
    assert fetched.step.done.files == (str(fetched.path), f"{folder}.manifest.json")
    assert fetched.step.estimate == Estimate(0.1)
    assert (fetched.step.reads, fetched.reads) == ((str(source),), (source,))
    assert ("a link to the file" in fetched.step.why) == bool(source.suffix)


def test_plain_files_are_no_links_to_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").touch()
    assert fetch(replace(LLAMA, local=True, location=str(tmp_path / "model")), WORKSPACE).reads == (tmp_path / "model",)


def test_files_are_downloaded_whole_although_not_all_is_loaded() -> None:
    files = (WeightFile("a.safetensors", 3 * 10**9, "safetensors"), WeightFile("b.safetensors", 10**9, "safetensors"))
    step = fetch(replace(LLAMA, weight_bytes=3 * 10**9, weights=files), WORKSPACE).step
    assert step.estimate.download_bytes == 4 * 10**9


def test_the_links_to_a_split_file_are_counted(tmp_path: Path) -> None:
    parts = [tmp_path / f"m-0000{part}-of-00002.gguf" for part in (1, 2)]
    for part in parts:
        part.touch()
    weights = tuple(WeightFile(part.name, None, "gguf") for part in parts)
    step = fetch(replace(GGUF, location=str(parts[0]), weights=weights), WORKSPACE).step
    assert "links to their 2 files" in step.why
