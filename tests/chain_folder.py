"""The model of ``chain_model.py`` as a folder of Hugging Face's, for engines that read safetensors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.chain_model import BOS, END, FEED, HEAD, HIDDEN, TEMPLATE, _follows, alphabet

HEADS = 2


def write_chain_folder(folder: Path, *, tokenizer: bool = True) -> Path:
    """Write the model to ``folder`` and return it."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tokens = [*alphabet(), "<|endoftext|>", BOS, END, "Ġt"]
    end = tokens.index(END)
    embedding = np.zeros((len(tokens), HIDDEN), np.float32)
    np.fill_diagonal(embedding, 1.0)
    output = np.zeros_like(embedding)
    for before, after in _follows(end):
        output[after, before] = 1.0
    sizes = {"q": HEADS * HEAD, "k": HEADS * HEAD, "v": HEADS * HEAD}
    attention = {f"self_attn.{name}_proj": np.zeros((size, HIDDEN), np.float32) for name, size in sizes.items()}
    attention["self_attn.o_proj"] = np.zeros((HIDDEN, HEADS * HEAD), np.float32)
    feed = {f"mlp.{name}_proj": np.zeros((FEED, HIDDEN), np.float32) for name in ("gate", "up")}
    feed["mlp.down_proj"] = np.zeros((HIDDEN, FEED), np.float32)
    norms = {name: np.ones(HIDDEN, np.float32) for name in ("input_layernorm", "post_attention_layernorm")}
    layer = {f"model.layers.0.{name}.weight": value for name, value in {**attention, **feed, **norms}.items()}
    ends = {"model.embed_tokens.weight": embedding, "lm_head.weight": output}
    ends["model.norm.weight"] = np.ones(HIDDEN, np.float32)
    save_file({**ends, **layer}, folder / "model.safetensors", metadata={"format": "pt"})
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": HIDDEN,
        "intermediate_size": FEED,
        "num_hidden_layers": 1,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "head_dim": HEAD,
        "vocab_size": len(tokens),
        "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": False,
        "dtype": "float32",
        "bos_token_id": tokens.index(BOS),
        "eos_token_id": end,
    }
    (folder / "config.json").write_text(json.dumps(config))
    if tokenizer:
        _write_tokenizer(folder, tokens)
    return folder


def _write_tokenizer(folder: Path, tokens: list[str]) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE(vocab={token: number for number, token in enumerate(tokens)}, merges=[("Ġ", "t")]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=made, bos_token=BOS, eos_token=END, pad_token="<|endoftext|>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(str(folder))
