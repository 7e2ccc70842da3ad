"""GGUF files of a model: which are a whole model, of which type, and which repository has them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.chain_model import write_chain_model
from tests.model.fake_hub import FakeHub, FakeRepo
from wizard import journey
from wizard.kernel.errors import ModelError
from wizard.model.facts import GgufFile
from wizard.model.gguf_files import as_file, choices, listed, of_catalog, preferred, type_of, whole
from wizard.model.refs import parse_ref
from wizard.model.source import find

NAMES = {
    "Q-8B-Q4_K_M.gguf": 5,
    "Q-8B-UD-Q4_K_M.gguf": 6,
    "Q-8B.Q8_0.gguf": 9,
    "Q-8B-IQ2_XS.gguf": 2,
    "q-8b-q6_k.gguf": 7,
    "UD-Q5_K_M/Q-8B-UD-Q5_K_M-00001-of-00003.gguf": 3,
    "mmproj-Q-8B-Q8_0.gguf": 1,
    "mtp-Q-8B-Q4_0.gguf": 1,
    "Q-8B.imatrix.gguf": 1,
    "config.json": 1,
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Q-8B-Q4_K_M.gguf", "Q4_K_M"),
        ("q-8b.q8_0.gguf", "Q8_0"),
        ("Q-UD-Q4_K_XL.gguf", "Q4_K_XL"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("Q-IQ2_XS.gguf", "IQ2_XS"),
        ("model.gguf", None),
        ("UD-Q5_K_M/Q-UD-Q5_K_M-00001-of-00003.gguf", "Q5_K_M"),
    ],
)
def test_a_type_is_what_a_name_ends_in(name: str, kind: str | None) -> None:
    assert type_of(name) == kind


def test_incomplete_files_projectors_and_draft_layers_are_no_models() -> None:
    assert sorted(str(type_of(name)) for name in whole(NAMES)) == ["IQ2_XS", "Q4_K_M", "Q4_K_M", "Q6_K", "Q8_0"]


def test_one_file_of_each_usual_type_is_listed_the_most_precise_first() -> None:
    assert listed("o/q", NAMES) == (
        GgufFile("o/q", "Q-8B.Q8_0.gguf", "Q8_0", 9),
        GgufFile("o/q", "q-8b-q6_k.gguf", "Q6_K", 7),
        GgufFile("o/q", "Q-8B-Q4_K_M.gguf", "Q4_K_M", 5),
    )


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["m-Q4_K_M.gguf", "m-Q8_0.gguf", "m-f16.gguf"], "m-Q8_0.gguf"),
        (["m.Q4_K_M.gguf", "m.Q2_K.gguf"], "m.Q4_K_M.gguf"),
        (["only.gguf"], "only.gguf"),
        (["a-q8_0-00001-of-00002.gguf", "a-q8_0-00002-of-00002.gguf"], "a-q8_0-00001-of-00002.gguf"),
        (["a-q8_0-00001-of-00002.gguf"], None),
        (["m-Q8_0.gguf", "mmproj-m-Q8_0.gguf"], "m-Q8_0.gguf"),
        (["a-Q2_K.gguf", "a-Q3_K_S.gguf"], None),
        ([], None),
    ],
)
def test_the_preferred_file(names: list[str], chosen: str | None) -> None:
    assert preferred(names) == chosen


def test_the_catalog_names_files_for_weights_and_for_their_own_repository() -> None:
    files = of_catalog("qwen/qwen3.6-27b")
    assert [file.type for file in files] == ["Q8_0", "Q4_K_M"]
    assert of_catalog(files[0].repo) == files
    assert of_catalog("org/unknown") == ()


def test_a_file_has_the_models_shape_and_an_estimated_size() -> None:
    facts = find("Qwen/Qwen3-8B", offline=True)
    (file,) = choices(facts)
    made = as_file(facts, file)
    assert made.quantization is not None
    assert (made.quantization.format, made.layers, made.ref) == ("gguf_q4_k_m", facts.layers, facts.ref)
    assert made.weight_bytes == pytest.approx(5.03e9, rel=0.01)  # 4.8944 bits for each of 8.19 B parameters
    assert made.stored is not None
    assert made.stored.total == pytest.approx(made.weight_bytes, rel=1e-6)
    exact = as_file(facts, replace(file, bytes=5_027_783_488))
    assert exact.weight_bytes == 5_027_783_488


@pytest.mark.parametrize("ref", ["Qwen/Qwen3-8B@abc", "Qwen/Qwen3-8B:x.gguf"])
def test_a_named_revision_or_file_is_not_replaced(ref: str) -> None:
    assert choices(replace(find("Qwen/Qwen3-8B", offline=True), ref=ref)) == ()


def test_a_reference_names_a_type() -> None:
    ref = parse_ref("org/name-GGUF:q4_k_m")
    assert (ref.repo, ref.type, ref.file, str(ref)) == ("org/name-GGUF", "Q4_K_M", None, "org/name-GGUF:Q4_K_M")


def test_a_type_of_a_known_model_is_that_of_its_gguf_repository() -> None:
    facts = find("hf.co/Qwen/Qwen3-8B:Q4_K_M", offline=True)
    assert (facts.location, facts.weights[0].name) == ("MaziyarPanahi/Qwen3-8B-GGUF", "Qwen3-8B.Q4_K_M.gguf")
    assert facts.ref == "MaziyarPanahi/Qwen3-8B-GGUF:Q4_K_M"
    bare = find("hf.co/MaziyarPanahi/Qwen3-8B-GGUF", offline=True)
    assert bare.gguf == of_catalog("Qwen/Qwen3-8B")
    with pytest.raises(ModelError) as caught:  # the catalog names no such file, and no hub may be asked
        find("Qwen/Qwen3-8B:Q6_K", offline=True)
    assert caught.value.code == "TW-M15"


@pytest.fixture
def weights(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_chain_model(tmp_path_factory.mktemp("w") / "chain.gguf").read_bytes()


def test_the_hub_has_the_file_of_a_type_or_says_which_it_has(weights: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeHub({"o/q-GGUF": FakeRepo({"q-Q4_K_M.gguf": weights, "q-Q8_0.gguf": weights})}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        facts = find("hf.co/o/q-GGUF:Q4_K_M")
        assert (facts.weights[0].name, facts.gguf) == ("q-Q4_K_M.gguf", ())
        both = find("o/q-GGUF")
        assert [file.type for file in both.gguf] == ["Q8_0", "Q4_K_M"]
        assert {file.bytes for file in both.gguf} == {len(weights)}
        with pytest.raises(ModelError, match="o/q-GGUF has no Q5_K_M file") as caught:
            find("o/q-GGUF:Q5_K_M")
    assert "o/q-GGUF:q-Q4_K_M.gguf" in caught.value.todo


def test_the_hub_knows_the_most_downloaded_gguf_version_of_a_model(
    weights: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = ["gguf", "base_model:quantized:Qwen/Qwen2.5-7B-Instruct"]
    repos = {
        "a/few-GGUF": FakeRepo({"q-Q4_K_M.gguf": weights}, {"tags": tags, "downloads": 1}),
        "b/many-GGUF": FakeRepo({"q-Q8_0.gguf": weights}, {"tags": tags, "downloads": 9}),
        "c/other-GGUF": FakeRepo({"q-Q8_0.gguf": weights}, {"tags": ["gguf"], "downloads": 99}),
    }
    facts = find("Qwen/Qwen2.5-7B-Instruct", offline=True)
    with FakeHub(repos) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        completed = journey.with_gguf(facts)
    assert completed.gguf == (GgufFile("b/many-GGUF", "q-Q8_0.gguf", "Q8_0", len(weights)),)
    assert choices(completed) == completed.gguf


@pytest.mark.parametrize("trouble", [404, 500, "silent"])
def test_without_an_answer_the_facts_stay(trouble: int | str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wizard.model.hub.search.DEADLINE", 0.2)
    facts = find("Qwen/Qwen2.5-7B-Instruct", offline=True)
    with FakeHub({}, trouble) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        assert journey.with_gguf(facts) == facts
