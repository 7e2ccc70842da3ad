"""The table of TensorRT-LLM's tools: whole, sourced, and read as it is meant."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wizard.catalog.releases import images
from wizard.catalog.trtllm_tools import folder, tools, version_of

VERSIONS = list(dict.fromkeys(candidate.engine for candidate in reversed(images("trtllm").releases)))  # oldest first


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.13.0", (0, 13, 0)),
        ("0.17.0.post1", (0, 17, 0)),
        ("0.13.0.dev2024090300", (0, 13, 0)),
        ("1.0.3.2510", (1, 0, 3, 2510)),
        ("1.3.0rc19", (1, 3, 0)),
    ],
)
def test_versions(text: str, version: tuple[int, ...]) -> None:
    assert version_of(text) == version


@given(st.lists(st.integers(0, 99), min_size=3, max_size=3), st.lists(st.integers(0, 99), min_size=3, max_size=3))
def test_versions_are_ordered_by_number(first: list[int], other: list[int]) -> None:
    texts = [".".join(map(str, parts)) for parts in (first, other)]
    assert (version_of(texts[0]) < version_of(texts[1])) is (first < other)


def test_every_row_says_where_it_is_from() -> None:
    table = tools()
    rows: list[Any] = [
        *table.sources,
        *table.families,
        *table.formats,
        *table.checkpoints,
        *table.libraries,
        *table.flags,
    ]
    assert [row for row in rows if len(row.source) < 10] == []


@pytest.mark.parametrize("version", VERSIONS)
def test_every_release_has_sources_and_tools(version: str) -> None:
    table = tools()
    where = table.sources_of(version)
    assert (bool(where.examples) and bool(where.backend)) or (bool(where.in_image) and bool(where.examples_in_image))
    known = [row.tool for row in table.flags if row.known_in(version_of(version))]
    builder = set() if version_of(version) < (0, 8) else {"trtllm-build", "convert_checkpoint.py"}
    assert {"run.py", "launch_triton_server.py"} | builder <= set(known)


def test_no_architecture_is_older_than_its_script_nor_in_two_families() -> None:
    names: list[str] = []
    for family in tools().families:
        for architecture, since in family.architectures.items():
            assert folder(family, since), architecture
            names.append(architecture)
    assert len(names) == len(set(names))


def test_a_familys_own_flags_go_before_the_common_ones() -> None:
    assert tools().names("convert_checkpoint.py", "0.13.0", "gemma")["tp"] == "--world-size"
    assert tools().names("convert_checkpoint.py", "0.13.0", "llama")["tp"] == "--tp_size"


def test_what_a_tool_has_not_is_not_named() -> None:
    for release in ("0.9.0", "0.10.0"):
        assert {"tp", "pp", "workers"}.isdisjoint(tools().names("convert_checkpoint.py", release, "phi"))
    for release in ("0.8.0", "0.11.0"):
        assert {"tp", "workers"} <= set(tools().names("convert_checkpoint.py", release, "phi"))
        assert "pp" not in tools().names("convert_checkpoint.py", release, "phi")  # it is there, and refused


def test_flags_come_and_go() -> None:
    old, new = tools().names("trtllm-build", "0.10.0"), tools().names("trtllm-build", "0.11.0")
    assert ("max_output_len" in old, "max_seq_len" in old) == (True, False)
    assert ("max_output_len" in new, "max_seq_len" in new) == (False, True)
