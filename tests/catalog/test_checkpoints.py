"""The table of ready-quantised checkpoints that we ship, and how hub ids find their family."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from wizard.catalog import profiles
from wizard.catalog.checkpoints import Checkpoint, CheckpointTable, Family, ready
from wizard.kernel.errors import UsageError
from wizard.model.formats import FORMATS
from wizard.model.refs import HubRef, parse_ref

SHIPPED = profiles.load(CheckpointTable, profiles.find("checkpoints.toml")).families

OWN = """
[[families]]
base = ["me/model"]
[[families.checkpoints]]
ref = "me/model-fp8"
format = "fp8"
source = "my own"
"""


@pytest.mark.parametrize("family", SHIPPED, ids=lambda family: family.base[0])
def test_a_family_names_hub_ids_known_formats_and_sources(family: Family) -> None:
    assert family.base
    for ref in (*family.base, *(checkpoint.ref for checkpoint in family.checkpoints)):
        assert parse_ref(ref) == HubRef(ref)
    formats = [checkpoint.format for checkpoint in family.checkpoints]
    assert formats
    assert set(formats) <= set(FORMATS) - {"none"}
    assert len(formats) == len(set(formats))
    assert all(checkpoint.source.strip() for checkpoint in family.checkpoints)


def test_the_file_has_only_known_keys() -> None:
    data = profiles.load_toml(profiles.find("checkpoints.toml"))
    assert set(data) == {"families"}
    for family in data["families"]:
        assert set(family) == {"base", "checkpoints"}
        assert all(
            {"ref", "format", "source"} <= set(checkpoint) <= {"ref", "format", "source", "method"}
            for checkpoint in family["checkpoints"]
        )


def test_no_hub_id_belongs_to_two_families() -> None:
    ids = Counter(
        ref.casefold()
        for family in SHIPPED
        for ref in {*family.base, *(checkpoint.ref for checkpoint in family.checkpoints)}
    )
    assert [ref for ref, count in ids.items() if count > 1] == []


@pytest.mark.parametrize(
    ("ref", "format_", "expected"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "fp8", "nvidia/Llama-3.1-8B-Instruct-FP8"),
        ("META-LLAMA/llama-3.1-8b-instruct", "nvfp4", "nvidia/Llama-3.1-8B-Instruct-NVFP4"),
        ("meta-llama/Meta-Llama-3.1-70B-Instruct", "int4_awq", "hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4"),
        ("Qwen/Qwen3-32B-AWQ", "fp8_block", "Qwen/Qwen3-32B-FP8"),
        ("Qwen/Qwen2.5-0.5B-Instruct", "int4_gptq", "Qwen/Qwen2.5-0.5B-Instruct-GPTQ-Int4"),
        ("openai/gpt-oss-20b", "mxfp4", "openai/gpt-oss-20b"),
    ],
)
def test_any_id_of_a_family_finds_its_checkpoints(ref: str, format_: str, expected: str) -> None:
    assert {checkpoint.format: checkpoint.ref for checkpoint in ready(ref)}[format_] == expected


@pytest.mark.parametrize("ref", ["", "nobody/nothing", "meta-llama/Llama-3.1-8B", "Llama-3.1-8B-Instruct"])
def test_other_ids_find_none(ref: str) -> None:
    assert ready(ref) == ()


def test_a_users_own_table_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(profiles.PROFILES_VARIABLE, str(tmp_path))
    (tmp_path / "checkpoints.toml").write_text(OWN)
    assert ready("Me/Model") == (Checkpoint("me/model-fp8", "fp8", "my own"),)
    assert ready("openai/gpt-oss-20b") == ()


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        (OWN.replace('format = "fp8"', "format = 8"), "TW-K01", "families.0.checkpoints.0.format"),
        (OWN.replace("]]", "]"), "TW-D02", "checkpoints.toml"),
    ],
)
def test_a_damaged_table_is_named(
    text: str, code: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(profiles.PROFILES_VARIABLE, str(tmp_path))
    (tmp_path / "checkpoints.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        ready("me/model")
    assert caught.value.code == code
    assert named in caught.value.what
