from __future__ import annotations

import contextlib
import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.gguf_bytes import LLAMA_CONFIG, TEMPLATE, folder, safetensors, tiny
from wizard.kernel.errors import ModelError, WizardError
from wizard.model import local
from wizard.model import safetensors as reader
from wizard.model.source import find

TENSORS: dict[str, Any] = {
    "__metadata__": {"format": "pt"},
    "a": {"dtype": "BF16", "shape": [10, 7], "data_offsets": [0, 140]},
    "b": {"dtype": "F32", "shape": [3], "data_offsets": [140, 152]},
    "empty": {"dtype": "F32", "shape": [0, 4], "data_offsets": [152, 152]},
}


def refusal(path: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        local.of_path(path, "x")
    return caught.value


@pytest.mark.parametrize("name", ["plain", "with space", "a;b$(x)'q\"", "ü,=:%"])
def test_a_relative_folder_leads_to_the_model_from_anywhere(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = folder(tmp_path / name, model__safetensors=safetensors(TENSORS))
    monkeypatch.chdir(tmp_path)
    for ref in (f"./{name}", f"./{name}///", f"./{name}/.", f"../{tmp_path.name}/{name}"):
        facts = find(ref)
        assert Path(facts.location).is_absolute()
        assert Path(facts.location).resolve() == made


def test_a_folder_with_one_weight_file(tmp_path: Path) -> None:
    made = folder(tmp_path / "my-model", model__safetensors=safetensors(TENSORS), README__md="---\nlicense: mit\n---\n")
    facts = local.of_path(made, "./my-model")
    assert (facts.ref, facts.source, facts.location, facts.name) == ("./my-model", "folder", str(made), "my-model")
    assert (facts.parameters, facts.weight_bytes, facts.dtype, facts.local) == (73, 152, "bfloat16", True)
    assert (facts.licence, facts.layers) == ("mit", 2)
    assert [(w.name, w.format) for w in facts.weights] == [("model.safetensors", "safetensors")]


def test_a_folder_without_weights(tmp_path: Path) -> None:
    facts = local.of_path(folder(tmp_path / "m"), "x")
    assert (facts.local, facts.weights, facts.weight_bytes) == (False, (), None)
    assert facts.parameters == 100 * 64 + 64 + 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128 + 2 * 64)
    assert "weights" in facts.unknown["weight_bytes"]
    assert "template" in facts.unknown["chat"]


def test_packed_weights_do_not_pass_as_parameters(tmp_path: Path) -> None:
    config = {**LLAMA_CONFIG, "quantization_config": {"quant_method": "awq", "bits": 4}}
    packed = {"a": {"dtype": "I32", "shape": [5], "data_offsets": [0, 20]}}
    facts = local.of_path(folder(tmp_path / "m", config, model__safetensors=safetensors(packed)), "x")
    assert facts.parameters is not None
    assert facts.parameters > 5
    assert facts.weight_bytes == 20


def test_modelopts_file_beside_the_config(tmp_path: Path) -> None:
    made = folder(tmp_path / "m", hf_quant_config__json={"quantization": {"quant_algo": "FP8"}})
    quantization = local.of_path(made, "x").quantization
    assert quantization is not None
    assert (quantization.method, quantization.bits) == ("modelopt", 8.0)


def sharded(where: Path, *names: str) -> Path:
    index = {"weight_map": {f"t{i}": name for i, name in enumerate(names)}}
    made = folder(where, model__safetensors__index__json=index)
    (made / "consolidated.safetensors").write_bytes(safetensors(TENSORS))
    return made


def test_shards_are_added_up_and_second_copies_left_out(tmp_path: Path) -> None:
    names = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
    made = sharded(tmp_path / "m", *names)
    for name in names:
        (made / name).write_bytes(safetensors(TENSORS))
    facts = local.of_path(made, "x")
    assert (facts.parameters, facts.weight_bytes) == (146, 304)
    assert [w.name for w in facts.weights] == list(names)


def test_missing_shards_are_named_as_tw_m08(tmp_path: Path) -> None:
    made = sharded(tmp_path / "m", *(f"model-{i:05}-of-00005.safetensors" for i in range(1, 6)))
    (made / "model-00001-of-00005.safetensors").write_bytes(safetensors(TENSORS))
    error = refusal(made)
    assert error.code == "TW-M08"
    assert "4 of 5" in error.what
    assert "model-00002-of-00005.safetensors" in error.what
    assert "download again" in error.todo


@pytest.mark.parametrize(
    "weight_map", [None, [], {}, {"a": 1}, {"a": "../x.safetensors"}, {"a": "/etc/passwd"}, {"a": "a." * 200}]
)
def test_an_index_that_names_no_files_beside_it(tmp_path: Path, weight_map: object) -> None:
    made = folder(tmp_path / "m", model__safetensors__index__json={"weight_map": weight_map})
    assert refusal(made).code == "TW-M07"


def test_a_safetensors_file_cut_at_any_byte_is_damaged(tmp_path: Path) -> None:
    raw = safetensors(TENSORS)
    path = folder(tmp_path / "m", model__safetensors=raw) / "model.safetensors"
    assert sum(tensor.bytes for tensor in reader.read(path)) == 152
    for length in range(len(raw)):
        path.write_bytes(raw[:length])
        error = refusal(path.parent)
        assert error.code == "TW-M07", length
        assert "truncated" in error.what
        assert "download it again" in error.todo


def tensor(**changes: object) -> bytes:
    return safetensors({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4], **changes}}, body=4)


@pytest.mark.parametrize(
    "raw",
    [
        struct.pack("<Q", 100_000_001) + bytes(100),
        struct.pack("<Q", 1 << 63) + bytes(100),
        struct.pack("<Q", 4) + b"oops",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 20) + b'{"a": 1, "a": 2}    ',
        safetensors({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}, body=5),
        safetensors(
            {
                "a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]},
                "b": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]},
            }
        ),
        safetensors({"a": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]}}),
        tensor(shape=[5]),
        tensor(shape=[-4]),
        tensor(shape="4"),
        tensor(shape=[1.5]),
        tensor(dtype=3),
        tensor(data_offsets=[0]),
        safetensors({"a": {"dtype": "U8", "shape": [1] * 40, "data_offsets": [0, 1]}}),
        safetensors({"a": {"dtype": "U8", "shape": [0], "data_offsets": [4, 0]}}, body=4),
    ],
    ids=range(16),
)
def test_headers_that_cannot_be_true(tmp_path: Path, raw: bytes) -> None:
    path = folder(tmp_path / "m", model__safetensors=raw)
    assert refusal(path).code == "TW-M07"


def test_a_dtype_from_the_future_is_taken_at_its_word(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes(tensor(dtype="F2_NEW", shape=[16]))
    assert reader.elements(reader.read(path)) == {"F2_NEW": 16}


@given(st.binary(max_size=300), st.integers(0, 250), st.booleans())
def test_any_bytes_give_facts_or_a_wizard_error(tmp_path: Path, noise: bytes, at: int, whole: bool) -> None:
    raw = bytearray(safetensors(TENSORS))
    raw[at : at + len(noise)] = noise
    made = folder(tmp_path / "m", model__safetensors=noise if whole else bytes(raw))
    with contextlib.suppress(WizardError):
        local.of_path(made, "x")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "consolidated.00.pth", "model.pt", "weights.ckpt"])
@pytest.mark.parametrize("with_config", [True, False])
def test_pickle_only_is_refused_as_tw_m06(tmp_path: Path, name: str, with_config: bool) -> None:
    made = folder(tmp_path / "m")
    (made / name).write_bytes(b"\x80\x04.")
    if not with_config:
        (made / "config.json").unlink()
    error = refusal(made)
    assert error.code == "TW-M06"
    assert "pickle" in error.what
    assert refusal(made / name).code == "TW-M06"


def test_a_trainers_leftover_is_no_weight_file(tmp_path: Path) -> None:
    assert local.of_path(folder(tmp_path / "m", training_args__bin=b"\x80"), "x").weights == ()


def test_an_adapter_without_its_model_is_refused_by_name(tmp_path: Path) -> None:
    base = "meta-llama/Llama-3.1-8B-Instruct"
    (tmp_path / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "base_model_name_or_path": base}))
    (tmp_path / "adapter_model.bin").write_bytes(b"pickle")
    error = refusal(tmp_path)
    assert (error.code, error.what) == ("TW-M03", f"{tmp_path} contains an adapter (LoRA) for {base}, not a model")
    assert "merge_and_unload" in error.todo


def test_an_empty_folder_and_other_files_are_tw_m03(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    assert refusal(tmp_path).code == "TW-M03"
    assert "config.json" in refusal(tmp_path).what
    assert refusal(tmp_path / "notes.txt").code == "TW-M03"


def test_several_gguf_files_want_to_be_named(tmp_path: Path) -> None:
    for name in ("a-Q2_K.gguf", "a-Q3_K_S.gguf"):
        (tmp_path / name).write_bytes(tiny().bytes())
    assert "a-Q2_K.gguf" in refusal(tmp_path).todo
    (tmp_path / "a-Q8_0.gguf").write_bytes(tiny().bytes())
    assert local.of_path(tmp_path, "x").location == str(tmp_path / "a-Q8_0.gguf")


def test_a_name_longer_than_names_can_be_is_tw_m17(tmp_path: Path) -> None:
    assert refusal(tmp_path / ("x" * 5000)).code in ("TW-M02", "TW-M17")


def test_what_the_system_does_not_let_us_read_is_tw_m17(tmp_path: Path) -> None:
    if os.geteuid() == 0:  # rights do not bind root; a loop of links does
        made = folder(tmp_path / "m")
        (made / "config.json").unlink()
        (made / "config.json").symlink_to(made / "config.json")
        (tmp_path / "loop.gguf").symlink_to(tmp_path / "loop.gguf")
        with pytest.raises(ModelError) as caught:
            local.of_gguf(tmp_path / "loop.gguf", "x")
    else:
        (tmp_path / "a.gguf").write_bytes(tiny().bytes())
        (tmp_path / "a.gguf").chmod(0)
        with pytest.raises(ModelError) as caught:
            local.of_gguf(tmp_path / "a.gguf", "x")
    assert caught.value.code == "TW-M17"


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        ("---\nlicense: apache-2.0\n---\n# x", "apache-2.0"),
        ("---\nlanguage: en\nlicense: 'mit'\n---\n", "mit"),
        ("---\nlicense: other\nlicense_name: llama3.1\n---\n", "llama3.1"),
        ("---\nlicense: other\n---\n", "other"),
        ("# no front matter\nlicense: mit\n", None),
        ("---\nlicense: \x1b[31mmit\n---\n", "mit"),
        ("", None),
    ],
)
def test_the_cards_licence(card: str, licence: str | None) -> None:
    assert local.card_licence(card) == licence


# --- chat formats --------------------------------------------------------------------------------------------------


def chat_of(where: Path, **files: Any) -> Any:
    return local.of_path(folder(where, **files), "x").chat


def test_the_template_of_tokenizer_config(tmp_path: Path) -> None:
    settings_file = {
        "chat_template": TEMPLATE,
        "bos_token": {"content": "<s>", "lstrip": False},
        "eos_token": "</s>",
        "added_tokens_decoder": {"7": {"content": "<|eot|>"}, "8": {"content": 3}},
    }
    generation = {"eos_token_id": [2, 7, 8, 9, "x", None]}
    chat = chat_of(tmp_path / "m", tokenizer_config__json=settings_file, generation_config__json=generation)
    assert (chat.template, chat.bos_token, chat.eos_token) == (TEMPLATE, "<s>", "</s>")
    assert chat.stop == ("</s>", "<|eot|>")


def test_a_template_in_a_file_of_its_own_wins(tmp_path: Path) -> None:
    chat = chat_of(
        tmp_path / "m",
        tokenizer_config__json={"chat_template": "old"},
        chat_template__jinja="new é",
        special_tokens_map__json={"eos_token": "</s>", "bos_token": None},
    )
    assert (chat.template, chat.eos_token, chat.bos_token) == ("new é", "</s>", None)


@pytest.mark.parametrize(
    ("templates", "chosen"),
    [
        ([{"name": "tool", "template": "t"}, {"name": "default", "template": "d"}], "d"),
        ([{"name": "tool", "template": "t"}], "t"),
        ([{"name": ["default"], "template": "d"}, 3, {"name": "rag"}], None),
        ([], None),
        ({"a": 1}, None),
        ("", None),
        (7, None),
    ],
)
def test_named_templates(tmp_path: Path, templates: object, chosen: str | None) -> None:
    chat = chat_of(tmp_path / "m", tokenizer_config__json={"chat_template": templates})
    assert (chat.template if chat else None) == chosen


def test_a_damaged_tokenizer_config_is_an_error(tmp_path: Path) -> None:
    assert refusal(folder(tmp_path / "m", tokenizer_config__json=b"{")).code == "TW-M04"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["chat_template", "bos_token", "eos_token", "added_tokens_decoder", "eos_token_id"])


@given(st.dictionaries(NAMES, JSON, max_size=4), st.dictionaries(NAMES, JSON, max_size=2))
def test_any_tokenizer_config_gives_facts(
    tmp_path: Path, tokenizer: dict[str, Any], generation: dict[str, Any]
) -> None:
    made = folder(
        tmp_path / "m",
        tokenizer_config__json=json.dumps({"chat_template": "t", **tokenizer}),
        generation_config__json=json.dumps(generation),
    )
    chat = local.of_path(made, "x").chat
    assert chat is None or all(isinstance(text, str) for text in (chat.template, *chat.stop))
