"""Facts of serving stacks: ours fit together, and a file in a user's folder is one more stack, or takes one's place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from wizard.catalog import profiles, stacks
from wizard.catalog.environments import engines, environment_of
from wizard.catalog.releases import NONE, architectures, families, images, version
from wizard.catalog.speed import fit
from wizard.kernel.errors import UsageError

OURS = stacks.names()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of stacks that is searched first."""
    monkeypatch.setenv(profiles.PROFILES_VARIABLE, str(tmp_path))
    (tmp_path / "stacks").mkdir()
    stacks.forget()
    yield tmp_path / "stacks"
    stacks.forget()


def test_stacks_come_in_the_order_of_their_ranks() -> None:
    ranks = {name: stacks.facts(name).rank for name in OURS}
    assert list(ranks.values()) == sorted(set(ranks.values())), "two have the same rank, or it is not on a line alone"
    assert OURS.index("vllm") < OURS.index("trtllm-engine") < OURS.index("transformers")


@pytest.mark.parametrize("name", OURS)
def test_what_a_stack_names_is_there(name: str) -> None:
    known = stacks.facts(name)
    assert (known.gpu is None) != (known.cpu is None)
    assert set(known.instead) <= set(OURS) - {name}
    if known.speed:
        assert fit(known.speed) is not None
    assert not (known.first and known.floors)
    if known.first:
        assert known.first.versions
        assert all(first == NONE or version(first) for first in known.first.versions.values())
    if known.floors:
        table = architectures()
        rows = (*table.models, *table.ropes, *table.formats)
        assert any(known.floors in row.first for row in rows)
    if known.image:
        assert images(known.image.family).releases
        assert known.image.family in families()
        assert known.image.instead_in_older in ("", *OURS)
    if known.native:
        assert environment_of(name) == engines(name)[0]
        assert set(known.native.packages) == set(environment_of(name).needs)


def test_a_stack_without_images_or_without_an_environment_has_none() -> None:
    with pytest.raises(ValueError, match="images only"):
        environment_of("trtllm-engine")
    with pytest.raises(ValueError, match="does not serve on GPUs"):
        stacks.on_gpu("llamacpp")


def test_a_file_of_the_users_is_one_more_stack(folder: Path) -> None:
    text = profiles.find("stacks/llamacpp.toml").read_text(encoding="utf-8")
    last, on_cpu = stacks.facts(OURS[-1]).rank, stacks.cpu_stacks()
    (folder / "mine.toml").write_text(text.replace("rank = 50", f"rank = {last + 1}"), encoding="utf-8")
    stacks.forget()
    assert stacks.names() == (*OURS, "mine")
    assert stacks.cpu_stacks() == (*on_cpu, "mine")
    assert stacks.title("mine") == "llama.cpp"


def test_a_file_of_the_users_takes_the_place_of_ours(folder: Path) -> None:
    text = profiles.find("stacks/vllm.toml").read_text(encoding="utf-8")
    (folder / "vllm.toml").write_text(text.replace("block = 16", "block = 64"), encoding="utf-8")
    assert stacks.on_gpu("vllm").memory.block == 64


def test_a_damaged_file_is_refused_when_its_facts_are_asked_for(folder: Path) -> None:
    (folder / "mine.toml").write_text('title = "Mine"', encoding="utf-8")
    assert stacks.names() == ("mine", *OURS)
    with pytest.raises(UsageError, match="rank") as caught:
        stacks.facts("mine")
    assert caught.value.code == "TW-K01"
    with pytest.raises(UsageError) as caught:
        stacks.facts("nobody's")
    assert caught.value.code == "TW-D01"
    assert stacks.title("nobody's") is None
