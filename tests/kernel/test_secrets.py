from __future__ import annotations

from pathlib import Path

import pytest

from wizard.kernel.secrets import MASK, environment_for, redact


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("token hf_AbCdEfGhIjKlMnOpQrSt here", f"token {MASK} here"),
        ("https://user:pass@hub/x", f"https://{MASK}@hub/x"),
        ("Authorization: Bearer abc.def-123456", f"Authorization: Bearer {MASK}"),
        ("nvapi-0123456789abcdefXYZ", MASK),
        ("hf_hub_download is not a token", "hf_hub_download is not a token"),
    ],
)
def test_tokens_are_masked_by_their_shape(text: str, expected: str) -> None:
    assert redact(text) == expected


def test_the_value_of_a_secret_variable_is_masked_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "an-odd-looking-token")
    assert redact("x=an-odd-looking-token!") == f"x={MASK}!"


def test_a_short_value_masks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "a")
    assert redact("banana") == "banana"


def test_modules_are_found_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "mine:/theirs:")
    assert environment_for()["PYTHONPATH"] == f"{tmp_path}/mine:/theirs:"
