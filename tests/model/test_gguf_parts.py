"""Split GGUF files, on this disk and on a hub: all parts count, and a missing one is named."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chain_model import split_chain_model, write_chain_model
from tests.model.fake_hub import COMMIT, FakeHub, FakeRepo
from wizard.kernel.errors import ModelError, WizardError
from wizard.kernel.paths import Workspace
from wizard.model import cache, gguf_files, local, on_disk
from wizard.model.facts import ModelFacts
from wizard.model.gguf_parts import missing, parts, title
from wizard.model.hub import lookup
from wizard.model.source import find
from wizard.plan.fetch import fetch
from wizard.plan.plan import Command

NAMES = [f"UD-Q8_0/m-UD-Q8_0-{number:05}-of-00003.gguf" for number in (1, 2, 3)]


@pytest.mark.parametrize(
    "name",
    ["m.gguf", "m-00001-of-00002.safetensors", "m-0001-of-0002.gguf", "m-00003-of-00002.gguf", "m-00000-of-00002.gguf"],
)
def test_a_whole_file_is_its_only_part(name: str) -> None:
    assert parts(name) == (name,)


@given(st.integers(2, 30), st.data())
def test_every_part_names_all(count: int, data: st.DataObject) -> None:
    names = parts(f"a/b-Q4_K_M-00001-of-{count:05}.gguf")
    assert len(set(names)) == count
    part = data.draw(st.sampled_from(names))
    assert parts(part) == names
    assert title(part) == "a/b-Q4_K_M.gguf"
    assert missing(part, set(names) - {part}) == (part,)


def test_a_split_file_has_the_facts_of_the_whole_one(tmp_path: Path) -> None:
    whole = local.of_path(write_chain_model(tmp_path / "chain.gguf"), "x")
    files = split_chain_model(tmp_path, 3)
    for file in files:  # any part names the model
        facts = local.of_path(file, "x")
        assert facts.location == str(files[0])
        sizes = [(path.name, path.stat().st_size) for path in files]
        assert [(each.name, each.bytes) for each in facts.weights] == sizes
        assert replace(facts, location=whole.location, weights=whole.weights) == whole


def test_a_folder_with_a_split_file_is_a_model(tmp_path: Path) -> None:
    files = split_chain_model(tmp_path, 2)
    assert local.of_path(tmp_path, "x").location == str(files[0])
    files[1].unlink()
    with pytest.raises(ModelError, match=files[1].name) as caught:
        local.of_path(tmp_path, "x")
    assert caught.value.code == "TW-M20"


@pytest.mark.parametrize("absent", [0, 1, 2])
def test_a_missing_part_is_named(tmp_path: Path, absent: int) -> None:
    files = split_chain_model(tmp_path, 3)
    files[absent].unlink()
    with pytest.raises(ModelError, match=f"missing: {files[absent].name}") as caught:
        local.of_path(files[(absent + 1) % 3], "x")
    assert caught.value.code == "TW-M20"


def test_parts_in_the_wrong_order_or_of_other_models_are_no_model(tmp_path: Path) -> None:
    files = split_chain_model(tmp_path, 3)
    saved = files[1].read_bytes()
    files[1].write_bytes(files[2].read_bytes())
    with pytest.raises(ModelError, match="part 2 is another one"):
        local.of_path(files[0], "x")
    files[1].write_bytes(split_chain_model(tmp_path, 2, "other")[1].read_bytes())
    with pytest.raises(ModelError, match="one of 2 parts"):
        local.of_path(files[0], "x")
    files[1].write_bytes(saved[:-8])
    with pytest.raises(ModelError) as caught:
        local.of_path(files[0], "x")
    assert caught.value.code == "TW-M10"


@given(st.integers(0, 2), st.integers(0, 400), st.binary(min_size=1, max_size=8))
def test_any_damage_gives_facts_or_a_wizard_error(
    tmp_path_factory: pytest.TempPathFactory, part: int, at: int, noise: bytes
) -> None:
    files = split_chain_model(tmp_path_factory.mktemp("d"), 3)
    raw = files[part].read_bytes()
    files[part].write_bytes(raw[:at] + noise + raw[at + len(noise) :])
    try:
        local.of_path(files[0], "x")
    except WizardError:
        return


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    split = dict(zip(NAMES, (path.read_bytes() for path in split_chain_model(tmp_path, 3)), strict=True))
    repos = {
        "o/split-GGUF": FakeRepo({**split, "mmproj-m-F16.gguf": b"GGUF"}),
        "o/part-GGUF": FakeRepo(dict(list(split.items())[:2])),
    }
    with FakeHub(repos) as hub_:
        monkeypatch.setenv("HF_ENDPOINT", hub_.url)
        yield hub_


def of_hub(ref: str) -> ModelFacts:
    facts = find(ref)
    assert [file.name for file in facts.weights] == NAMES
    return facts


@pytest.mark.parametrize(
    "ref", ["o/split-GGUF", "hf.co/o/split-GGUF:Q8_0", f"o/split-GGUF:{NAMES[0]}", f"o/split-GGUF:{NAMES[1]}"]
)
def test_a_hubs_split_file_is_one_model(fake: FakeHub, ref: str, tmp_path: Path) -> None:
    whole = local.of_path(write_chain_model(tmp_path / "chain.gguf"), "x")
    facts = of_hub(ref)
    assert (facts.parameters, facts.weight_bytes) == (whole.parameters, whole.weight_bytes)
    assert (facts.anatomy, facts.gguf_layers) == (whole.anatomy, whole.gguf_layers)


def test_sizes_of_the_list_are_those_of_all_parts(fake: FakeHub) -> None:
    total = sum(len(fake.repos["o/split-GGUF"].files[name]) for name in NAMES)
    facts = of_hub("o/split-GGUF")
    assert [(file.file, file.type, file.bytes) for file in facts.gguf] == [(NAMES[0], "Q8_0", total)]
    other = gguf_files.as_file(facts, replace(facts.gguf[0], repo="o/other"))
    assert [(file.name, file.bytes) for file in other.weights] == [(name, None) for name in NAMES]
    assert other.weight_bytes == total


def test_headers_of_parts_that_come_too_late_are_done_without(fake: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "HEADER_SECONDS", 0.0)
    fake.held = {*NAMES[1:]}
    facts = of_hub("o/split-GGUF")
    assert facts.weight_bytes == sum(file.bytes or 0 for file in facts.weights)
    assert (facts.anatomy, facts.layers) == (None, 1)


@pytest.mark.parametrize(
    "ref", ["o/part-GGUF:UD-Q8_0/m-UD-Q8_0-00001-of-00003.gguf", "o/part-GGUF:Q8_0", "o/part-GGUF"]
)
def test_a_part_that_the_hub_lacks_is_named(fake: FakeHub, ref: str) -> None:
    with pytest.raises(ModelError, match=NAMES[2]) as caught:
        find(ref)
    assert caught.value.code == "TW-M16"


def test_all_parts_are_downloaded_and_found_again(fake: FakeHub, tmp_path: Path) -> None:
    facts = of_hub("o/split-GGUF:Q8_0")
    fetched = fetch(facts, Workspace(tmp_path / "w"))
    command, _ = fetched.step.actions  # they are downloaded and verified
    assert isinstance(command, Command)
    assert [argument for argument in command.argv if argument.endswith(".gguf")] == NAMES
    assert [Path(file).is_relative_to(tmp_path) for file in fetched.step.done.files] == [True] * 4
    assert str(fetched.path) == fetched.step.done.files[0]
    assert fetched.path.name == "m-UD-Q8_0-00001-of-00003.gguf"
    environment = {**os.environ, "HF_ENDPOINT": fake.url}
    subprocess.run(command.argv, check=True, capture_output=True, env=environment, timeout=60)
    local.of_path(fetched.path, "x")  # all of it is there


def test_parts_in_the_cache_need_no_hub(fake: FakeHub, tmp_path: Path) -> None:
    snapshot = cache.hub_cache() / "models--o--split-GGUF" / "snapshots" / COMMIT
    (snapshot.parent.parent / "refs").mkdir(parents=True)
    (snapshot.parent.parent / "refs" / "main").write_text(COMMIT)
    (snapshot / "UD-Q8_0").mkdir(parents=True)
    for name in NAMES:
        blob = snapshot.parent.parent / f"blob-{name[-15]}"
        blob.write_bytes(fake.repos["o/split-GGUF"].files[name])
        (snapshot / name).symlink_to(blob)
    assert on_disk.stored_models(tmp_path / "none") == [f"o/split-GGUF:{NAMES[0]}"]
    facts = find("o/split-GGUF:Q8_0", offline=True)
    assert (facts.local, facts.location) == (True, str(snapshot / NAMES[0]))
    step = fetch(facts, Workspace(Path("/w"))).step
    parts = [Path(file).name for file in step.done.files if file.endswith(".gguf")]
    assert parts == [Path(name).name for name in NAMES]
    assert len(set(step.reads)) == 3
    with pytest.raises(ModelError):  # the cache has no such file, and Q8_0 is not taken for it
        find("o/split-GGUF:Q4_K_M", offline=True)
