"""Ask the shipped GGUF through llama.cpp (xllamacpp), the engine that the wizard's server uses, and gate the answer."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xllamacpp

MAX_TOKENS = 120


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model wrote.

    Attributes:
        text: The whole answer.
        lowest: The smallest probability of any of its tokens, the end token included; 0 if it did not end by itself.
    """

    text: str
    lowest: float

    def shown(self, threshold: float, refusal: str) -> str:
        """Return the text that a user sees: the answer if it is sure enough, else the refusal."""
        return self.text if self.lowest >= threshold else refusal


class Engine:
    """A loaded GGUF model.

    Args:
        gguf: The model file.
        threads: CPU threads to use.

    Raises:
        RuntimeError: llama.cpp cannot load the file; it prints the reason.
    """

    def __init__(self, gguf: Path, threads: int = 1) -> None:
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(gguf)
        parameters.n_ctx = 1024
        parameters.n_parallel = 1
        parameters.cpuparams.n_threads = threads
        parameters.cpuparams_batch.n_threads = threads
        parameters.warmup = False
        parameters.verbosity = 0
        parameters.ui = False
        parameters.api_keys = [secrets.token_hex(16)]
        self._server = xllamacpp.Server(parameters)

    def ask(self, messages: list[dict[str, str]]) -> Answer:
        """Answer a conversation greedily.

        Raises:
            RuntimeError: The engine refused the request, for example because it exceeds the context.
        """
        replies: list[dict[str, Any]] = []

        def keep(reply: dict[str, Any]) -> bool:
            replies.append(reply)
            return False  # True would cancel

        request = {
            "messages": messages,
            "max_tokens": MAX_TOKENS,
            "temperature": 0,
            "logprobs": True,
            "top_logprobs": 1,
            "cache_prompt": False,
        }
        self._server.handle_chat_completions(request, keep)
        reply = replies[0]
        if "error" in reply:
            raise RuntimeError(reply["error"]["message"])
        choice = reply["choices"][0]
        finished = choice["finish_reason"] == "stop"
        lowest = min(token["logprob"] for token in choice["logprobs"]["content"])
        return Answer(choice["message"]["content"].strip(), math.exp(lowest) if finished else 0.0)
