from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pytest

from tests import pseudo
from tests.values import CHOICE, CPU_HOST, GGUF
from wizard.advise.advice import Choice
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.values import fingerprint, from_json, to_document, to_json
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host


@pytest.mark.parametrize(("kind", "value"), [(Host, CPU_HOST), (ModelFacts, GGUF), (Choice, CHOICE)])
def test_a_value_is_written_and_read_back(kind: type, value: object) -> None:
    assert from_json(kind, to_json(value), where="a test") == value


def test_an_invalid_field_is_named() -> None:
    text = to_json(CPU_HOST).replace('"cores": 8', '"cores": "many"')
    with pytest.raises(UsageError, match=r"host\.json is invalid: cpu\.cores") as caught:
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


@dataclass(frozen=True, slots=True)
class Letter:
    """A value with texts."""

    title: str
    lines: tuple[str, ...]


def letter() -> Letter:
    return Letter(tr("Stop {name}", name="none"), ("none", tr("none"), tr("{left:,} left", left=12345)))


def test_a_document_is_the_same_in_every_language_and_read_in_the_readers() -> None:
    with pseudo.spoken():
        written = to_document(letter())
        assert json.loads(written)["lines"] == ["none", "none", "12,345 left"]
        assert from_json(Letter, written, where="a test") == Letter(
            "⟦Stop none⟧", ("⟦none⟧", "⟦none⟧", "⟦12,345 left⟧")
        )
    assert written == to_document(letter())
    assert fingerprint(from_json(Letter, written, where="a test")) == fingerprint(letter())


@pytest.mark.parametrize(
    "entry",
    [
        None,
        3,
        [],
        ["a"],
        [["{x}"], {}, None],
        [["{left.__class__}"], {"left": 1}, None],
        [["another"], {}, None],
        [[3], {}, 0],
    ],
)
def test_a_message_that_is_not_its_text_is_not_believed(entry: object) -> None:
    data = {"title": "Stop it", "lines": [], "messages": {"Stop it": entry}}
    with pseudo.spoken():
        assert from_json(Letter, json.dumps(data), where="a test") == Letter("Stop it", ())
