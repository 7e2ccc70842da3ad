"""The last request as code to run elsewhere: a shell command or a Python program, exactly as sent."""

from __future__ import annotations

import json
import pprint
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from wizard.chat.ask import API_KEY
from wizard.chat.wire import Tensor
from wizard.serve.endpoint import Endpoint

Kind: TypeAlias = Literal["curl", "python", "urllib"]
KINDS: tuple[Kind, ...] = ("curl", "python", "urllib")
"""``python`` uses the server's usual client (tritonclient, openai), ``urllib`` only the standard library."""

NOT_OPENAIS = ("top_k", "min_p", "repetition_penalty")
EXTRA = (*NOT_OPENAIS, "chat_template_kwargs")
"""Parameters that OpenAI's own client accepts only as extra ones: settings, and all of these."""
END = "END_OF_REQUEST"
"""Ends the request in a shell command; JSON has no such line."""
SHORT = 120
"""Characters of a body that is an argument of the shell command."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it was sent.

    Attributes:
        url: Target of a POST of ``body``; the response is a stream of events.
        body: JSON.
        model: The model's name on the server.
        grpc: ``host:port`` of Triton's gRPC endpoint; empty for an OpenAI-compatible server.
        tensors: Inputs over gRPC, the same as ``body``.
        key: Whether the server requires the API key from the environment, which no snippet contains.
    """

    url: str
    body: Mapping[str, Any]
    model: str
    grpc: str = ""
    tensors: tuple[Tensor, ...] = ()
    key: bool = False


def triton_request(endpoint: Endpoint, model: str, tensors: list[Tensor]) -> Request:
    """The request to a Triton model, over either protocol."""
    body = {each.name: each.values[0] if each.single else list(each.values) for each in tensors}
    url = f"{endpoint.http}/v2/models/{quote(model, safe='')}/generate_stream"
    return Request(url, body, model, endpoint.grpc, tuple(tensors))


def snippet(request: Request, kind: Kind = "curl") -> str:
    """``request`` as lines to copy; terminal control characters are escaped."""
    return {"curl": _curl, "python": _client, "urllib": _urllib}[kind](request)


def _curl(request: Request) -> str:
    lines = [f"curl -sSN {shlex.quote(request.url)}", "-H 'Content-Type: application/json'"]
    if request.key:
        lines.append(f'-H "Authorization: Bearer ${API_KEY}"')
    short = json.dumps(request.body, ensure_ascii=False)
    if len(short) <= SHORT and short.isprintable():
        return " \\\n  ".join((*lines, f"-d {shlex.quote(short)}"))
    lines.append(f"--data-binary @- <<'{END}'")
    return " \\\n  ".join(lines) + f"\n{_json(request.body)}\n{END}"


def _client(request: Request) -> str:
    return _tritonclient(request) if request.grpc else _openai(request)


def _tritonclient(request: Request) -> str:
    inputs = [(each.name, each.kind, list(each.shape), list(each.values)) for each in request.tensors]
    return f"""# pip install 'tritonclient[grpc]'
import queue

import numpy as np
from tritonclient.grpc import InferenceServerClient, InferInput
from tritonclient.utils import triton_to_np_dtype

INPUTS = {_literal(inputs)}

inputs = []
for name, kind, shape, values in INPUTS:
    values = [value.encode() if isinstance(value, str) else value for value in values]
    inputs.append(InferInput(name, shape, kind))
    inputs[-1].set_data_from_numpy(np.array(values, dtype=triton_to_np_dtype(kind)).reshape(shape))

responses = queue.Queue()
with InferenceServerClient({request.grpc!r}) as client:
    client.start_stream(lambda result, error: responses.put((result, error)))
    client.async_stream_infer({request.model!r}, inputs, enable_empty_final_response=True)
    while True:
        result, error = responses.get()
        if error:
            raise SystemExit(str(error))
        text, ids = result.as_numpy("text_output"), result.as_numpy("output_ids")
        if text is not None:
            print(text.reshape(-1)[0].decode(), end="", flush=True)
        elif ids is not None:
            print(*ids.reshape(-1), end=" ", flush=True)  # token ids; the model's tokenizer makes text of them
        if result.get_response().parameters["triton_final_response"].bool_param:
            break
print()
"""


def _openai(request: Request) -> str:
    own = {name: value for name, value in request.body.items() if name not in EXTRA}
    more = {name: value for name, value in request.body.items() if name in EXTRA}
    extra = f", extra_body={_literal(more)}" if more else ""
    key = f'os.environ["{API_KEY}"]' if request.key else '"none"'
    return f"""# pip install openai
{"import os" + chr(10) * 2 if request.key else ""}from openai import OpenAI

REQUEST = {_literal(own)}

client = OpenAI(base_url={request.url.removesuffix("/chat/completions")!r}, api_key={key})
for chunk in client.chat.completions.create(**REQUEST{extra}):
    for choice in chunk.choices:
        print(choice.delta.content or "", end="", flush=True)
print()
"""


def _urllib(request: Request) -> str:
    key = f', "Authorization": "Bearer " + os.environ["{API_KEY}"]' if request.key else ""
    read = """said = json.loads(data)
        if "error" in said:
            raise SystemExit(said["error"])
        print(said.get("text_output", said.get("output_ids", "")), end="", flush=True)"""
    if not request.grpc:
        read = """if data == b"[DONE]":
            break
        for choice in json.loads(data)["choices"]:
            print(choice["delta"].get("content") or "", end="", flush=True)"""
    return f"""import json
{"import os" + chr(10) if request.key else ""}import urllib.request

REQUEST = {_literal(request.body)}

headers = {{"Content-Type": "application/json"{key}}}
request = urllib.request.Request({request.url!r}, json.dumps(REQUEST).encode(), headers)
with urllib.request.urlopen(request) as answer:
    for line in answer:  # an event is one line
        if not line.startswith(b"data:"):
            continue
        data = line[len(b"data:") :].strip()
        {read}
print()
"""


def _literal(value: object) -> str:
    """A Python literal, long texts on several lines; unprintable characters are escaped."""
    return pprint.pformat(value, width=110, sort_dicts=False)


def _json(body: Mapping[str, Any]) -> str:
    """JSON in which unprintable characters are escaped."""
    text = json.dumps(body, ensure_ascii=False, indent=1)
    return re.sub(r"[^\n -~]", lambda match: match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1], text)
