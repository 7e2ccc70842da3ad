"""The catalog of well-known models: what each entry states, and that nothing in it contradicts a configuration."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wizard.catalog.models import CuratedModel, curated
from wizard.catalog.profiles import files
from wizard.kernel.errors import UsageError
from wizard.model.gguf_files import type_of, whole
from wizard.model.refs import HubRef, parse_ref
from wizard.model.shipped_configs import shipped

MODELS = curated()


@pytest.mark.parametrize("name", MODELS)
def test_an_entry_states_repository_date_figures_and_their_sources(name: str) -> None:
    model = MODELS[name]
    assert parse_ref(model.repo).repo == model.repo
    assert f"https://huggingface.co/{model.repo}" in model.source or "https://" in model.source
    assert "2024-07" <= model.date[:7] <= "2026-11"
    assert model.day.isoformat() == model.date
    assert 10**8 < model.parameters < 2 * 10**12
    assert model.active is None or model.active < model.parameters
    assert 4 <= model.bits <= 16
    if model.licence:
        assert "icense" in model.source
    if model.gguf:
        assert parse_ref(model.gguf).repo == model.gguf
        assert "GGUF" in model.source
        assert sorted(model.files) == whole(dict.fromkeys(model.files))
        assert all(type_of(file) for file in model.files)
    assert bool(model.gguf) == bool(model.files)


@pytest.mark.parametrize("name", MODELS)
def test_figures_are_those_of_the_shipped_configuration(name: str) -> None:
    model = MODELS[name]
    facts = shipped(HubRef(model.repo), "a test")
    if facts is None:
        return
    assert facts.parameters == model.parameters
    assert facts.max_context == model.context
    if facts.anatomy and facts.experts:
        assert model.active is not None
        assert abs(facts.anatomy.active - model.active) < 0.1 * model.active
    if facts.licence and model.licence:
        assert facts.licence.lower() == model.licence.lower()
    assert not (facts.gated and not model.gated)


def test_every_shipped_configuration_of_a_model_is_of_an_entry_or_a_recipe() -> None:
    """A rounded count beside a configuration would be a count that nobody made."""
    for name, model in MODELS.items():
        if shipped(HubRef(model.repo), "a test"):
            text = files("models")[name].read_text(encoding="utf-8")
            assert not re.search(r"^parameters = .*rounded", text, re.MULTILINE), name


def test_there_are_models_of_every_size_and_of_this_year() -> None:
    sizes = {size: [m for m in MODELS.values() if m.size == size] for size in ("small", "medium", "large")}
    assert all(len(models) >= 15 for models in sizes.values())
    assert min(model.parameters for model in MODELS.values()) < 3e8
    assert max(model.parameters for model in MODELS.values()) > 1e12
    assert all(any(model.date >= "2026-06" for model in models) for models in sizes.values())


def test_an_entry_of_the_user_hides_its_namesake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models").mkdir()
    path = tmp_path / "models" / "qwen3-8b.toml"
    path.write_text('title="Mine"\nrepo="me/mine"\nparameters=1\ndate="2026-01-01"\nsource="S"\n')
    monkeypatch.setenv("TRITON_WIZARD_PROFILES", str(tmp_path))
    assert curated()["qwen3-8b"] == CuratedModel("Mine", "me/mine", 1, "2026-01-01", "S")
    other = path.with_name("other.toml")
    other.write_text('title="Mine"\nrepo="me/mine"\nparameters=1\nsource="S"\n')
    with pytest.raises(UsageError) as caught:
        curated()
    assert caught.value.code == "TW-K01"
