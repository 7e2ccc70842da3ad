"""What a model is that does not chat, by its config and the files beside it; and that every chat model is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.model.gguf_bytes import LLAMA_CONFIG, folder
from wizard.kernel.values import from_json, to_json
from wizard.model import local
from wizard.model.facts import ModelFacts
from wizard.model.report import text
from wizard.model.task import Task, of_config, of_gguf

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = json.loads((ROOT / "tests" / "model" / "configs" / "public.json").read_text())
SHIPPED = {path.stem: json.loads(path.read_text())["config"] for path in (ROOT / "profiles" / "configs").glob("*.json")}
CHAT = {name: case["config"] for name, case in PUBLIC.items()} | SHIPPED
POOLING = json.dumps([{"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])


@pytest.mark.parametrize("name", sorted(CHAT))
def test_chat_models_have_no_other_task(name: str) -> None:
    assert of_config(CHAT[name]) is None


@pytest.mark.parametrize(
    "name",
    [
        "ChatGLMModel",
        "InternVLChatModel",
        "DreamModel",
        "NVLM_D_Model",
        "LlavaForConditionalGeneration",
        "BertLMHeadModel",
    ],
)
def test_names_that_look_like_others_are_chat_models(name: str) -> None:
    assert of_config({"architectures": [name], "model_type": "bert" if name.startswith("Bert") else "other"}) is None


@pytest.mark.parametrize(
    ("architecture", "more", "task"),
    [
        ("BertModel", {"model_type": "bert"}, "embedding"),
        ("BertForMaskedLM", {"model_type": "bert"}, "encoder"),
        ("MistralModel", {"model_type": "mistral"}, "embedding"),
        ("Qwen3Model", {"model_type": "qwen3"}, "embedding"),
        ("T5EncoderModel", {"model_type": "t5", "is_encoder_decoder": True}, "embedding"),
        ("XLMRobertaForSequenceClassification", {"id2label": {"0": "LABEL_0"}}, "score"),
        ("XLMRobertaForSequenceClassification", {"model_type": "xlm-roberta"}, "classification"),
        ("Qwen3ForSequenceClassification", {"model_type": "qwen3", "num_labels": 1}, "score"),
        ("BertForTokenClassification", {"id2label": {"0": "X"}}, "classification"),
        ("Qwen2ForRewardModel", {"model_type": "qwen2"}, "reward"),
        ("Qwen2ForProcessRewardModel", {"model_type": "qwen2"}, "reward"),
        ("JinaVLForRanking", {"model_type": "qwen2_vl"}, "reranker"),
        ("T5ForConditionalGeneration", {"model_type": "t5"}, "encoder-decoder"),
        ("OtherForConditionalGeneration", {"is_encoder_decoder": True}, "encoder-decoder"),
        ("WhisperForConditionalGeneration", {"model_type": "whisper", "is_encoder_decoder": True}, "speech"),
        ("Wav2Vec2ForCTC", {"model_type": "wav2vec2"}, "speech"),
        ("", {"_class_name": "UNet2DConditionModel", "_diffusers_version": "0.30.0"}, "diffusion"),
        ("", {"model_type": "bert"}, "encoder"),
    ],
)
def test_the_task_of_a_config(architecture: str, more: dict[str, Any], task: Task, tmp_path: Path) -> None:
    facts = local.of_path(folder(tmp_path / "m", {"architectures": [architecture], **more}), "m")
    assert facts.task == task
    assert from_json(ModelFacts, to_json(facts), where="facts") == facts
    assert "task  " in text(facts)
    assert "\nchat " not in text(facts)


@pytest.mark.parametrize("strange", [None, 5, {"a": 1}, [], [[1]], [None], "\x1b[31m"])
def test_strange_values_are_no_task(strange: object) -> None:
    assert of_config({"architectures": strange, "model_type": strange, "is_encoder_decoder": strange}) is None


def test_sentence_transformers_makes_a_chat_model_an_embedding_model(tmp_path: Path) -> None:
    assert local.of_path(folder(tmp_path / "a", LLAMA_CONFIG, modules__json=POOLING), "a").task == "embedding"
    assert local.of_path(folder(tmp_path / "b", LLAMA_CONFIG, modules__json="[]"), "b").task is None
    (pooling := folder(tmp_path / "c", LLAMA_CONFIG) / "1_Pooling").mkdir()
    (pooling / "config.json").write_text("{}")
    assert local.of_path(tmp_path / "c", "c").task == "embedding"


def test_sentence_transformers_names_a_reranker(tmp_path: Path) -> None:
    settings = {"config_sentence_transformers__json": {"model_type": "CrossEncoder"}, "modules__json": POOLING}
    assert local.of_path(folder(tmp_path / "m", LLAMA_CONFIG, **settings), "m").task == "reranker"


def test_a_pipeline_of_diffusers_without_and_with_a_config(tmp_path: Path) -> None:
    where = folder(tmp_path / "m", {}, model_index__json={"_class_name": "StableDiffusionPipeline"})
    assert local.of_path(where, "m").task == "diffusion"
    (where / "config.json").unlink()
    facts = local.of_path(where, "m")
    assert (facts.task, facts.local) == ("diffusion", False)


def test_pickled_weights_do_not_hide_the_task(tmp_path: Path) -> None:
    config = {"architectures": ["BertModel"], "model_type": "bert"}
    assert local.of_path(folder(tmp_path / "m", config, **{"pytorch_model__bin": b""}), "m").task == "embedding"


@pytest.mark.parametrize(
    ("metadata", "architecture", "task"),
    [
        ({"qwen3.pooling_type": 3}, "qwen3", "embedding"),
        ({"qwen3.pooling_type": 4}, "qwen3", "reranker"),
        ({"qwen3.pooling_type": 0}, "qwen3", None),
        ({"qwen3.pooling_type": "mean"}, "qwen3", None),
        ({}, "bert", "embedding"),
        ({}, "llama", None),
        ({}, None, None),
    ],
)
def test_the_task_in_a_gguf_header(metadata: dict[str, Any], architecture: str | None, task: str | None) -> None:
    assert of_gguf(metadata, architecture) == task
