"""``requirements/config_library.py``: what it reads in packages, and what it writes."""

from __future__ import annotations

import ast
import sys
from types import ModuleType

import pytest

from tests.scripts import load

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

METADATA = """Metadata-Version: 2.4
Requires-Dist: transformers-neuronx==1.0
Requires-Dist: transformers (<5,>=4.56.0); extra == "all"
"""
REGISTRY = """
_CONFIG_REGISTRY: dict[str, type] = LazyConfigDict(a="AConfig", b_text="BConfig")
"""
OLD_REGISTRY = """
_CONFIG_REGISTRY = {"a": AConfig, **_MORE}
"""
CLASSES = """
class C:
    model_type = "c"
"""
MAPPING = """
MODEL_FOR_CAUSAL_LM_MAPPING_NAMES = OrderedDict([("a", "AForCausalLM"), ("b", ("BForCausalLM", "AForCausalLM"))])
"""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load("requirements/config_library.py")


@pytest.mark.parametrize(("text", "types"), [(REGISTRY, {"a", "b_text"}), (OLD_REGISTRY, {"a"}), (CLASSES, {"c"})])
def test_what_an_engine_registers(script: ModuleType, text: str, types: set[str]) -> None:
    assert set(script.registered(ast.parse(text))) == types


def test_a_release_states_its_requirement(script: ModuleType) -> None:
    assert script.read([METADATA, REGISTRY]) == script.Read("<5,>=4.56.0", frozenset({"a", "b_text"}))
    assert script.read(["Metadata-Version: 2.4\n"]).requires == ""


def test_the_types_of_a_class(script: ModuleType) -> None:
    assert script.types_of([MAPPING]) == {"AForCausalLM": {"a", "b"}, "BForCausalLM": {"b"}}


def test_the_table_is_written_again_below_its_comment(script: ModuleType) -> None:
    rows = {
        "0.1": script.Read(">=4", frozenset()),
        "0.2": script.Read(">=4", frozenset({"a"})),
        "0.3": script.Read("<6,>=5", frozenset({"c"})),
    }
    types = {"AForCausalLM": {"a", "b"}, "CForCausalLM": {"c"}}
    text = script.table("# Why.\nabout = 'x'\n", {"vllm": rows}, ["AForCausalLM", "CForCausalLM", "D"], types)
    assert tomllib.loads(text) == {
        "about": "x",
        "ranges": {"vllm": {"0.1": ">=4", "0.3": "<6,>=5"}},
        "own": {"vllm": {"AForCausalLM": ["0.2", "0.2"], "CForCausalLM": ["0.3", ""]}},
    }
    assert script.table(text, {"vllm": rows}, ["AForCausalLM", "CForCausalLM"], types) == text
