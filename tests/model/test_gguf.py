from __future__ import annotations

import contextlib
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.gguf_bytes import ARRAY, F32_TENSOR, I32, STRING, TEMPLATE, U32, U64, Gguf, text, tiny
from wizard.kernel.errors import ModelError, WizardError
from wizard.model import gguf, local


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tiny.gguf"


def refusal(path: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        local.of_path(path, "x")
    return caught.value


def test_facts_of_a_small_file(path: Path) -> None:
    path.write_bytes(tiny().bytes())
    facts = local.of_path(path, "./tiny.gguf")
    assert (facts.ref, facts.source, facts.location, facts.name) == ("./tiny.gguf", "gguf", str(path), "Tiny")
    assert (facts.architecture, facts.layers, facts.hidden_size, facts.heads) == ("llama", 2, 64, 4)
    assert (facts.kv_heads, facts.head_dim, facts.intermediate_size, facts.vocabulary) == (2, 16, 128, 4)
    assert (facts.max_context, facts.experts, facts.licence, facts.local) == (512, None, "apache-2.0", True)
    assert (facts.parameters, facts.weight_bytes, facts.dtype) == (64 * 4 + 64, 272 + 256, "Q8_0")
    assert facts.quantization is not None
    assert (facts.quantization.method, facts.quantization.bits, facts.quantization.detail) == ("gguf", 13.2, "Q8_0")
    assert facts.chat is not None
    assert (facts.chat.template, facts.chat.bos_token, facts.chat.eos_token) == (TEMPLATE, "<s>", "</s>")
    assert facts.chat.stop == ("</s>", "<|im_end|>")
    assert [(w.name, w.bytes, w.format) for w in facts.weights] == [("tiny.gguf", path.stat().st_size, "gguf")]
    assert facts.unknown == {}


@pytest.mark.parametrize(("number", "name"), [(0, "F32"), (1, "F16"), (7, "Q8_0"), (15, "Q4_K_M"), (17, "Q5_K_M")])
def test_file_type_has_llama_cpps_name(path: Path, number: int, name: str) -> None:
    path.write_bytes(tiny(general__file_type=(U32, number)).bytes())
    facts = local.of_path(path, "x")
    assert facts.dtype == name
    assert (facts.quantization is None) == (name in ("F32", "F16"))


def test_without_a_file_type_the_main_type_counts(path: Path) -> None:
    path.write_bytes(tiny(general__file_type=None).bytes())
    assert gguf.read(path).file_type == "Q8_0"


def test_heads_for_each_layer_give_the_largest(path: Path) -> None:
    path.write_bytes(tiny(llama__attention__head_count_kv=(ARRAY, (I32, [2, 0, 1]))).bytes())
    assert local.of_path(path, "x").kv_heads == 2


def test_what_the_header_does_not_say_is_unknown_with_a_reason(path: Path) -> None:
    path.write_bytes(tiny(llama__context_length=None, tokenizer__chat_template=None).bytes())
    facts = local.of_path(path, "x")
    assert facts.max_context is None
    assert "context_length" in facts.unknown["max_context"]
    assert facts.chat is None
    assert "template" in facts.unknown["chat"]


def test_missing_kv_heads_and_head_dim_are_derived(path: Path) -> None:
    path.write_bytes(tiny(llama__attention__head_count_kv=None, llama__attention__key_length=None).bytes())
    facts = local.of_path(path, "x")
    assert (facts.kv_heads, facts.head_dim) == (4, 16)


def test_a_tensor_type_from_the_future_leaves_the_bytes_unknown(path: Path) -> None:
    file = tiny()
    file.tensors["new"] = ((8,), 250, 8)
    path.write_bytes(file.bytes())
    header = gguf.read(path)
    assert header.parameters == 64 * 4 + 64 + 8
    assert header.weight_bytes is None


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"PK\x03\x04" + bytes(60), "does not start with GGUF"),
        (Gguf(version=1).bytes(), "version is 1"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
        (tiny(general__type=(STRING, "adapter")).bytes(), "adapter"),
        (tiny(split__count=(U32, 3)).bytes(), "-00001-of-00003.gguf"),
        (tiny(general__alignment=(U32, 0)).bytes(), "alignment"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "no tensors"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + b"\x4d\0\0\0" + bytes(9), "type 77"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 40) + bytes(40), "too long"),
    ],
)  # fmt: skip
def test_no_usable_model_is_refused_as_tw_m09(path: Path, raw: bytes, why: str) -> None:
    path.write_bytes(raw)
    error = refusal(path)
    assert error.code == "TW-M09"
    assert why in error.what


def test_overlapping_tensors_are_refused(path: Path) -> None:
    file = tiny()
    raw = bytearray(file.bytes())
    at = file.header().rindex(struct.pack("<IQ", F32_TENSOR, 288))
    raw[at + 4 : at + 12] = struct.pack("<Q", 32)
    path.write_bytes(raw)
    assert "overlap" in refusal(path).what


@pytest.mark.parametrize(
    "change",
    [
        {"llama__block_count": (I32, -1)},
        {"llama__block_count": (U64, 10**6)},
        {"llama__block_count": (STRING, "two")},
        {"llama__embedding_length": (ARRAY, (I32, []))},
    ],
)
def test_numbers_that_cannot_be_are_refused_as_tw_m05(path: Path, change: dict[str, tuple[int, object]]) -> None:
    path.write_bytes(tiny(**change).bytes())
    assert refusal(path).code == "TW-M05"


def test_a_file_cut_at_any_byte_is_truncated(path: Path) -> None:
    raw = tiny().bytes()
    path.write_bytes(raw)
    assert gguf.read(path).parameters == 320
    for length in range(len(raw)):
        path.write_bytes(raw[:length])
        error = refusal(path)
        assert error.code == "TW-M10", length
        assert "download it again" in error.todo


@pytest.mark.parametrize("count", [1 << 20, 1 << 63])
@pytest.mark.parametrize("place", [8, 16])
def test_absurd_counts_end_at_once(path: Path, place: int, count: int) -> None:
    raw = bytearray(tiny().bytes())
    raw[place : place + 8] = struct.pack("<Q", count)
    path.write_bytes(raw)
    assert refusal(path).code in ("TW-M09", "TW-M10")


def test_lists_that_nobody_needs_are_refused_even_in_a_huge_file() -> None:
    pair = text("tokenizer.ggml.merges") + struct.pack("<IIQ", ARRAY, STRING, 1 << 30)
    raw = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + pair + bytes(8000)
    with pytest.raises(ModelError, match="too many entries: 1073741824"):
        gguf.parse_beginning(raw, 1 << 42, "remote")


def test_the_beginning_of_a_remote_file_has_the_shape() -> None:
    file = tiny()
    raw = file.bytes()
    cut = raw.index(b"tokenizer.ggml.scores")
    header = gguf.parse_beginning(raw[:cut], len(raw), "remote")
    assert header.metadata["llama.block_count"] == 2
    assert (header.vocabulary, header.parameters, header.file_type) == (4, None, "Q8_0")
    assert gguf.parse_beginning(raw[: len(file.header())], len(raw), "remote").parameters == 320


@given(
    st.one_of(
        st.binary(max_size=400),
        st.tuples(st.integers(0, 1200), st.binary(min_size=1, max_size=12)),
    )
)
def test_any_bytes_give_facts_or_a_wizard_error(path: Path, noise: bytes | tuple[int, bytes]) -> None:
    if isinstance(noise, bytes):
        raw = b"GGUF\x03\0\0\0" + noise
    else:
        at, change = noise
        whole = tiny().bytes()
        raw = whole[:at] + change + whole[at + len(change) :]
    path.write_bytes(raw)
    with contextlib.suppress(WizardError):
        local.of_path(path, "x")


def test_questions_and_gate_beside_the_file(path: Path) -> None:
    path.write_bytes(tiny().bytes())
    (path.parent / "questions.json").write_text('["What is Triton?", "What is vLLM?"]')
    (path.parent / "gate.json").write_text('{"min_token_probability": 0.8, "refusal": "I do not know."}')
    facts = local.of_path(path, "x")
    assert facts.questions == ("What is Triton?", "What is vLLM?")
    assert facts.gate is not None
    assert (facts.gate.min_token_probability, facts.gate.refusal) == (0.8, "I do not know.")


@pytest.mark.parametrize(("name", "raw"), [("questions.json", "{"), ("questions.json", "[1]"), ("gate.json", "{}")])
def test_a_damaged_file_beside_it_is_an_error(path: Path, name: str, raw: str) -> None:
    path.write_bytes(tiny().bytes())
    (path.parent / name).write_text(raw)
    with pytest.raises(WizardError) as caught:
        local.of_path(path, "x")
    assert caught.value.code in ("TW-K01", "TW-K02")
    assert name in caught.value.what
