"""Configs that contradict themselves: a clear error with a code, quickly and with little memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wizard.kernel.errors import WizardError
from wizard.model.config import describe
from wizard.model.facts import ModelFacts

PUBLIC: dict[str, Any] = json.loads((Path(__file__).parent / "configs" / "public.json").read_text())
LLAMA = PUBLIC["meta-llama/Llama-3.1-8B"]["config"]


def nested(depth: int) -> dict[str, Any]:
    config = dict(LLAMA)
    for _ in range(depth):
        config = {"text_config": config}
    return config


BAD = {
    "heads that do not divide": {**LLAMA, "num_key_value_heads": 7},
    "width that does not divide": {**LLAMA, "num_attention_heads": 24, "head_dim": None},
    "no tokens": {**LLAMA, "vocab_size": 0},
    "negative window": {**LLAMA, "model_type": "mistral", "sliding_window": -5},
    "100,000 layers": {**LLAMA, "num_hidden_layers": 100_000},
    "text_config in text_config": nested(2),
    "a deep nest": nested(300),
}
CHILD = """
import json, resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from wizard.kernel.errors import WizardError
from wizard.model.config import describe
from wizard.model.facts import ModelFacts
begun = time.process_time()
try:
    describe(ModelFacts("r", "folder", "here", "n", None, None), json.load(sys.stdin))
except WizardError as error:
    # Not ru_maxrss: it starts with the peak of the process that started this one.
    peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(json.dumps([error.code, time.process_time() - begun, peak]))
"""


@pytest.mark.parametrize("name", BAD)
def test_a_contradiction_is_an_error_within_a_second_and_200_mb(name: str) -> None:
    child = [sys.executable, "-c", CHILD]
    done = subprocess.run(child, input=json.dumps(BAD[name]), capture_output=True, text=True, check=True)
    code, seconds, peak_kib = json.loads(done.stdout)
    assert code == "TW-M05"
    assert seconds <= 1
    assert peak_kib <= 200_000


def facts_of(config: dict[str, Any]) -> ModelFacts:
    return describe(ModelFacts("r", "folder", "here", "n", None, None), config)


def test_a_config_that_contains_itself_is_an_error() -> None:
    loop: dict[str, Any] = {}
    loop["text_config"] = loop
    with pytest.raises(WizardError, match="text_config"):
        facts_of(loop)


def test_a_missing_vocabulary_is_stated() -> None:
    facts = facts_of({name: value for name, value in LLAMA.items() if name != "vocab_size"})
    assert facts.anatomy is None
    assert "vocab_size" in facts.unknown["vocabulary"]


def test_control_characters_do_not_survive_in_names() -> None:
    assert facts_of({**LLAMA, "architectures": ["Lla\x1b[31mma\x07"]}).architecture == "Llama"


def test_an_unknown_kind_of_layer_is_an_estimate_without_speed() -> None:
    known, strange = facts_of(LLAMA), facts_of({**LLAMA, "layer_types": ["full_attention", "quantum_flux"] * 16})
    assert "anatomy" not in known.unknown
    assert strange.anatomy is not None
    assert "quantum_flux" in strange.unknown["anatomy"]
    assert "speed" in strange.unknown
