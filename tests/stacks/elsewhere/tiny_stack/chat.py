"""The port `chat`: a model of its own that takes a text and a number of words."""

from __future__ import annotations

from wizard.chat.wire import Format, StackWire

TINY = Format("Tiny's own models", frozenset({"tiny_text"}), (("tiny_text", "prompt"), ("words", "max_tokens")))
PORT = StackWire((TINY,))
