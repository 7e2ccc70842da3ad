"""``requirements/architectures.py``: what it reads in the registries of the engines, and what it writes."""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from tests.scripts import load
from wizard.catalog import profiles

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load("requirements/architectures.py")


VLLM = b"""
_TEXT_GENERATION_MODELS = {
    "AForCausalLM": ("a", "AForCausalLM"),
    **{"BForCausalLM": ("b", "BForCausalLM")},
}
_EMBEDDING_MODELS = {"EmbedForCausalLM": ("e", "E")}
_MULTIMODAL_MODELS: dict[str, tuple[str, str]] = {"CForConditionalGeneration": ("c", "C"), "CModel": ("c", "C")}
_PREVIOUSLY_SUPPORTED_MODELS = {"OldForCausalLM": "0.1"}
"""
VLLM_0_0_1 = b"_MODEL_REGISTRY = {'GPT2LMHeadModel': GPT2LMHeadModel}"
SGLANG = b"""
class AForCausalLM: ...
class HelperForCausalLM: ...
EntryClass = [AForCausalLM, B]
"""
TRANSFORMERS = b"""
MODEL_FOR_CAUSAL_LM_MAPPING_NAMES = OrderedDict([("a", "AForCausalLM"), ("b", ("BForCausalLM", "B2ForCausalLM"))])
MODEL_FOR_MASKED_LM_MAPPING_NAMES = OrderedDict([("m", "MForCausalLM")])
MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES = OrderedDict([("c", "CForConditionalGeneration")])
MODEL_FOR_CAUSAL_LM_MAPPING = _LazyAutoMapping(CONFIG_MAPPING_NAMES, MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
"""
LLM_API = b"""
@register_auto_model("AForCausalLM")
@register_auto_model("BForCausalLM")
class A: ...
@other("CForCausalLM")
class C: ...
"""
VLLM_METHODS = b"""
QuantizationMethods = Literal["awq", "inc", "online"]
QUANTIZATION_METHODS: list[str] = list(get_args(QuantizationMethods))
method_to_config = {"fp8": Fp8Config}
"""
SGLANG_METHODS = b"""
BASE = {"gptq": GPTQConfig}
if is_cuda():
    BASE.update({"mxfp4": Mxfp4Config})
"""
TRTLLM = b"MODEL_MAP = {'AForCausalLM': LLaMAForCausalLM, 'AModel': B}"


@pytest.mark.parametrize(
    ("read", "text", "names"),
    [
        ("of_vllm", VLLM, {"AForCausalLM", "BForCausalLM", "CForConditionalGeneration"}),
        ("of_vllm", VLLM_0_0_1, {"GPT2LMHeadModel"}),
        ("of_sglang", SGLANG, {"AForCausalLM"}),
        (
            "of_transformers",
            TRANSFORMERS,
            {"AForCausalLM", "BForCausalLM", "B2ForCausalLM", "CForConditionalGeneration"},
        ),
        ("of_llm_api", LLM_API, {"AForCausalLM", "BForCausalLM"}),
        ("of_trtllm", TRTLLM, {"AForCausalLM"}),
        ("of_methods", VLLM_METHODS, {"awq", "auto-round", "fp8"}),
        ("of_methods", SGLANG_METHODS, {"gptq", "mxfp4"}),
    ],
)
def test_what_a_registry_names(script: ModuleType, read: str, text: bytes, names: set[str]) -> None:
    assert script.named(getattr(script, read), text) == names


ROWS = {"0.9": {"A"}, "0.10": {"A", "B"}, "0.11": {"B"}, "0.12": {"B", "A", "C"}}


@pytest.mark.parametrize(
    ("name", "span"), [("B", ("0.10", "")), ("C", ("0.12", "")), ("A", ("0.12", "")), ("D", ("none", ""))]
)
def test_the_newest_run_of_releases_counts(script: ModuleType, name: str, span: tuple[str, str]) -> None:
    assert script.span(name, ROWS) == span


def test_what_a_release_dropped_has_a_last_one(script: ModuleType) -> None:
    assert script.span("A", {"0.9": {"A"}, "0.10": {"A"}, "0.11": {"B"}}) == ("0.9", "0.10")


@pytest.mark.parametrize("kind", ["whl", "tar.gz"])
def test_only_the_files_of_the_registry_are_read(script: ModuleType, tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"engine-1.0.{kind}"
    members = {"engine/models/a.py": b"1", "engine/models/b.txt": b"2", "engine/other.py": b"3"}
    if kind == "whl":
        with zipfile.ZipFile(file, "w") as archive:
            for name, text in members.items():
                archive.writestr(name, text)
    else:
        with tarfile.open(file, "w:gz") as archive:
            for name, text in members.items():
                info = tarfile.TarInfo(f"engine-1.0/{name}")
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text))
    assert list(script.sources(file.as_uri(), file.stat().st_size, ("engine/models/*.py",))) == [b"1"]


TABLE = """# A comment.
about = "Models"
read = { vllm = "0.1" }

[[models]]
name = "AForCausalLM"
first = { vllm = "0.1", trtllm = "0.7.0", llm_api = "none" }
last = { vllm = "0.2" }
source = "vLLM models/registry.py; notes 0.7.0; matrix 1.0"

# More.
[[ropes]]
name = "llama3"
"""


def test_the_table_keeps_what_no_package_says(script: ModuleType) -> None:
    read = {
        "vllm": {"0.3": {"AForCausalLM", "BForCausalLM", "OnlyForCausalLM"}, "0.4": {"AForCausalLM"}},
        "sglang": {"0.5": {"BForCausalLM", "WhisperForConditionalGeneration"}},
        "transformers": {"5.0": {"AForCausalLM"}},
    }
    text = script.table(TABLE, read, ["GivenForCausalLM"])
    a, b, given = tomllib.loads(text)["models"]
    assert text.startswith(
        '# A comment.\nabout = "Models"\nread = { vllm = "0.4", sglang = "0.5", transformers = "5.0" }\n\n[[models]]\n'
    )
    assert text.endswith('\n\n# More.\n[[ropes]]\nname = "llama3"\n')
    assert a == {
        "name": "AForCausalLM",
        "first": {"vllm": "0.3", "sglang": "none", "transformers": "5.0", "trtllm": "0.7.0", "llm_api": "none"},
        "source": "vLLM models/registry.py, transformers modeling_auto.py; notes 0.7.0; matrix 1.0",
    }
    assert (b["first"], b["last"]) == ({"vllm": "0.3", "sglang": "0.5"}, {"vllm": "0.3"})
    assert (given["name"], given["first"]) == ("GivenForCausalLM", {"vllm": "none", "sglang": "none"})
    assert given["source"] == ", ".join(f"not in {each.source}" for each in script.ENGINES[:3])
    assert script.table(text, read) == text


def test_the_table_of_the_wizard_is_as_the_script_writes_it(script: ModuleType) -> None:
    """Written again with nothing read it is the same, so no entry was edited into another form."""
    text = profiles.find("releases/architectures.toml").read_text(encoding="utf-8")
    models = tomllib.loads(text)["models"]
    assert [model["name"] for model in models] == sorted(
        (model["name"] for model in models), key=lambda name: (name.lower(), name)
    )
    written = "\n\n".join(script.entry(model["name"], model, {}) for model in models)
    for model in models:
        assert f'name = "{model["name"]}"\nfirst = {script.inline(model["first"])}\n' in text
    assert written.count("[[models]]") == text.count("[[models]]") == len(models)


def test_methods_of_quantization_are_written_beside_the_models(script: ModuleType) -> None:
    text = TABLE.replace("# More.", '# Methods.\n[[methods]]\nname = "awq"\nsource = "by hand"\n\n# More.')
    read = {"vllm": {"0.27.1": {"awq", "bitsandbytes"}, "0.28.0": {"awq"}}}
    methods = {method["name"]: method for method in tomllib.loads(script.methods(text, read))["methods"]}
    assert set(methods) == set(script.NAMES)
    assert (methods["bitsandbytes"]["first"], methods["bitsandbytes"]["last"]) == (
        {"vllm": "0.27.1"},
        {"vllm": "0.27.1"},
    )
    assert methods["awq"]["source"] == "vLLM layers/quantization/__init__.py; by hand"


def test_the_newest_release_of_an_engine_without_packages_stays(script: ModuleType) -> None:
    text = TABLE.replace('read = { vllm = "0.1" }', 'read = { vllm = "0.1", llm_api = "1.2.1" }')
    assert 'read = { vllm = "0.2", llm_api = "1.2.1" }' in script.table(text, {"vllm": {"0.2": {"AForCausalLM"}}})
