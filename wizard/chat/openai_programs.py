"""Lines to paste, so that other programs use a server's OpenAI-compatible address.

Sources of the options' names: each program's documentation (docs.openwebui.com, aider.chat/docs, llm.datasette.io,
python.langchain.com, docs.continue.dev), November 2026. `tests/gateway` runs the first two.
"""

from __future__ import annotations

import json
import shlex

QUESTION = "What is Triton?"
KEY = "none"
"""No key is needed on this machine, but many programs insist on one."""


def curl(url: str, model: str, question: str = QUESTION) -> str:
    """A shell command that asks a question."""
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": question}]}, ensure_ascii=False)
    return f"curl -sS {url}/chat/completions -H 'Content-Type: application/json' -d {shlex.quote(body)}"


def python(url: str, model: str, question: str = QUESTION) -> str:
    """A program for OpenAI's own client."""
    return f"""from openai import OpenAI

client = OpenAI(base_url={url!r}, api_key={KEY!r})
messages = [{{"role": "user", "content": {question!r}}}]
for chunk in client.chat.completions.create(model={model!r}, messages=messages, stream=True):
    print(chunk.choices[0].delta.content or "", end="", flush=True)
print()"""


def programs(url: str, model: str) -> tuple[tuple[str, str], ...]:
    """Programs and their lines.

    Args:
        url: The address, which ends with ``/v1``.
        model: Name of the model.
    """
    quoted, word = json.dumps(model), shlex.quote(f"openai/{model}")
    return (
        ("curl", curl(url, model)),
        ("Python, openai", python(url, model)),
        ("Open WebUI", f"OPENAI_API_BASE_URL={url} OPENAI_API_KEY={KEY} open-webui serve"),
        ("aider", f"aider --openai-api-base {url} --openai-api-key {KEY} --model {word}"),
        (
            'llm, in "$(dirname "$(llm logs path)")/extra-openai-models.yaml"',
            f"- model_id: {quoted}\n  model_name: {quoted}\n  api_base: {url}",
        ),
        (
            "LangChain",
            f"from langchain_openai import ChatOpenAI\n\n"
            f"chat = ChatOpenAI(base_url={url!r}, api_key={KEY!r}, model={model!r})",
        ),
        (
            "Continue, in ~/.continue/config.yaml",
            f"models:\n  - name: {quoted}\n    provider: openai\n    model: {quoted}\n"
            f"    apiBase: {url}\n    apiKey: {KEY}",
        ),
    )
