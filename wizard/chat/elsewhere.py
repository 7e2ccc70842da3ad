"""Lines to paste, so that other programs use a server and its OpenAI-compatible address.

Sources of the names of options, variables and fields, read in November 2026; the first four were also run against the
address with these lines:

- openai: github.com/openai/openai-python, README
- aider: aider.chat/docs/llms/openai-compat.html (``openai/`` before the model's name)
- llm: llm.datasette.io/en/stable/other-models.html, "OpenAI-compatible models"
- LangChain: docs.langchain.com/oss/python/integrations/chat/openai
- Open WebUI: its .env.example and ``open_webui/config.py`` of 0.12.4 (``OPENAI_API_BASE_URL``, ``OPENAI_API_KEY``)
- Continue: docs.continue.dev/customize/model-providers/top-level/openai (``name``, ``version`` and ``schema`` first)
"""

from __future__ import annotations

import json
import shlex

from wizard.chat.ask import API_KEY
from wizard.chat.snippet import KINDS, Request, snippet
from wizard.kernel.language import tr
from wizard.kernel.text import plain, table
from wizard.serve.endpoint import Endpoint

QUESTION = "What is Triton?"
KEY = "none"
"""No key is needed on this machine, but many programs insist on a value."""


def elsewhere(endpoint: Endpoint, chat: str, request: Request | None = None) -> str:
    """Ways to use the server without the wizard's screens, as lines to copy.

    Args:
        endpoint: The server.
        chat: The command for a chat with it.
        request: The last one, shown for every client.
    """
    parts = [snippet(request)] if request else []
    if endpoint.protocol == "openai":
        parts.append(f"HTTP     {endpoint.http}")
    else:
        addresses = (
            ("HTTP", endpoint.http),
            ("gRPC", endpoint.grpc),
            (tr("Metrics"), f"http://{endpoint.host}:{endpoint.ports.metrics}/metrics"),
            (tr("Log"), endpoint.log),
        )
        parts += [chat, table(addresses)]
        if endpoint.openai:
            parts.append(tr("OpenAI-compatible: {url}", url=endpoint.openai))
            parts += [f"# {name}\n{lines}" for name, lines in programs(endpoint)]
    if request:
        parts += [f"# {kind}\n{snippet(request, kind)}" for kind in KINDS if kind != "curl"]
    return plain("\n\n".join(parts))


def question(endpoint: Endpoint) -> str:
    """A shell command that asks a question at the OpenAI-compatible address."""
    export = f"{_export(endpoint)}\n" if endpoint.openai_key else ""
    return export + snippet(_request(endpoint))


def programs(endpoint: Endpoint) -> tuple[tuple[str, str], ...]:
    """Programs and their lines for the OpenAI-compatible address of ``endpoint``."""
    url, model = endpoint.openai or "", endpoint.name
    key, quoted, word = f'"${API_KEY}"' if endpoint.openai_key else KEY, json.dumps(model), shlex.quote(model)
    written = tr("<the API key>") if endpoint.openai_key else KEY
    chat = f"    base_url={url!r},\n    model={model!r},\n" + ("" if endpoint.openai_key else f"    api_key={KEY!r},\n")
    given = ((tr("API key, in the shell"), _export(endpoint)),) if endpoint.openai_key else ()
    stored = (f"\n  api_key_name: {word}  # llm keys set {word}") if endpoint.openai_key else ""
    return (
        *given,
        ("curl", snippet(_request(endpoint))),
        ("Python", snippet(_request(endpoint, stream=True), "python").rstrip()),
        ("Open WebUI", f"OPENAI_API_BASE_URL={url} {API_KEY}={key} \\\n  open-webui serve"),
        ("aider", f"aider --openai-api-base {url} --openai-api-key {key} \\\n  --model openai/{word}"),
        (
            'llm, in extra-openai-models.yaml in "$(dirname "$(llm logs path)")"',
            f"- model_id: {quoted}\n  model_name: {quoted}\n  api_base: {url}{stored}",
        ),
        ("LangChain", f"from langchain_openai import ChatOpenAI\n\nchat = ChatOpenAI(\n{chat})"),
        (
            "Continue, in ~/.continue/config.yaml",
            f"name: Triton\nversion: 0.0.1\nschema: v1\nmodels:\n  - name: {quoted}\n    provider: openai\n"
            f"    model: {quoted}\n    apiBase: {url}\n    apiKey: {written}",
        ),
    )


def _request(endpoint: Endpoint, **more: object) -> Request:
    body = {"model": endpoint.name, "messages": [{"role": "user", "content": QUESTION}], **more}
    return Request(f"{endpoint.openai}/chat/completions", body, endpoint.name, key=endpoint.openai_key is not None)


def _export(endpoint: Endpoint) -> str:
    return f'export {API_KEY}="$(cat {shlex.quote(endpoint.openai_key or "")})"'
