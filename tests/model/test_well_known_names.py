"""Well-known short names: of models in several sizes, and of models whose weights are not published."""

from __future__ import annotations

import pytest

from wizard.catalog.models import curated
from wizard.kernel.errors import UsageError
from wizard.model import names
from wizard.model.source import find


@pytest.mark.parametrize("name", ["gpt-4", "gpt-4o", "chatgpt", "claude", "claude-3", "gemini", "Gemini-2.5-pro"])
def test_a_closed_model_is_named_as_such_with_open_ones(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(name, offline=True)
    assert caught.value.code == "TW-M01"
    assert caught.value.what.startswith(f"{name} is a closed model")
    assert all(each in caught.value.todo for each in names.OPEN)


@pytest.mark.parametrize("name", ["gpt2", "gpt-oss-20b", "gpt4all", "gemma3", "org/claude"])
def test_open_models_with_similar_names_are_not(name: str) -> None:
    assert not names.is_closed(name)


def test_the_open_models_that_are_named_are_in_the_catalog() -> None:
    assert set(names.OPEN) <= set(curated())


def test_deepseek_r1_leads_to_its_distilled_models() -> None:
    with pytest.raises(UsageError) as caught:
        find("deepseek-r1", offline=True)
    assert "Did you mean deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B" in caught.value.todo
