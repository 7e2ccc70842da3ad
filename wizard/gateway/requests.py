"""A checked body as requests to the model, one for each answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wizard.chat import rendering
from wizard.chat.ask import Ask, PromptTooLong
from wizard.chat.client import Client, ask_of
from wizard.chat.rendering import plain_turns
from wizard.chat.wire import WIZARD
from wizard.gateway.bodies import Wanted
from wizard.gateway.faults import unsupported
from wizard.gateway.reasoning import switched
from wizard.gateway.tools import packed
from wizard.model.special_tokens import pattern

NAMES = {"json_schema": "response_format"}
"""Setting of ours → OpenAI's parameter."""

LONGEST_TOKEN = 1024
"""Characters, generously: engines need many seconds to split a text into tokens that is far too long for them."""


def asks(wanted: Wanted, client: Client, prompt: str | None = None) -> list[Ask]:
    """The requests; those of the same prompt have seeds of their own if the client gave one.

    Args:
        wanted: The checked body.
        client: The model's client.
        prompt: The rendered `question`; None: the body has the prompts, or the model has no template.

    Raises:
        Fault: TW-G04 the model lacks a setting that the client gave.
        PromptTooLong: A prompt cannot fit, whatever its tokens are.
    """
    served, sampling = client.served, wanted.sampling
    if sampling.logprobs is not None and sampling.logprobs > (-1 if served.logprobs is None else served.logprobs):
        raise unsupported("logprobs", f"this model reports at most {served.logprobs or 'no'} alternatives per token")
    prompts = wanted.prompts or (wanted.turns[-1]["content"] if prompt is None else prompt,)
    rendered = wanted.kind == "chat" and served.chat is not None
    made = []
    for text in prompts:
        if served.max_seq_len and len(text) > LONGEST_TOKEN * served.max_seq_len:
            raise PromptTooLong(f"{len(text):,} characters; a request can have {served.max_seq_len:,} tokens")
        ask = ask_of(served, client.tokenizer, text, sampling, rendered=rendered)
        ask = replace(ask, json_schema=wanted.schema, tools=_tools(wanted, client))
        limit = wanted.max_tokens or _room(client, ask)
        ask = replace(ask, max_tokens=min(limit, served.max_seq_len or limit))
        seeds = [None if ask.seed is None else (ask.seed + number) % 2**64 for number in range(wanted.n)]
        made += [replace(ask, seed=seed) for seed in seeds]
    _check(wanted, made[0], client)
    return made


def _check(wanted: Wanted, ask: Ask, client: Client) -> None:
    """Refuse what the client gave and the model lacks."""
    given = wanted.given | ({"json_schema"} if ask.json_schema else set()) | ({"tools"} if ask.tools else set())
    lacking = sorted(given & {*client.served.wire.lacks(ask)})
    if not lacking:
        return
    if "tools" in lacking:
        why = "this engine cannot read the function calls of this model"
        raise unsupported("tools", f"{why}; a tool_choice that requires a call may work" if _guides(client) else why)
    if wanted.tools:
        raise unsupported("tool_choice", "this engine cannot guide answers, so no function call can be required")
    names = [NAMES.get(name, name) for name in lacking]
    raise unsupported(names[0], f"this model does not support {', '.join(names)}")


def _guides(client: Client) -> bool:
    return not client.served.wire.lacks(Ask("", "", 1, None, 1.0, None, json_schema="{}"))


def question(wanted: Wanted, client: Client) -> bytes | None:
    """What the process of the model's template gets (`wizard.gateway.templates`); None if nothing is rendered.

    Raises:
        Fault: TW-G04 the template has no functions, or lacks a mode of thinking.
    """
    if wanted.prompts:
        return None
    chat = client.served.chat
    calls = wanted.tools or any(turn["role"] == "tool" or "tool_calls" in turn for turn in wanted.turns)
    if calls and (chat is None or "tools" not in chat.template):
        param = "tools" if wanted.tools else "messages"
        raise unsupported(param, "this model's chat template has no functions")
    given = {"tools": plain_turns(wanted.tools.given, pattern(chat))} if wanted.tools else {}
    given |= switched(client.served, wanted.sampling.thinking)
    return rendering.question(wanted.turns, chat, given) if chat else None


def _tools(wanted: Wanted, client: Client) -> str | None:
    """The functions for the engine, if it has to find calls in a free answer."""
    if wanted.tools is None or wanted.tools.schema is not None:
        return None
    special = pattern(client.served.chat)
    tools: Any = plain_turns(wanted.tools.given, special)
    return packed(replace(wanted.tools, given=tuple(tools)), plain_turns(wanted.turns, special))


def _room(client: Client, ask: Ask) -> int:
    """Tokens of an answer without a limit, as OpenAI's: all that the context has left, where that is known."""
    length = client.served.max_seq_len
    if length is not None and client.served.wire.format is WIZARD:
        return length  # the model itself ends an answer at the end of its context
    if length is not None and ask.ids:
        return max(1, length - len(ask.ids))
    return client.served.answer_limit
