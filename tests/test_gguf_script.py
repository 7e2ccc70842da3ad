"""``requirements/gguf_names.py``: what it reads in llama.cpp's sources, and what it writes."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tests.scripts import load
from wizard.catalog import profiles

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAMES = """
static const std::map<llm_arch, const char *> LLM_ARCH_NAMES = {
    { LLM_ARCH_CLIP,    "clip"      }, // dummy, only used by llama-quantize
    { LLM_ARCH_LLAMA,   "llama"     },
    {LLM_ARCH_BERT_MOE, "bert-moe"},
    { LLM_ARCH_UNKNOWN, "(unknown)" },
};
static const std::map<llm_tensor, const char *> LLM_TENSOR_NAMES = { { LLM_TENSOR_OUTPUT, "output" } };
"""
TYPES = """
        LLAMA_FTYPE_ALL_F32              = 0,
        LLAMA_FTYPE_MOSTLY_Q4_0          = 2,  // except 1d tensors
        // LLAMA_FTYPE_MOSTLY_Q4_2       = 5,  // support has been removed
        LLAMA_FTYPE_GUESSED = 1024, // not specified in the model file
"""
CONSTANTS = """
MODEL_ARCH_NAMES = {
    MODEL_ARCH.MMPROJ: "clip",
    MODEL_ARCH.LLAMA: "llama",
    MODEL_ARCH.PHI: "phi",
}
"""
CONVERTER = """
class TextModel: ...
class MmprojModel:
    model_arch = gguf.MODEL_ARCH.MMPROJ
@ModelBase.register("LlamaForCausalLM", "SeesForConditionalGeneration", "BothForCausalLM")
class Llama(TextModel):
    model_arch = gguf.MODEL_ARCH.LLAMA
@ModelBase.register("SeesForConditionalGeneration")
class Sees(MmprojModel): ...
@ModelBase.register("HeirForCausalLM")
@ModelBase.example("org/heir")
class Heir(Llama): ...
@Model.register("BothForCausalLM")
class Phi(TextModel):
    model_arch = gguf.MODEL_ARCH.PHI
"""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load("requirements/gguf_names.py")


def test_what_the_sources_name(script: ModuleType) -> None:
    read = script.named([NAMES, TYPES])
    assert (read.architectures, read.types) == ({"llama", "bert-moe"}, {"F32", "Q4_0"})


def test_what_the_converter_makes_of_a_class(script: ModuleType) -> None:
    assert script.converted([CONSTANTS, CONVERTER]) == {
        **dict.fromkeys(("LlamaForCausalLM", "SeesForConditionalGeneration", "HeirForCausalLM"), "llama")
    }


def test_the_table_is_written_again_below_its_comment(script: ModuleType) -> None:
    old = script.Read(frozenset({"a", "b"}), frozenset({"Q4_0"}))
    new = script.Read(frozenset({"b", "c"}), frozenset())
    models = {"BForCausalLM": "b", "D.E": "d"}
    text = script.table("# Why.\nabout = 'x'\nread = []\n", {"0.9": old, "0.10": new}, models)
    assert text.startswith('# Why.\nabout = \'x\'\nread = ["0.9", "0.10"]\n\n[architectures]\n')
    made = tomllib.loads(text)
    assert made["architectures"] == {"a": "0.9", "b": "0.9", "c": "0.10"}
    assert (made["types"], made["models"]) == ({"Q4_0": "0.9"}, {"BForCausalLM": "b"})
    assert made["last"] == {"a": "0.9", "Q4_0": "0.9"}
    assert script.table(text, {"0.9": old, "0.10": new}, {"BForCausalLM": "b"}) == text


def test_the_table_of_the_wizard_is_as_the_script_writes_it(script: ModuleType) -> None:
    text = profiles.find("releases/gguf.toml").read_text(encoding="utf-8")
    for title, values in tomllib.loads(text).items():
        if isinstance(values, dict):
            assert f"\n{script.toml(title, values)}\n" in text
            assert list(values) == sorted(values) or title == "last"
