"""The bytes of a checkpoint: one count for the header, the download and the advice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wizard.advise.checkpoint import checkpoint
from wizard.kernel.paths import Workspace
from wizard.kernel.units import GIB
from wizard.model import shipped_configs
from wizard.model.facts import ModelFacts
from wizard.model.formats import disk_bytes, loaded_bytes, own, weight_bytes
from wizard.model.refs import HubRef
from wizard.plan.fetch import fetch

FILES = sorted((Path(__file__).parents[2] / "profiles" / "configs").glob("*.json"))
REPOS = [json.loads(file.read_text())["repo"] for file in FILES]


def bundled(repo: str) -> ModelFacts:
    facts = shipped_configs.shipped(HubRef(repo), "offline")
    assert facts
    return facts


@pytest.mark.parametrize("repo", REPOS)
def test_header_download_and_advice_count_the_same_bytes(repo: str, tmp_path: Path) -> None:
    facts = bundled(repo)
    assert facts.anatomy
    assert facts.weight_bytes == loaded_bytes(facts) == weight_bytes(facts, facts.anatomy, own(facts)).total
    fetched = checkpoint(facts, "vllm", own(facts))
    assert fetched
    step = fetch(facts, Workspace(tmp_path)).step
    assert fetched.bytes == disk_bytes(facts) == step.estimate.download_bytes
    assert (disk_bytes(facts) or 0) >= facts.weight_bytes


def test_parts_that_are_not_quantized_count_with_16_bits() -> None:
    facts = bundled("moonshotai/Kimi-K2.5")
    assert facts.anatomy
    parts = facts.anatomy.parts
    sixteen = parts.total - parts.experts
    assert facts.weight_bytes == round(parts.experts * 4.5 / 8) + 2 * sixteen
    assert 550 < facts.weight_bytes / GIB < 556
