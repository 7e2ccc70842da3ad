"""Train the offline demo model: a small Llama with its own tokenizer, on questions about this product.

Usage, from anywhere::

    python training/train.py --out DIR --seed 0 [--steps N] [--device auto|cpu|cuda]

Writes a Hugging Face folder (config.json, model.safetensors in float16, tokenizer, chat template), the questions
that the chat offers, and training.json with the settings, the loss and the figures on the dev questions. The test
questions are not read. The same seed, settings and worker count draw the same data in the same order.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from chat_format import CHAT_TEMPLATE, END, IGNORED, PAD, START, Encoder, train_tokenizer
from pairs import OffTopic, Topic, load_frames, load_off_topic, load_topics, offered_questions
from sampler import Sampler
from tokenizers import Tokenizer
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from transformers import LlamaConfig, LlamaForCausalLM

CONTEXT = 1024
TURN_WEIGHTS = (62, 18, 8, 6, 1, 1, 1, 1, 1, 1)  # of earlier turns in a batch: none, one, two, ...
ROPE_THETA = 10000.0


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line decides; written to training.json."""

    seed: int
    steps: int
    batch: int
    hidden: int
    layers: int
    vocab: int
    rate: float
    decay: float
    cut: float
    workers: int


class Batches(IterableDataset[tuple[torch.Tensor, torch.Tensor]]):
    """An endless stream of batches (ids, labels), both of shape (batch, longest conversation)."""

    def __init__(self, settings: Settings, tokenizer: Tokenizer) -> None:
        self._settings = settings
        self._tokenizer = tokenizer.to_str()

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        info = get_worker_info()
        seed = self._settings.seed * 1000 + (info.id if info else 0)
        sampler = Sampler(load_topics(), load_off_topic(), load_frames(), seed)
        rng = random.Random(seed)
        encoder = Encoder(Tokenizer.from_str(self._tokenizer), rng, self._settings.cut)
        while True:
            turns = rng.choices(range(len(TURN_WEIGHTS)), TURN_WEIGHTS)[0]
            size = self._settings.batch // (turns + 1) if turns > 3 else self._settings.batch
            pairs = [encoder.conversation(sampler.conversation(turns)) for _ in range(size)]
            yield pad([ids[:CONTEXT] for ids, _ in pairs], 0), pad([labels[:CONTEXT] for _, labels in pairs], IGNORED)


def pad(rows: list[list[int]], value: int, left: bool = False) -> torch.Tensor:
    """Make one tensor of rows of different lengths."""
    width = max(map(len, rows))
    if left:
        return torch.tensor([[value] * (width - len(row)) + row for row in rows])
    return torch.tensor([row + [value] * (width - len(row)) for row in rows])


def tokenizer_texts(topics: tuple[Topic, ...], off_topic: OffTopic, seed: int) -> Iterator[str]:
    """Yield what the tokenizer is trained on: sampled questions and every answer."""
    sampler = Sampler(topics, off_topic, load_frames(), seed)
    for _ in range(20000):
        yield sampler.pair()[0]
    for topic in topics:
        yield from [topic.answer] * 30
    yield from [off_topic.refusal] * 30


def make_model(settings: Settings, vocab_size: int) -> LlamaForCausalLM:
    """Build the untrained model: heads of 64, two query heads per key-value head, tied embeddings."""
    heads = settings.hidden // 64
    config = LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=settings.hidden,
        intermediate_size=settings.hidden * 11 // 4,
        num_hidden_layers=settings.layers,
        num_attention_heads=heads,
        num_key_value_heads=heads // 2,
        head_dim=64,
        max_position_embeddings=CONTEXT,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        attention_dropout=0.1,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    return LlamaForCausalLM(config)


def train(model: LlamaForCausalLM, settings: Settings, tokenizer: Tokenizer, device: str) -> float:
    """Train in place; the weights end as their exponential moving average.

    Returns:
        The mean loss of the last steps, per answer token.
    """
    loader = DataLoader(Batches(settings, tokenizer), batch_size=None, num_workers=settings.workers)
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=settings.rate, betas=(0.9, 0.98), weight_decay=settings.decay)
    average = [p.detach().clone() for p in parameters]
    mean, started = 0.0, time.monotonic()
    model.train()
    for step, (drawn_ids, drawn_labels) in zip(range(settings.steps), loader, strict=False):
        warm_up = min(1.0, (step + 1) / 100)
        cosine = 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * step / settings.steps))
        for group in optimizer.param_groups:
            group["lr"] = settings.rate * warm_up * cosine
        ids, labels = drawn_ids.to(device, non_blocking=True), drawn_labels.to(device, non_blocking=True)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            logits = model(ids).logits[:, :-1]
        loss = functional.cross_entropy(logits.float().flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORED)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(average, parameters, max(0.005, 1 / (step + 1)))
        if step % 200 == 199:
            mean = loss.item() if not mean else 0.5 * mean + 0.5 * loss.item()
            print(f"step {step + 1}  loss {mean:.4f}  {time.monotonic() - started:.0f} s", flush=True)
    with torch.no_grad():
        for parameter, value in zip(parameters, average, strict=True):
            parameter.copy_(value)
    model.eval()
    return mean


@torch.inference_mode()
def answer(model: LlamaForCausalLM, tokenizer: Tokenizer, questions: list[str]) -> list[tuple[str, float]]:
    """Answer questions greedily.

    Returns:
        For each the text and the smallest probability of any of its tokens, the end token included.
    """
    encoder = Encoder(tokenizer, random.Random(0))
    prompts = [encoder.prompt([("user", question)]) for question in questions]
    ids = pad(prompts, 0, left=True).to(model.device)
    mask = pad([[1] * len(prompt) for prompt in prompts], 0, left=True).to(model.device)
    made = model.generate(
        ids,
        attention_mask=mask,
        max_new_tokens=120,
        do_sample=False,
        output_scores=True,
        return_dict_in_generate=True,
    )
    tokens = made.sequences[:, ids.shape[1] :].tolist()
    best = torch.stack([score.float().softmax(-1).amax(-1) for score in made.scores], 1).tolist()
    results = []
    for row, probabilities in zip(tokens, best, strict=True):
        end = row.index(2) + 1 if 2 in row else len(row)
        results.append((tokenizer.decode(row[:end]), min(probabilities[:end])))
    return results


def dev_figures(model: LlamaForCausalLM, tokenizer: Tokenizer) -> dict[str, Any]:
    """Measure on the dev questions: share right, wrong and answered though unknown, by gate threshold."""
    topics, off_topic = load_topics(), load_off_topic()
    known = answer(model, tokenizer, [topic.dev for topic in topics])
    unknown = answer(model, tokenizer, list(off_topic.dev))
    figures: dict[str, Any] = {}
    for threshold in (0.0, 0.3, 0.5, 0.7, 0.8, 0.9):
        shown = [text if low >= threshold else off_topic.refusal for text, low in known]
        right = sum(text == topic.answer for text, topic in zip(shown, topics, strict=True))
        refused = sum(text == off_topic.refusal for text in shown)
        answered = sum(text != off_topic.refusal and low >= threshold for text, low in unknown)
        figures[str(threshold)] = {
            "right": round(right / len(known), 4),
            "wrong": round((len(known) - right - refused) / len(known), 4),
            "unknown_answered": round(answered / len(unknown), 4),
        }
    figures["missed"] = [
        f"{topic.id}: {topic.dev} -> {text[:50]} ({low:.2f})"
        for (text, low), topic in zip(known, topics, strict=True)
        if text != topic.answer
    ]
    figures["answered"] = [
        f"{question} -> {text[:50]} ({low:.2f})"
        for (text, low), question in zip(unknown, off_topic.dev, strict=True)
        if text != off_topic.refusal
    ]
    return figures


def save(model: LlamaForCausalLM, tokenizer: Tokenizer, out: Path) -> None:
    """Write the Hugging Face folder in float16."""
    out.mkdir(parents=True, exist_ok=True)
    model.generation_config.max_new_tokens = 120
    model.to("cpu", torch.float16).save_pretrained(out)
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    config["rope_theta"] = ROPE_THETA  # readers before transformers 5 look for it at the top level
    write_json(out / "config.json", config)
    tokenizer.save(str(out / "tokenizer.json"))
    (out / "chat_template.jinja").write_text(CHAT_TEMPLATE, encoding="utf-8")
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": START,
        "eos_token": END,
        "pad_token": PAD,
        "add_bos_token": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": CONTEXT,
        "chat_template": CHAT_TEMPLATE,
    }
    write_json(out / "tokenizer_config.json", settings)
    write_json(out / "questions.json", offered_questions(load_topics()))


def write_json(path: Path, value: object) -> None:
    """Write JSON the way it is committed: indented, with a final newline."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def parse() -> tuple[Settings, Path, str]:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Train the offline demo model.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--batch", type=int, default=192, help="conversations per step")
    parser.add_argument("--hidden", type=int, default=256, help="a multiple of 128")
    parser.add_argument("--layers", type=int, default=5)
    parser.add_argument("--vocab", type=int, default=2048)
    parser.add_argument("--rate", type=float, default=1.5e-3, help="highest learning rate")
    parser.add_argument("--decay", type=float, default=0.1, help="weight decay")
    parser.add_argument("--cut", type=float, default=0.1, help="probability of cutting a question's word in two")
    parser.add_argument("--workers", type=int, default=4, help="processes that draw the data")
    options = vars(parser.parse_args())
    out, device = options.pop("out"), options.pop("device")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return Settings(**options), out, device


def main() -> None:
    """Train, measure on dev, save."""
    settings, out, device = parse()
    torch.manual_seed(settings.seed)
    topics, off_topic = load_topics(), load_off_topic()
    tokenizer = train_tokenizer(tokenizer_texts(topics, off_topic, settings.seed), settings.vocab)
    model = make_model(settings, tokenizer.get_vocab_size()).to(device)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{parameters / 1e6:.2f} M parameters, vocabulary {tokenizer.get_vocab_size()}, {device}", flush=True)
    started = time.monotonic()
    loss = train(model, settings, tokenizer, device)
    seconds = round(time.monotonic() - started)
    model.to(torch.float16).to(torch.float32)  # measure what is saved
    figures = dev_figures(model, tokenizer)
    save(model, tokenizer, out)
    hardware = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    report = {"parameters": parameters, "seconds": seconds, "hardware": hardware, "torch": torch.__version__}
    report |= {"loss": round(loss, 5), "settings": asdict(settings), "dev": figures}
    write_json(out / "training.json", report)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
