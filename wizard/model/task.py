"""What a model does instead of writing text: embed, rerank, classify, transcribe, draw. Pure, but for `of_folder`.

Names of classes: ``transformers`` (``models/auto/modeling_auto.py``) and the patterns of vLLM's pooling runner (vLLM
documentation, "Pooling Models": ``*ForTextEncoding``, ``*EmbeddingModel``, ``*For*Classification``, ``*RewardModel``).
vLLM also takes any ``*Model`` for an embedding model; here only those of known families are, because chat models have
such names, too (``ChatGLMModel``, ``InternVLChatModel``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from wizard.kernel.language import mark
from wizard.model.untrusted import label, optional_object, read_bytes

Task = Literal[
    "embedding", "reranker", "score", "classification", "reward", "encoder", "encoder-decoder", "speech", "diffusion"
]

TITLES: dict[Task, str] = {
    "embedding": mark("an embedding model, which turns text into vectors"),
    "reranker": mark("a reranker, which scores how well a document matches a query"),
    "score": mark("a scoring model (a reranker or a reward model), which returns one number"),
    "classification": mark("a classification model, which returns labels"),
    "reward": mark("a reward model, which scores answers"),
    "encoder": mark("an encoder like BERT, which does not generate text"),
    "encoder-decoder": mark("an encoder-decoder model like T5 or BART"),
    "speech": mark("a speech recognition model, which turns audio into text"),
    "diffusion": mark("a diffusion model, which generates images, video or audio"),
}
"""What such a model is, in words."""

FILES = ("modules.json", "config_sentence_transformers.json")
"""Small files of Sentence Transformers beside config.json (sbert.net, "Creating Custom Models")."""
PIPELINE = "model_index.json"
"""The file that describes a diffusers pipeline, which has no config.json of its own."""

_SPEECH = re.compile(r"Whisper\w*ForConditionalGeneration|\w*(?:ForSpeechSeq2Seq|ForCTC)")
_REWARD = re.compile(r"\w*(?:RewardModel|ForRewardModeling)")
_CLASSIFIER = re.compile(r"\w*(?:For\w*Classification|ClassificationModel)")
_RANKER = re.compile(r"\w*ForRanking")
_EMBEDDER = re.compile(
    r"\w*(?:ForTextEncoding|EmbeddingModel|EmbedModel|EncoderModel|BidirectionalModel|ForRetrieval|ForEmbedding)"
    r"|(?:Llama|Mistral|Qwen2|Qwen3|Gemma2|Gemma3Text)Model"
)
_MASKED = re.compile(r"\w*ForMaskedLM")
_GENERATOR = re.compile(r"\w*(?:ForCausalLM|LMHeadModel)")
_ENCODERS = (
    *("albert", "bert", "camembert", "clip", "deberta", "deberta-v2", "distilbert", "electra", "eurobert"),
    *("longformer", "modernbert", "mpnet", "new", "nomic_bert", "roberta", "siglip", "xlm-roberta", "xlm-roberta-xl"),
)
"""``model_type`` of encoders; ``new`` is Alibaba's GTE."""
_GGUF_ENCODERS = ("bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3")
_ENCODER_DECODERS = (
    *("bart", "led", "longt5", "m2m_100", "marian", "mbart", "mt5", "pegasus", "t5", "t5gemma", "umt5"),
)


def of_config(config: Mapping[str, Any]) -> Task | None:
    """The task that config.json implies; None for a model that generates text.

    Args:
        config: The config's JSON object, of ``transformers`` or ``diffusers``.
    """
    names = config.get("architectures")
    name = label(names[0] if isinstance(names, list) and names else names) or ""
    kind = label(config.get("model_type")) or ""
    if "_diffusers_version" in config:
        return "diffusion"
    if _CLASSIFIER.fullmatch(name):
        return "score" if _scores(config) and not name.endswith("ForTokenClassification") else "classification"
    if named := next((task for pattern, task in _BY_NAME if pattern.fullmatch(name)), None):
        return named
    return None if _GENERATOR.fullmatch(name) else _of_type(kind, name, config)


def _of_type(kind: str, name: str, config: Mapping[str, Any]) -> Task | None:
    """The task of a model of the type ``kind``, whose class ``name`` does not tell."""
    if kind == "whisper":
        return "speech"
    if config.get("is_encoder_decoder") is True or kind in _ENCODER_DECODERS:
        return "encoder-decoder"
    if kind in _ENCODERS:
        return "embedding" if name.endswith("Model") else "encoder"
    return None


def named_reranker(name: str) -> bool:
    """Whether ``name`` is that of a reranker. Weak: some of them score with the probability of a word that a model for
    text writes (Qwen3-Reranker: "yes" or "no"), so that nothing in config.json tells.
    """
    return re.search(r"(?<![a-z])re-?rank", name.lower()) is not None


def of_gguf(metadata: Mapping[str, Any], architecture: str | None) -> Task | None:
    """The task that a GGUF header states; None for a model that generates text.

    Encoders and ``pooling_type`` as in llama.cpp: ``LLM_ARCH_NAMES`` and ``llama_pooling_type`` (0 none, 4 rank).
    """
    pooling = metadata.get(f"{architecture}.pooling_type")
    if type(pooling) is int and 1 <= pooling <= 4:
        return "reranker" if pooling == 4 else "embedding"
    return "embedding" if architecture in _GGUF_ENCODERS else None


_BY_NAME: tuple[tuple[re.Pattern[str], Task], ...] = (
    (_SPEECH, "speech"),
    (_REWARD, "reward"),
    (_RANKER, "reranker"),
    (_EMBEDDER, "embedding"),
    (_MASKED, "encoder"),
)


def _scores(config: Mapping[str, Any]) -> bool:
    """Whether a classification model has a single output."""
    labels = config.get("id2label")
    return config.get("num_labels") == 1 or (isinstance(labels, dict) and len(labels) == 1)


def of_folder(folder: Path, config: Mapping[str, Any]) -> Task | None:
    """`of_config`, with the files of Sentence Transformers and diffusers beside config.json.

    Raises:
        ModelError: TW-M04 if one of them is damaged; TW-M17 if it is not readable.
    """
    task = of_config(config)
    if optional_object(folder / FILES[1]).get("model_type") == "CrossEncoder":
        return "reranker"
    if task is None and (folder / PIPELINE).is_file() and not config.get("architectures"):
        return "diffusion"
    if task in (None, "encoder", "encoder-decoder") and _pools(folder):
        return "embedding"
    return task


def _pools(folder: Path) -> bool:
    """Whether Sentence Transformers turns the model's output into an embedding."""
    modules = folder / FILES[0]
    known = modules.is_file() and b"sentence_transformers." in read_bytes(modules)
    return known or (folder / "1_Pooling" / "config.json").is_file()
