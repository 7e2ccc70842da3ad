"""The demo model's tokenizer and its ChatML format: how a conversation becomes token ids and labels."""

from __future__ import annotations

import random
from collections.abc import Iterable

from sampler import Message
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"  # ids 0, 1, 2
IGNORED = -100  # label of a token that carries no loss
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def train_tokenizer(texts: Iterable[str], vocab_size: int) -> Tokenizer:
    """Train a byte-level BPE tokenizer (GPT-2's way of splitting) with the three special tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        show_progress=False,
        special_tokens=[PAD, START, END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


class Encoder:
    """Turns conversations into token ids and labels.

    Args:
        tokenizer: The trained tokenizer.
        rng: Source of the random cuts.
        cut: Probability that a word of a question is cut in two before it is encoded. The model then meets many
            spellings of a word in tokens, which helps it with words that it has never seen whole.
    """

    def __init__(self, tokenizer: Tokenizer, rng: random.Random, cut: float = 0.0) -> None:
        self._tokenizer = tokenizer
        self._rng = rng
        self._cut = cut
        self._cache: dict[str, list[int]] = {}

    def conversation(self, messages: Iterable[Message]) -> tuple[list[int], list[int]]:
        """Encode a conversation.

        Returns:
            Token ids, and labels of equal length: the ids of each answer with its end token, IGNORED elsewhere.
        """
        ids: list[int] = []
        labels: list[int] = []
        for role, content in messages:
            head = [1, *self._plain(f"{role}\n")]
            body = [*(self._question(content) if role == "user" else self._plain(content)), 2]
            tail = self._plain("\n")
            ids += head + body + tail
            loss = body if role == "assistant" else [IGNORED] * len(body)
            labels += [IGNORED] * len(head) + loss + [IGNORED] * len(tail)
        return ids, labels

    def prompt(self, messages: Iterable[Message]) -> list[int]:
        """Encode a conversation that the assistant is to continue."""
        return [*self.conversation(messages)[0], 1, *self._plain("assistant\n")]

    def _plain(self, text: str) -> list[int]:
        if text not in self._cache:
            self._cache[text] = self._tokenizer.encode(text).ids
        return self._cache[text]

    def _question(self, text: str) -> list[int]:
        if not self._cut or self._rng.random() < 0.4:
            return list(self._tokenizer.encode(text).ids)
        ids: list[int] = []
        start = 0
        for at in range(1, len(text)):
            inside = text[at - 1] != " " and text[at] != " "
            if inside and self._rng.random() < self._cut / 4:  # a word has about four places to cut
                ids += self._tokenizer.encode(text[start:at]).ids
                start = at
        return ids + list(self._tokenizer.encode(text[start:]).ids)
