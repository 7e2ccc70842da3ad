"""Inputs and outputs of each release of TensorRT-LLM's Triton backend for text generation; the models are `trtllm`'s.

Sources: ``all_models/inflight_batcher_llm``, its config.pbtxt and Python models, of triton-inference-server/
tensorrtllm_backend at the tags v0.7.0 to v0.19.0 and, from 0.20, ``triton_backend/all_models`` of NVIDIA/TensorRT-LLM
(0c8de69a, 2a9abd95, 08dc37e3, 0193dbd4, 07f3e442), of which not every release was read.

A request with an input or output that config.pbtxt does not declare is rejected, a Python model may query the type of
its own outputs when it starts, and unused declarations cost nothing; so everything that a release may have is declared.
Tensors for images, LoRA adapters, draft models and guided decoding are omitted.
"""

from __future__ import annotations

from typing import TypeAlias

from wizard.repository.config_pbtxt import DataType, EnsembleStep, Tensor

Version: TypeAlias = tuple[int, int]
"""Major and minor of the backend's release, which are TensorRT-LLM's own."""

Row: TypeAlias = tuple[str, DataType, tuple[int, ...]]
"""Name, type and dimensions."""

LOG_PROBS: tuple[Row, ...] = (("cum_log_probs", "FP32", (-1,)), ("output_log_probs", "FP32", (-1, -1)))


def _scalar_dims(version: Version) -> tuple[int, ...]:
    """Dimensions of the prompt and of ``max_tokens``."""
    return (1,) if version >= (0, 12) else (-1,)


def _results(version: Version) -> tuple[Row, ...]:
    """Outputs besides the tokens that the ensemble passes on."""
    later: tuple[Row, ...] = (("context_logits", "FP32", (-1, -1)), ("generation_logits", "FP32", (-1, -1, -1)))
    last: tuple[Row, ...] = (("batch_index", "INT32", (1,)),)
    return LOG_PROBS + (later if version >= (0, 8) else ()) + (last if version >= (0, 12) else ())


def _metrics(version: Version) -> tuple[Row, ...]:
    """Outputs about a request that the BLS model of later releases reads."""
    names: tuple[tuple[str, DataType], ...] = (
        ("sequence_index", "INT32"),
        ("kv_cache_alloc_new_blocks", "INT32"),
        ("kv_cache_reused_blocks", "INT32"),
        ("kv_cache_alloc_total_blocks", "INT32"),
        ("arrival_time_ns", "INT64"),
        ("first_scheduled_time_ns", "INT64"),
        ("first_token_time_ns", "INT64"),
        ("last_token_time_ns", "INT64"),
        ("acceptance_rate", "FP32"),
        ("total_accepted_draft_tokens", "INT32"),
        ("total_draft_tokens", "INT32"),
        ("num_input_tokens", "INT32"),
        ("num_output_tokens", "INT32"),
    )
    there = names if version >= (0, 15) else names[:1] if version >= (0, 14) else ()
    return tuple((name, kind, (1,)) for name, kind in there)


def _scalars(version: Version) -> dict[str, tuple[str, DataType]]:
    """Generation parameters of a request: name in the ensemble → name in ``tensorrt_llm`` and type."""
    least, seed = ("min_tokens", "seed") if version >= (0, 20) else ("min_length", "random_seed")
    scalars: dict[str, tuple[str, DataType]] = {
        "top_k": ("runtime_top_k", "INT32"),
        "top_p": ("runtime_top_p", "FP32"),
        "temperature": ("temperature", "FP32"),
        "length_penalty": ("len_penalty", "FP32"),
        "repetition_penalty": ("repetition_penalty", "FP32"),
        least: (least, "INT32"),
        "presence_penalty": ("presence_penalty", "FP32"),
        seed: (seed, "UINT64"),
        "return_log_probs": ("return_log_probs", "BOOL"),
        "beam_width": ("beam_width", "INT32"),
        "stream": ("streaming", "BOOL"),
    }
    if version >= (0, 8):
        scalars["frequency_penalty"] = ("frequency_penalty", "FP32")
        scalars |= {name: (name, "BOOL") for name in ("return_context_logits", "return_generation_logits")}
    if version >= (0, 16):
        scalars["exclude_input_in_output"] = ("exclude_input_in_output", "BOOL")
    return scalars


def request(version: Version) -> list[Tensor]:
    """Inputs of the ensemble and of BLS."""
    scalar = _scalar_dims(version)
    words = [Tensor(name, "STRING", (-1,), optional=True) for name in ("bad_words", "stop_words")]
    return [
        Tensor("text_input", "STRING", scalar),
        Tensor("max_tokens", "INT32", scalar),
        *words,
        *(Tensor(name, "INT32", optional=True) for name in ("end_id", "pad_id")),
        *(Tensor(name, kind, optional=True) for name, (_, kind) in _scalars(version).items()),
        Tensor("prompt_embedding_table", "FP16", (-1, -1), optional=True),
        Tensor("prompt_vocab_size", "INT32", optional=True),
        Tensor("embedding_bias_words", "STRING", (-1,), optional=True),
        Tensor("embedding_bias_weights", "FP32", (-1,), optional=True),
    ]


def ensemble_outputs(version: Version) -> list[Tensor]:
    """Outputs of the ensemble."""
    return [Tensor("text_output", "STRING", (-1,)), *(Tensor(*row) for row in _results(version))]


def bls(version: Version) -> tuple[list[Tensor], list[Tensor]]:
    """Inputs and outputs of BLS."""
    return request(version), [*ensemble_outputs(version), *(Tensor(*row) for row in _metrics(version))]


def preprocessing(version: Version) -> tuple[list[Tensor], list[Tensor]]:
    """Inputs and outputs of ``preprocessing``."""
    scalar = _scalar_dims(version)
    taken = [Tensor("QUERY", "STRING", scalar), Tensor("REQUEST_OUTPUT_LEN", "INT32", scalar)]
    taken += [Tensor(name, "STRING", (-1,), optional=True) for name in ("BAD_WORDS_DICT", "STOP_WORDS_DICT")]
    taken.append(Tensor("EMBEDDING_BIAS_WORDS", "STRING", (-1,), optional=True))
    taken.append(Tensor("EMBEDDING_BIAS_WEIGHTS", "FP32", (-1,), optional=True))
    given = [Tensor("INPUT_ID", "INT32", (-1,)), Tensor("REQUEST_INPUT_LEN", "INT32")]
    given += [Tensor(name, "INT32", (2, -1)) for name in ("BAD_WORDS_IDS", "STOP_WORDS_IDS")]
    given += [Tensor("EMBEDDING_BIAS", "FP32", (-1,)), Tensor("REQUEST_OUTPUT_LEN", "INT32", (-1,))]
    if version >= (0, 8):
        taken += [Tensor(name, "INT32", scalar, optional=True) for name in ("END_ID", "PAD_ID")]
        given += [Tensor(name, "INT32", scalar) for name in ("OUT_END_ID", "OUT_PAD_ID")]
    if version >= (0, 11):  # encoder-decoder models; the Python model always returns a decoder prompt
        taken.append(Tensor("DECODER_QUERY", "STRING", scalar, optional=True))
        given += [Tensor("DECODER_INPUT_ID", "INT32", (-1,)), Tensor("REQUEST_DECODER_INPUT_LEN", "INT32")]
    if version == (0, 12):  # of images; the Python model queries its type, and BLS reads it
        given.append(Tensor("OUT_PROMPT_EMBEDDING_TABLE", "FP16", (-1, -1)))
    if version >= (0, 13):
        taken.append(Tensor("PROMPT_TABLE_EXTRA_ID", "UINT64", optional=True))
        given.append(Tensor("OUT_PROMPT_TABLE_EXTRA_IDS", "UINT64", (-1,)))
    if version >= (0, 16):  # of images; the Python model reads their types, and BLS reads them
        sizes = (-1, 2) if version >= (0, 20) else (2,)
        given += [Tensor("PIXEL_VALUES", "FP16", (-1,) * 4), Tensor("IMAGE_SIZES", "INT64", sizes)]
        given += [Tensor("IS_VIDEO_INPUT", "BOOL"), Tensor("VISION_INPUT_ID", "INT32", (-1,))]
        given += [Tensor("ATTENTION_MASK", "INT64", (-1,)), Tensor("IMAGE_GRID_THW", "INT64", (3,))]
    return taken, given


def engine(version: Version) -> tuple[list[Tensor], list[Tensor]]:
    """Inputs and outputs of ``tensorrt_llm``."""
    scalars: list[tuple[str, DataType]] = [(name, "INT32") for name in ("end_id", "pad_id", "prompt_vocab_size")]
    scalars += _scalars(version).values()
    length: tuple[int, ...] | None = () if version >= (0, 12) else None
    taken = [
        Tensor("input_ids", "INT32", (-1,), ragged=True),
        Tensor("input_lengths", "INT32", reshape=()),
        Tensor("request_output_len", "INT32", reshape=length),
        *(Tensor(name, "INT32", (2, -1), True, ragged=True) for name in ("stop_words_list", "bad_words_list")),
        Tensor("embedding_bias", "FP32", (-1,), True, ragged=True),
        Tensor("prompt_embedding_table", "FP16", (-1, -1), True, ragged=True),
        *(Tensor(name, kind, optional=True, reshape=length if name == "streaming" else ()) for name, kind in scalars),
        Tensor("stop", "BOOL", optional=True, reshape=length),
    ]
    if version >= (0, 11):
        taken.append(Tensor("decoder_input_ids", "INT32", (-1,), True, ragged=True))
        taken.append(Tensor("decoder_input_lengths", "INT32", optional=True, reshape=()))
    if version >= (0, 13):
        taken.append(Tensor("prompt_table_extra_ids", "UINT64", (-1,), True, ragged=True))
    given: tuple[Row, ...] = (("output_ids", "INT32", (-1, -1)), ("sequence_length", "INT32", (-1,)))
    return taken, [Tensor(*row) for row in given + _results(version) + _metrics(version)]


def postprocessing(version: Version) -> tuple[list[Tensor], list[Tensor]]:
    """Inputs and outputs of ``postprocessing``; before 0.14 it also passes on the log probabilities and logits."""
    taken = [Tensor("TOKENS_BATCH", "INT32", (-1, -1)), Tensor("SEQUENCE_LENGTH", "INT32", (-1,))]
    given = [Tensor("OUTPUT", "STRING", (-1,))]
    if version < (0, 14):
        passed = _results(version)
        taken += [Tensor(name.upper(), kind, dims, optional=True) for name, kind, dims in passed]
        given += [Tensor(f"OUT_{name.upper()}", kind, dims) for name, kind, dims in passed]
    return taken, given


def steps(version: Version) -> list[EnsembleStep]:
    """How the ensemble connects its three members.

    The results go straight from ``tensorrt_llm`` to the ensemble's outputs, and to ``postprocessing`` if that has such
    inputs, which is right for every release's Python model.
    """
    results = {name: name for name, _, _ in _results(version)}
    tokens = {"INPUT_ID": "input_ids", "REQUEST_INPUT_LEN": "input_lengths", "REQUEST_OUTPUT_LEN": "request_output_len"}
    tokens |= {"STOP_WORDS_IDS": "stop_words_list", "BAD_WORDS_IDS": "bad_words_list"}
    tokens["EMBEDDING_BIAS"] = "embedding_bias"
    inputs = {"QUERY": "text_input", "REQUEST_OUTPUT_LEN": "max_tokens"}
    inputs |= {"BAD_WORDS_DICT": "bad_words", "STOP_WORDS_DICT": "stop_words"}
    inputs |= {"EMBEDDING_BIAS_WORDS": "embedding_bias_words", "EMBEDDING_BIAS_WEIGHTS": "embedding_bias_weights"}
    straight = {"prompt_embedding_table": "prompt_embedding_table", "prompt_vocab_size": "prompt_vocab_size"}
    if version >= (0, 8):
        inputs |= {"END_ID": "end_id", "PAD_ID": "pad_id"}
        tokens |= {"OUT_END_ID": "end_id", "OUT_PAD_ID": "pad_id"}
    else:
        straight |= {"end_id": "end_id", "pad_id": "pad_id"}
    if version >= (0, 11):
        tokens |= {"DECODER_INPUT_ID": "decoder_input_ids", "REQUEST_DECODER_INPUT_LEN": "decoder_input_lengths"}
    straight |= {inner: outer for outer, (inner, _) in _scalars(version).items()}
    passed = {name.upper(): name for name in results} if version < (0, 14) else {}
    made = {"output_ids": "_TOKENS_BATCH", "sequence_length": "_SEQUENCE_LENGTH"}
    return [
        EnsembleStep("preprocessing", inputs, {name: f"_{name}" for name in tokens}),
        EnsembleStep("tensorrt_llm", {inner: f"_{name}" for name, inner in tokens.items()} | straight, made | results),
        EnsembleStep(
            "postprocessing",
            {"TOKENS_BATCH": "_TOKENS_BATCH", "SEQUENCE_LENGTH": "_SEQUENCE_LENGTH"} | passed,
            {"OUTPUT": "text_output"},
        ),
    ]
