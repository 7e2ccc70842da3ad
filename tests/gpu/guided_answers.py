"""Answers of a real engine that must match a schema, by the OpenAI-compatible address: a part of ``journey.py``."""

from __future__ import annotations

import itertools
import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from journey import Journey

PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome"]}, "rain": {"type": "boolean"}},
    "required": ["city", "rain"],
    "additionalProperties": False,
}
ALLOWED = [
    json.dumps({"city": city, "rain": rain}, separators=(",", ":"))
    for city, rain in itertools.product(("Oslo", "Rome"), (True, False))
]
"""All that matches, without white space, of which there may be any amount."""
SEEDS = range(8)


def guided(journey: Journey, name: str, endpoint: dict[str, Any]) -> list[Any]:
    """Check that answers match, and that a schema that is none is refused; the answers."""
    answers = [ask(endpoint, schema=PARAMETERS, seed=seed) for seed in SEEDS]
    seen = [(status, body["choices"][0]) for status, body in answers if status == 200]
    texts = [("".join(each["message"]["content"].split()), each["finish_reason"]) for _, each in seen]
    good = len(texts) == len(SEEDS) and all(matches(text, end) for text, end in texts)
    journey.check(f"{name}: {len(SEEDS)} guided answers match", good, texts or answers)
    journey.note(f"{name}: guided answers that ended", sum(end == "stop" for _, end in texts))
    status, body = ask(endpoint, schema={"type": "nothing"})
    journey.check(f"{name}: a schema that is none has status 400", status == 400, f"{status} {str(body)[:200]}")
    status, body = ask(endpoint)
    journey.check(f"{name}: a free answer after it", status == 200, f"{status} {str(body)[:200]}")
    return texts


def matches(text: str, end: str) -> bool:
    """Whether an answer of a random model that has no end token is what the schema allows: as far as it came.

    Once the object is complete, the grammar allows no token at all; vLLM 0.26 then takes token 0 and ends the answer
    with ``error``.
    """
    if end == "error":
        return text[:-1] in ALLOWED
    return text in ALLOWED if end == "stop" else any(whole.startswith(text) for whole in ALLOWED)


def ask(endpoint: dict[str, Any], schema: Any = None, seed: int = 1) -> tuple[int, Any]:
    """Status and body of a request."""
    form = {"type": "json_schema", "json_schema": {"name": "weather", "schema": schema}}
    body = {
        "model": endpoint["name"],
        "messages": [{"role": "user", "content": "Where does it rain? Answer in JSON: city and rain."}],
        "max_tokens": 100,
        "temperature": 1.0,
        "seed": seed,
        **({"response_format": form} if schema else {}),
    }
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{endpoint['openai']}/chat/completions", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=120) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())
