"""Special tokens that somebody typed: they must stay text.

Every engine reads a rendered prompt with its special tokens, so a message that holds ``<|im_end|>`` would end its own
turn. A space after its first character makes it plain text that a model still understands.
"""

from __future__ import annotations

import re

from wizard.model.facts import ChatFormat

SHAPES = r"<\|[^<>|\s]{1,60}\|>|<｜[^<>｜\s]{1,60}｜>"
"""What nobody writes but to name a special token, whether this model has it or not: the families Llama 3, Qwen, Phi,
SmolLM and Granite (with ``|``) and DeepSeek (with U+FF5C)."""

_IN_TEMPLATES = re.compile(r"<(?:start|end)_of_turn>|\[/?[A-Z][A-Z_]{1,30}\]|</?s>|<(?:bos|eos|pad|unk)>")
"""As in the templates of the families Gemma, Mistral and Llama 2. As words of HTML or prose they are common, so they
count only where the model's own template has them."""

_NAMED = re.compile(r"<\S{1,80}>|\[\S{1,80}\]")
"""What the model's own begin, end and stop texts look like if they are tokens and no words."""


def pattern(chat: ChatFormat | None) -> str:
    """A regular expression that finds the special tokens of a model in a text; None is a model without a template."""
    if chat is None:
        return SHAPES
    named = (text for text in (chat.bos_token, chat.eos_token, *chat.stop) if text and _NAMED.fullmatch(text))
    own = {*_IN_TEMPLATES.findall(chat.template), *named}
    return "|".join([SHAPES, *(re.escape(text) for text in sorted(own))])


def broken(text: str, special: str) -> str:
    """``text`` with a space in everything that ``special``, made by `pattern`, finds."""
    return re.sub(special, lambda match: f"{match[0][0]} {match[0][1:]}", text)
