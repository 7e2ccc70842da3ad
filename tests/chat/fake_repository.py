"""A model repository of stand-ins that declare what the real models of each stack declare, and a tokenizer for them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.chain_model import BOS, END, TEMPLATE, alphabet

HERE = Path(__file__).parent

ENGINE_INPUTS = (
    "input_ids INT32 -1",
    "input_lengths INT32 1 reshape",
    "request_output_len INT32 1",
    "end_id INT32 1 reshape optional",
    "pad_id INT32 1 reshape optional",
    "temperature FP32 1 reshape optional",
    "runtime_top_k INT32 1 reshape optional",
    "runtime_top_p FP32 1 reshape optional",
    "random_seed UINT64 1 reshape optional",
    "stop BOOL 1 optional",
    "streaming BOOL 1 optional",
)
ENGINE_OUTPUTS = ("output_ids INT32 -1 -1", "sequence_length INT32 -1")
EXCLUDE = "exclude_input_in_output BOOL 1 optional"
TEXT_INPUTS = (
    "text_input STRING 1",
    "max_tokens INT32 1",
    "temperature FP32 1 optional",
    "top_k INT32 1 optional",
    "top_p FP32 1 optional",
    "stream BOOL 1 optional",
)
WORDS = ("bad_words STRING -1", "stop_words STRING -1")
LLM_API_INPUTS = (
    "text_input STRING -1",
    "streaming BOOL 1 optional",
    "sampling_param_temperature FP32 1 optional",
    "sampling_param_top_k INT32 1 optional",
    "sampling_param_top_p FP32 1 optional",
    "sampling_param_max_tokens INT32 1 optional",
    "sampling_param_stop STRING -1 optional",
    "sampling_param_seed UINT64 1 optional",
    "sampling_param_exclude_input_from_output BOOL 1 optional",
    "return_finish_reason BOOL 1 optional",
)
VLLM_INPUTS = (
    "text_input STRING 1",
    "stream BOOL 1 optional",
    "sampling_parameters STRING 1 optional",
)
VLLM_MORE = (
    EXCLUDE,
    "return_finish_reason BOOL 1 optional",
    "return_num_output_tokens BOOL 1 optional",
    "return_logprobs BOOL 1 optional",
)
PENALTIES = (
    "repetition_penalty FP32 1 reshape optional",
    "presence_penalty FP32 1 reshape optional",
    "frequency_penalty FP32 1 reshape optional",
    "return_log_probs BOOL 1 reshape optional",
)
TEXT_OUTPUT = "text_output STRING -1"


def write_tokenizer(folder: Path) -> Path:
    """A byte-level tokenizer whose ids are the bytes, as files of a model's folder; returns ``folder``."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    folder.mkdir(parents=True)
    tokenizer = Tokenizer(models.BPE(vocab={text: index for index, text in enumerate(alphabet())}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in ("<|endoftext|>", BOS, END)])
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"chat_template": TEMPLATE, "eos_token": END, "bos_token": BOS}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def write_fakes(root: Path, tokenizer_dir: Path) -> Path:
    """Write the repository; ``tokenizer_dir`` is what the ensemble's preprocessing says of its tokenizer."""
    newest = (*ENGINE_INPUTS[:-3], "seed UINT64 1 reshape optional", *ENGINE_INPUTS[-2:], *PENALTIES, EXCLUDE)
    _model(root, "tensorrt_llm", newest, (*ENGINE_OUTPUTS, "output_log_probs FP32 -1 -1"), batch=4, fake="ids")
    _model(root, "engine_010", ENGINE_INPUTS, ENGINE_OUTPUTS, batch=4, decoupled=False, fake="ids")
    _model(root, "engine_whole", ENGINE_INPUTS, ENGINE_OUTPUTS, batch=4, fake="ids", cumulative="true")
    _model(
        *(root, "engine_excludes", ENGINE_INPUTS, ENGINE_OUTPUTS),
        **{"batch": 4, "decoupled": False, "fake": "ids", "exclude_input_in_output": "true"},
    )
    optional = tuple(f"{each} optional" for each in WORDS)
    new_text = (*TEXT_INPUTS, *optional, EXCLUDE, "seed UINT64 1 optional")
    bls = {"accumulate_tokens": "true", "tensorrt_llm_model_name": "tensorrt_llm"}
    _model(root, "tensorrt_llm_bls", new_text, (TEXT_OUTPUT,), batch=4, fake="text", cumulative="true", **bls)
    _model(root, "text_05", (*TEXT_INPUTS, *WORDS), (TEXT_OUTPUT,), batch=4, decoupled=False, fake="text")
    reasons = (TEXT_OUTPUT, "finish_reason STRING -1")
    _model(root, "llmapi", LLM_API_INPUTS, reasons, fake="llmapi", cumulative="true")
    _model(root, "llmapi_deltas", LLM_API_INPUTS, reasons, fake="vllm")
    _model(root, "vllm_2402", VLLM_INPUTS, (TEXT_OUTPUT,), fake="vllm")
    counts = (*reasons, "num_output_tokens UINT32 -1", "logprobs STRING -1")
    _model(root, "vllm", (*VLLM_INPUTS, *VLLM_MORE), counts, fake="vllm")
    before, after = ("QUERY STRING 1",), ("TOKENS_BATCH INT32 -1 -1", "SEQUENCE_LENGTH INT32 -1")
    steps = {"batch": 4, "decoupled": False, "code": "fake_steps.py"}
    tokenizer = {"tokenizer_dir": str(tokenizer_dir)}
    _model(
        *(root, "preprocessing", before, ("INPUT_ID INT32 -1", "REQUEST_INPUT_LEN INT32 1")),
        **{**steps, **tokenizer, "fake": "before"},
    )
    _model(root, "postprocessing", after, ("OUTPUT STRING -1",), **{**steps, "fake": "after"})
    _ensemble(root, new_text)
    return root


def _tensors(kind: str, lines: tuple[str, ...]) -> str:
    text = ""
    for line in lines:
        name, dtype, *rest = line.split()
        dims = ", ".join(each for each in rest if each.lstrip("-").isdigit())
        more = " reshape { shape: [ ] }" if "reshape" in rest else ""
        more += " optional: true" if "optional" in rest else ""
        text += f'{kind} [ {{ name: "{name}" data_type: TYPE_{dtype} dims: [ {dims} ]{more} }} ]\n'
    return text


def _model(
    root: Path,
    name: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    *,
    batch: int = 0,
    decoupled: bool = True,
    code: str = "fake_engine.py",
    **parameters: str,
) -> None:
    folder = root / name / "1"
    folder.mkdir(parents=True)
    config = f'name: "{name}"\nbackend: "python"\nmax_batch_size: {batch}\n'
    config += f"model_transaction_policy {{ decoupled: {str(decoupled).lower()} }}\n"
    config += _tensors("input", inputs) + _tensors("output", outputs) + "instance_group [ { kind: KIND_CPU } ]\n"
    for key, value in parameters.items():
        config += f'parameters: {{ key: "{key}" value: {{ string_value: "{value}" }} }}\n'
    (root / name / "config.pbtxt").write_text(config)
    (folder / "model.py").write_text((HERE / code).read_text(encoding="utf-8"))


def _ensemble(root: Path, inputs: tuple[str, ...]) -> None:
    (root / "ensemble" / "1").mkdir(parents=True)
    inner = {
        "request_output_len": "max_tokens",
        "temperature": "temperature",
        "runtime_top_k": "top_k",
        "runtime_top_p": "top_p",
        "seed": "seed",
        "streaming": "stream",
        "exclude_input_in_output": "exclude_input_in_output",
        "input_ids": "_ids",
        "input_lengths": "_length",
    }
    inputs = tuple(each for each in inputs if "words" not in each)  # no step of ours reads them
    config = 'name: "ensemble"\nplatform: "ensemble"\nmax_batch_size: 4\n'
    config += _tensors("input", inputs) + _tensors("output", (TEXT_OUTPUT,)) + "ensemble_scheduling {\n"
    config += _step("preprocessing", {"QUERY": "text_input"}, {"INPUT_ID": "_ids", "REQUEST_INPUT_LEN": "_length"})
    config += _step("tensorrt_llm", inner, {"output_ids": "_out", "sequence_length": "_count"})
    config += _step("postprocessing", {"TOKENS_BATCH": "_out", "SEQUENCE_LENGTH": "_count"}, {"OUTPUT": "text_output"})
    (root / "ensemble" / "config.pbtxt").write_text(config + "}\n")


def _step(name: str, inputs: dict[str, str], outputs: dict[str, str]) -> str:
    maps = [("input_map", inputs), ("output_map", outputs)]
    text = "".join(
        f'{kind} {{ key: "{key}" value: "{value}" }}\n' for kind, each in maps for key, value in each.items()
    )
    return f'step [ {{ model_name: "{name}" model_version: -1\n{text} }} ]\n'
