"""The parts of ``native_stacks.py`` that run in processes of their own: ``python stack_parts.py VERB JSON``.

The last line that a part prints is its result as JSON. Those of the engine's interpreter need torch and transformers or
vLLM, ``client`` needs ``tritonclient[grpc]``.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import string
import sys
import time
from typing import Any

SHAPES: dict[str, dict[str, int]] = {
    "llama-8b": {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
    },
    "llama-1b": {
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
    },
    "tiny": {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 512,
    },
}
CONTEXT = 4096
"""Tokens of prompt plus answer."""
ANSWERED = "ANSWERED "
"""Begins the line of `dummy_vllm` among those of vLLM's log."""


def prompts(count: int, tokens: int, run: int) -> list[str]:
    """Texts that no prefix cache knows yet; with the made model's tokenizer each letter is a token."""
    letters = random.Random(run)
    return ["".join(letters.choices(string.ascii_lowercase, k=tokens)) for _ in range(count)]


def summary(started: float, requests: list[dict[str, Any]]) -> dict[str, float]:
    """Figures of one load: all together, and what a median request saw."""
    ended = max(request["end"] for request in requests)
    tokens = sum(request["tokens"] for request in requests)
    return {
        "requests": len(requests),
        "tokens": tokens,
        "seconds": round(ended - started, 3),
        "tokens_per_s": round(tokens / (ended - started), 1),
        "ttft_ms": round(1000 * statistics.median(request["first"] - started for request in requests), 1),
        "responses": sum(request["responses"] for request in requests),
    }


# What runs in the engine's interpreter


def make_model(folder: str, shape: str) -> None:
    """A Llama of random weights with a byte-level tokenizer and no end token."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    sizes = SHAPES[shape]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = [*letters, *(f"Ġw{number}" for number in range(sizes["vocab_size"] - len(letters)))]
    tokenizer = Tokenizer(models.BPE(vocab={word: number for number, word in enumerate(words)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    config = LlamaConfig(**sizes, max_position_embeddings=CONTEXT, bos_token_id=None, eos_token_id=None)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = LlamaForCausalLM(config)
    model.save_pretrained(folder, max_shard_size="4GB")


async def bare_vllm(settings: dict[str, Any], loads: list[list[str]], answer: int) -> dict[str, Any]:
    """vLLM's own AsyncLLM, asked in its own process."""
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.sampling_params import RequestOutputKind, SamplingParams
    from vllm.v1.engine.async_llm import AsyncLLM

    engine = AsyncLLM.from_engine_args(AsyncEngineArgs(**settings))
    kind = RequestOutputKind.DELTA
    sampling = SamplingParams(temperature=0.0, max_tokens=answer, ignore_eos=True, output_kind=kind)

    async def generate(name: str, prompt: str) -> dict[str, Any]:
        seen: dict[str, Any] = {"tokens": 0, "responses": 0}
        async for output in engine.generate(prompt, sampling, name):
            seen.setdefault("first", time.monotonic())
            seen["tokens"] += len(output.outputs[0].token_ids)
            seen["responses"] += 1
        return {**seen, "end": time.monotonic()}

    runs = []
    for number, load in enumerate(loads):
        started = time.monotonic()
        runs.append(summary(started, await asyncio.gather(*(generate(f"{number}-{i}", p) for i, p in enumerate(load)))))
    engine.shutdown()
    return {"loads": runs}


def load_vllm(settings: dict[str, Any]) -> None:
    """Load vLLM as the engine program does, say so, and keep it until the process is killed."""
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    async def main() -> None:
        engine = AsyncLLM.from_engine_args(AsyncEngineArgs(**settings))
        print("loaded", flush=True)
        await asyncio.Event().wait()
        engine.shutdown()

    asyncio.run(main())


def dummy_vllm(settings: dict[str, Any], requests: int, answer: int) -> None:
    """Load vLLM without weights and a tokenizer, answer one request and then ``requests`` at once, print the tokens of
    each answer, and keep it until the process is killed.
    """
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.sampling_params import RequestOutputKind, SamplingParams
    from vllm.v1.engine.async_llm import AsyncLLM

    kind = RequestOutputKind.DELTA
    sampling = SamplingParams(temperature=0.0, max_tokens=answer, ignore_eos=True, detokenize=False, output_kind=kind)

    async def main() -> None:
        engine = AsyncLLM.from_engine_args(AsyncEngineArgs(**settings))

        async def tokens(number: int) -> int:
            prompt = {"prompt_token_ids": [(7 * number + place) % 30000 + 3 for place in range(100)]}
            return sum(
                [len(each.outputs[0].token_ids) async for each in engine.generate(prompt, sampling, str(number))]
            )

        answers = [await tokens(0), *await asyncio.gather(*(tokens(number) for number in range(1, requests + 1)))]
        print(f"\n{ANSWERED}{json.dumps(answers)}", flush=True)
        await asyncio.Event().wait()
        engine.shutdown()

    asyncio.run(main())


def bare_transformers(settings: dict[str, Any], loads: list[list[str]], answer: int) -> dict[str, Any]:
    """The library's own ``generate_batch``."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, ContinuousBatchingConfig, GenerationConfig

    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = AutoTokenizer.from_pretrained(settings["model"])
    model = AutoModelForCausalLM.from_pretrained(settings["model"], dtype="auto").to(device).eval()
    small = {} if device == "cuda" else {"num_blocks": 1024, "max_batch_tokens": 2048}
    runs = []
    for load in loads:
        ids = [tokenizer(prompt)["input_ids"] for prompt in load]
        generation = GenerationConfig(max_new_tokens=answer, do_sample=False, eos_token_id=-1)
        started = time.monotonic()
        done = model.generate_batch(
            ids,
            generation_config=generation,
            continuous_batching_config=ContinuousBatchingConfig(**small),
            persistent_manager=True,
        )
        end = time.monotonic()
        requests = [
            {"tokens": len(output.generated_tokens), "responses": 1, "first": end, "end": end}
            for output in done.values()
        ]
        runs.append(summary(started, requests))
    return {"loads": runs}


# What runs in the clients' interpreter


async def client(
    address: str, load: list[str], answer: int, stream: bool, begin: float, model: str = "demo"
) -> list[dict[str, Any]]:
    """Ask all at once at the time ``begin`` (``time.monotonic``), over one connection."""
    from tritonclient.grpc.aio import InferenceServerClient

    async with InferenceServerClient(address) as server:
        await server.is_server_ready()
        await asyncio.sleep(max(0.0, begin - time.monotonic()))
        return await asyncio.gather(*(_answer_to(server, model, prompt, answer, stream) for prompt in load))


async def openai(
    address: str, load: list[str], answer: int, stream: bool, begin: float, model: str = "demo"
) -> list[dict[str, Any]]:
    """The same over the OpenAI-compatible ``address`` (``HOST:PORT``), with a connection for each answer."""
    connections = [await asyncio.open_connection(*address.rsplit(":", 1)) for _ in load]
    await asyncio.sleep(max(0.0, begin - time.monotonic()))
    wanted = {"model": model, "max_tokens": answer, "temperature": 0.0, "stream": stream}
    wanted["stream_options"] = {"include_usage": True}
    pairs = zip(connections, load, strict=True)
    return await asyncio.gather(*(_events(*each, {**wanted, "prompt": prompt}) for each, prompt in pairs))


async def _events(reader: Any, writer: Any, wanted: dict[str, Any]) -> dict[str, Any]:
    body = json.dumps(wanted).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    seen: dict[str, Any] = {"tokens": 0, "responses": 0}
    while (line := await reader.readline()) != b"0\r\n":  # the last chunk
        if not line:
            raise ConnectionError("the address hung up")
        if not line.startswith(b"data: {"):
            continue
        event = json.loads(line.removeprefix(b"data: "))
        if "error" in event:
            raise RuntimeError(event["error"]["message"])
        if event["choices"]:
            seen["responses"] += 1
            seen.setdefault("first", time.monotonic())
        if usage := event.get("usage"):
            seen["tokens"] = usage["completion_tokens"]
    writer.close()
    return {**seen, "end": time.monotonic()}


async def users(address: str, answer: int, model: str = "demo") -> None:
    """Play users, as each line of the input wants it: all begin at once, and each sends its next prompt when the answer
    to the one before has ended. Print what they saw, a line for each line; the first says that it is connected.
    """
    from tritonclient.grpc.aio import InferenceServerClient

    async with InferenceServerClient(address) as server:

        async def play(texts: list[str], begin: float) -> list[dict[str, Any]]:
            await asyncio.sleep(max(0.0, begin - time.monotonic()))
            return [{"sent": time.monotonic(), **await _answer_to(server, model, text, answer, True)} for text in texts]

        print(json.dumps(await server.is_server_ready()), flush=True)
        for line in sys.stdin:  # nothing else has to run while it waits
            wanted = json.loads(line)
            seen = await asyncio.gather(*(play(texts, wanted["begin"]) for texts in wanted["load"]))
            print(json.dumps(seen), flush=True)


async def _answer_to(server: Any, model: str, prompt: str, answer: int, stream: bool) -> dict[str, Any]:
    seen: dict[str, Any] = {"tokens": 0, "responses": 0}

    async def once() -> Any:
        yield {"model_name": model, "inputs": inputs(prompt, answer, stream)}

    async for result, error in server.stream_infer(once()):
        if error is not None:
            raise error
        seen["responses"] += 1
        seen["tokens"] = int(result.as_numpy("completion_tokens")[0])
        seen.setdefault("first", time.monotonic())
        if result.as_numpy("finish_reason")[0]:
            break
    return {**seen, "end": time.monotonic()}


def inputs(prompt: str, answer: int, stream: bool, *, chat: bool = False) -> list[Any]:
    import numpy as np
    from tritonclient.grpc import InferInput

    values: dict[str, tuple[str, Any]] = {
        "text_input": ("BYTES", np.array([prompt.encode()], np.object_)),
        "max_tokens": ("INT32", np.array([answer], np.int32)),
        "temperature": ("FP32", np.array([0.0], np.float32)),
        "stream": ("BOOL", np.array([stream])),
        "apply_chat_template": ("BOOL", np.array([chat])),
    }
    made = []
    for name, (kind, value) in values.items():
        made.append(InferInput(name, [1], kind))
        made[-1].set_data_from_numpy(value)
    return made


def main(verb: str, argument: dict[str, Any]) -> Any:
    """Run one part."""
    if verb == "make-model":
        make_model(**argument)
        return "made"
    if verb == "load-vllm":
        return load_vllm(**argument)
    if verb == "dummy-vllm":
        return dummy_vllm(**argument)
    if verb == "bare-vllm":
        return asyncio.run(bare_vllm(**argument))
    if verb == "bare-transformers":
        return bare_transformers(**argument)
    if verb == "users":
        return asyncio.run(users(**argument))
    return asyncio.run({"client": client, "openai": openai}[verb](**argument))


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], json.loads(sys.argv[2]))), flush=True)
    os._exit(0)  # threads of vLLM and transformers may outlive the work
