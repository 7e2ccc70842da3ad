"""Special tokens in user text: they must stay text.

Every engine interprets special tokens in a rendered prompt, so a message with ``<|im_end|>`` would end its own turn. A
space after its first character makes it plain text that a model still understands.
"""

from __future__ import annotations

import re

from wizard.model.chat_format import ChatFormat

SHAPES = r"<\|[^<>|\s]{1,60}\|>|<｜[^<>｜\s]{1,60}｜>"
"""Unmistakable special tokens, even if this model does not have them: the families Llama 3, Qwen, Phi,
SmolLM and Granite (with ``|``) and DeepSeek (with U+FF5C).
"""

_IN_TEMPLATES = re.compile(r"<(?:start|end)_of_turn>|\[/?[A-Z][A-Z_]{1,30}\]|</?s>|<(?:bos|eos|pad|unk)>")
"""Special tokens in the templates of the families Gemma, Mistral and Llama 2. They are common in HTML or prose, so they
count only if the model's own template has them.
"""

_NAMED = re.compile(r"<\S{1,80}>|\[\S{1,80}\]")
"""The shape of the model's own begin, end and stop texts if they are tokens, not words."""


def pattern(chat: ChatFormat | None) -> str:
    """A regular expression for the special tokens of a model; None means a model without a template."""
    if chat is None:
        return SHAPES
    named = (text for text in (chat.bos_token, chat.eos_token, *chat.stop) if text and _NAMED.fullmatch(text))
    own = {*_IN_TEMPLATES.findall(chat.template), *named}
    return "|".join([SHAPES, *(re.escape(text) for text in sorted(own))])


def broken(text: str, special: str) -> str:
    """``text`` with a space inserted in every match of ``special``, created by `pattern`."""
    return re.sub(special, lambda match: f"{match[0][0]} {match[0][1:]}", text)
