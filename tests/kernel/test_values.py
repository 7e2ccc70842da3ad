from __future__ import annotations

from dataclasses import replace

import pytest

from tests.values import CHOICE, CPU_HOST, GGUF
from wizard.advise.advice import Choice
from wizard.kernel.errors import UsageError
from wizard.kernel.values import fingerprint, from_json, to_json
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host


@pytest.mark.parametrize(("kind", "value"), [(Host, CPU_HOST), (ModelFacts, GGUF), (Choice, CHOICE)])
def test_a_value_is_written_and_read_back(kind: type, value: object) -> None:
    assert from_json(kind, to_json(value), where="a test") == value


def test_a_field_that_does_not_fit_is_named() -> None:
    text = to_json(CPU_HOST).replace('"cores": 8', '"cores": "many"')
    with pytest.raises(UsageError, match=r"host\.json does not fit: cpu\.cores") as caught:
        from_json(Host, text, where="host.json")
    assert caught.value.code == "TW-K01"


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\x00"])
def test_what_is_not_json_says_so(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        from_json(Host, text, where="host.json")
    assert caught.value.code == "TW-K02"


def test_a_fingerprint_changes_with_any_field_and_only_then() -> None:
    assert fingerprint(CHOICE) == fingerprint(replace(CHOICE))
    assert fingerprint(CHOICE) != fingerprint(replace(CHOICE, max_seq_len=1025))
