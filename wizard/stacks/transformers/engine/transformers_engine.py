"""Hugging Face transformers (5 or newer) as an engine behind ``proxy_model.py``, on GPUs or the CPU.

    python transformers_engine.py '{"model": "/models/x", "max_seq_len": 4096, "max_batch_size": 8}'

The argument is JSON:

==================== ==========================================================================================
model                Folder or name of the model.
mode                 ``continuous`` (default): the library's own continuous batching. ``unbatched``: one request at
                     a time with ``generate``, as in a plain pipeline, to compare with.
dtype                ``auto`` (default: as stored), ``bfloat16``, ``float16``, ``float32``.
max_seq_len          Tokens of prompt plus answer; the model's own context if left out.
max_batch_size       Requests that are worked on at the same time (8).
tp                   GPUs that share each layer in the mode ``continuous``: as many processes, started from here
                     (1). The mode ``unbatched`` spreads the layers over all visible GPUs instead.
attn_implementation  As in ``from_pretrained``; the library chooses if left out.
continuous_batching  Further fields of the library's ``ContinuousBatchingConfig``.
==================== ==========================================================================================
"""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import socket
import subprocess
import sys
import threading
import traceback
from typing import Any

from engine_process import Answer, Proxy, die, prompt_ids

PAGE_TOKENS = 256
"""Tokens per block of the library's paged cache, its default."""
CPU_STEP_TOKENS = 2048
POLL_SECONDS = 0.1


class Model:
    """The loaded model and the shared parts of both modes."""

    def __init__(self, settings: dict[str, Any]) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        path, many = settings["model"], settings.get("mode") == "unbatched"
        options = {"dtype": settings.get("dtype", "auto")}
        if "attn_implementation" in settings:
            options["attn_implementation"] = settings["attn_implementation"]
        if settings.get("tp", 1) > 1 and not many:
            options["tp_plan"] = "auto"
        elif many and torch.cuda.device_count() > 1:
            options["device_map"] = "auto"
        elif torch.cuda.is_available() and importlib.util.find_spec("accelerate"):  # required by device_map
            options["device_map"] = "cuda"
        self.tokenizer = AutoTokenizer.from_pretrained(path)
        self.model = AutoModelForCausalLM.from_pretrained(path, **options).eval()
        if torch.cuda.is_available() and not {"device_map", "tp_plan"} & options.keys():
            self.model.to("cuda")
        text = self.model.config.get_text_config()
        self.vocabulary = int(text.vocab_size)
        self.context = int(settings.get("max_seq_len") or text.max_position_embeddings)
        self.ends = self._ends()

    def prompt(self, ask: dict[str, Any]) -> tuple[list[int], Answer]:
        """The tokens of the prompt, and the new answer.

        Raises:
            Refused: The prompt cannot be answered.
        """
        ids = prompt_ids(self.tokenizer, ask, self.context)
        return ids, Answer(self.tokenizer, ask, self.ends, min(ask["max_tokens"], self.context - len(ids)))

    def _ends(self) -> list[int]:
        given = self.model.generation_config.eos_token_id
        ids = given if isinstance(given, list) else [given]
        return [token for token in (*ids, self.tokenizer.eos_token_id) if token is not None]


class Continuous:
    """The library's continuous batching: it computes in its own thread, and returns a result per token."""

    def __init__(self, model: Model, settings: dict[str, Any], proxy: Proxy) -> None:
        from transformers import ContinuousBatchingConfig, GenerationConfig

        self._model, self._proxy = model, proxy
        self._answers: dict[str, Answer] = {}
        # A request cannot turn on a sampling step that is off here, so all are on.
        generation = GenerationConfig(do_sample=True, temperature=0.7, top_k=40, top_p=0.95)
        generation.eos_token_id = model.ends or -1
        users = int(settings.get("max_batch_size", 8))
        given: dict[str, Any] = {"max_requests_per_batch": users, "per_request_processors": True}
        if model.model.device.type == "cpu":  # otherwise most of the host's memory would become cache
            given["num_blocks"] = users * (-(-model.context // PAGE_TOKENS) + 1)
            given["max_batch_tokens"] = CPU_STEP_TOKENS
        given.update(settings.get("continuous_batching", {}))
        self._manager = model.model.init_continuous_batching(
            generation_config=generation, continuous_batching_config=ContinuousBatchingConfig(**given)
        )
        self._manager.warmup()
        self._manager.start()

    def take(self, message: dict[str, Any]) -> None:
        """Start or cancel a request; called in the proxy's thread."""
        if "cancel" in message:
            self._drop(str(message["cancel"]))
            return
        ask = message["ask"]
        try:
            ids, answer = self._model.prompt(ask)
            self._proxy.count(ask["id"], len(ids))
            greedy = ask["temperature"] == 0
            self._answers[str(ask["id"])] = answer
            self._manager.add_request(
                ids,
                request_id=str(ask["id"]),
                max_new_tokens=min(ask["max_tokens"], self._model.context - len(ids)),
                streaming=True,
                temperature=1.0 if greedy else float(ask["temperature"]),
                top_k=1 if greedy else min(ask["top_k"] or self._model.vocabulary, self._model.vocabulary),
                top_p=1.0 if greedy else float(ask["top_p"]),
            )
        except Exception as error:
            self._answers.pop(str(ask["id"]), None)
            self._proxy.refuse(ask["id"], error)

    def run(self) -> None:
        """Pass on the results; all results of a step go in a single message."""
        deltas: list[tuple[int, str, int, str]] = []
        while self._manager.is_running():
            result = self._manager.get_result(timeout=0 if deltas else POLL_SECONDS)
            if result is not None:
                self._collect(result, deltas)
            elif deltas:
                self._proxy.say(deltas)
                deltas = []
        die("the library's generation loop has ended")

    def _collect(self, result: Any, deltas: list[tuple[int, str, int, str]]) -> None:
        answer = self._answers.get(result.request_id)
        if answer is None:  # cancelled, or complete
            return
        number = int(result.request_id)
        # From here on the proxy's thread may cancel it at any moment.
        if result.error is not None:
            self._answers.pop(result.request_id, None)
            self._proxy.refuse(number, RuntimeError(result.error))
            return
        text = answer.take(result.generated_tokens[answer.tokens :])
        if text or answer.finish:
            deltas.append((number, text, answer.tokens, answer.finish))
        if answer.finish and result.is_finished():
            self._answers.pop(result.request_id, None)
        elif answer.finish:
            self._drop(result.request_id)

    def _drop(self, request: str) -> None:
        if self._answers.pop(request, None):
            self._manager.cancel_request(request)


class Unbatched:
    """One request after another."""

    def __init__(self, model: Model, _settings: dict[str, Any], proxy: Proxy) -> None:
        self._model, self._proxy = model, proxy
        self._asks: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._cancelled: dict[int, threading.Event] = {}  # of requests that are not complete

    def take(self, message: dict[str, Any]) -> None:
        """Queue or cancel a request; called in the proxy's thread."""
        if "ask" in message:
            self._cancelled[message["ask"]["id"]] = threading.Event()
            self._asks.put(message["ask"])
        elif cancelled := self._cancelled.get(message["cancel"]):
            cancelled.set()

    def run(self) -> None:
        """Answer the requests in order."""
        while True:
            ask = self._asks.get()
            cancelled = self._cancelled[ask["id"]]
            try:
                if not cancelled.is_set():
                    self._answer(ask, cancelled)
            except Exception as error:
                traceback.print_exc()
                self._proxy.refuse(ask["id"], error)
            del self._cancelled[ask["id"]]

    def _answer(self, ask: dict[str, Any], cancelled: threading.Event) -> None:
        import torch
        from transformers import StoppingCriteriaList

        ids, answer = self._model.prompt(ask)
        self._proxy.count(ask["id"], len(ids))

        def step(tokens: Any, _scores: Any, **_: Any) -> Any:
            if not answer.finish:
                text = answer.take(tokens[0, len(ids) + answer.tokens :].tolist())
                if text or answer.finish:
                    self._proxy.say([(ask["id"], text, answer.tokens, answer.finish)])
            return torch.tensor([bool(answer.finish) or cancelled.is_set()], device=tokens.device)

        prompt = torch.tensor([ids], device=self._model.model.device)
        if ask["seed"] is not None:
            torch.manual_seed(ask["seed"])
        sampling: dict[str, Any] = {"do_sample": False, "temperature": None, "top_k": None, "top_p": None}
        if ask["temperature"] > 0:
            sampling = {"do_sample": True, **{name: ask[name] for name in ("temperature", "top_k", "top_p")}}
        self._model.model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=self._model.context - len(ids),  # the step itself detects the end
            stopping_criteria=StoppingCriteriaList([step]),
            pad_token_id=self._model.ends[0] if self._model.ends else 0,
            eos_token_id=self._model.ends or None,
            **sampling,
        )


MODES = {"continuous": Continuous, "unbatched": Unbatched}


def start_ranks(count: int) -> None:
    """Start the other processes of a tensor-parallel group; if one of them exits, this one does."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE=str(count))
    for rank in range(1, count):
        environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank)}
        process = subprocess.Popen([sys.executable, *sys.argv], env=environment, stdin=subprocess.DEVNULL)
        threading.Thread(target=lambda rank=process: die(f"a rank has ended: {rank.wait()}"), daemon=True).start()
    os.environ.update(RANK="0", LOCAL_RANK="0")


def load(settings: dict[str, Any], rank: int) -> Any:
    """The runner: on a further rank of a group, which follows the first one, without a proxy."""
    if rank > 0:
        return Continuous(Model(settings), settings, proxy=None)
    mode: Any = None

    def take(message: dict[str, Any]) -> None:
        mode.take(message)  # connected before any request

    proxy = Proxy(take)
    if settings.get("mode") != "unbatched" and settings.get("tp", 1) > 1:
        start_ranks(settings["tp"])
    mode = MODES[settings.get("mode", "continuous")](Model(settings), settings, proxy)
    proxy.ready()
    return mode


def main(settings: dict[str, Any]) -> None:
    """Load, then answer until the proxy exits."""
    rank = int(os.environ.get("RANK", "0"))
    doing = "load the model"
    try:
        mode = load(settings, rank)
        doing = "go on answering"
        mode.run()
    except Exception:
        traceback.print_exc()
        if rank > 0:
            os._exit(1)  # the first rank notices
        die(f"transformers could not {doing}")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
