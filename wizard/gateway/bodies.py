"""The bodies of requests, checked (platform.openai.com/docs/api-reference: chat, completions)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field

from wizard.chat.conversation import Sampling
from wizard.gateway.checked import Checked, Many
from wizard.gateway.faults import Fault, unsupported
from wizard.gateway.guided import ResponseFormat, schema_of
from wizard.gateway.reasoning import TemplateVariables, mode_of
from wizard.gateway.tools import Call, Choice, GivenTools, Tools, tools_of, turn_call
from wizard.kernel.errors import UsageError

MOST_STOPS = 32
"""OpenAI accepts 4; each is searched in every piece of an answer."""
LONGEST_STOP = 1000
"""Characters."""
COMPLETION_TOKENS = 16
"""OpenAI's default for completions."""
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "repetition_penalty": (1,),
    "top_k": (0, -1),
    "min_p": (0,),
}
"""Parameter → values that change nothing, which many programs always send: dropped, as a model may lack the setting."""
MOST_CHOICES = 128
"""OpenAI's limit for ``n``; here also for all prompts of a completion together."""
ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


_Stop = Annotated[str, Field(max_length=LONGEST_STOP)]


class _StreamOptions(Checked):
    include_usage: bool | None = None


class Part(Checked):
    """A part of a message; only texts are supported."""

    type: str
    text: str | None = None


class _Message(Checked):
    role: str
    content: str | Many[Part] | None = None
    name: str | None = None
    tool_calls: Many[Call] | None = None
    tool_call_id: str | None = None


class Body(Checked):
    """What chat completions and completions share; ``top_k`` and the two after it are vLLM's additions."""

    model: str
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    stop: _Stop | Annotated[Many[_Stop], Field(max_length=MOST_STOPS)] | None = None
    n: Annotated[int, Field(ge=1, le=MOST_CHOICES)] | None = None
    logit_bias: Any = None


class ChatBody(Body):
    """A request for a chat completion."""

    messages: Annotated[Many[_Message], Field(min_length=1)]
    max_completion_tokens: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    tools: GivenTools = None
    tool_choice: Choice = None
    parallel_tool_calls: bool | None = None
    functions: Any = None
    response_format: ResponseFormat | None = None
    reasoning_effort: str | None = None
    chat_template_kwargs: TemplateVariables | None = None
    modalities: Any = None
    audio: Any = None


class CompletionBody(Body):
    """A request for a completion of a text."""

    prompt: str | Annotated[Many[str], Field(min_length=1)] | Many[int] | Many[Many[int]]
    response_format: ResponseFormat | None = None
    logprobs: int | None = None
    echo: bool | None = None
    suffix: str | None = None
    best_of: int | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A checked request.

    Attributes:
        kind: Which of the two APIs.
        model: As the client names it.
        turns: The messages of a chat, as templates read them.
        prompts: Of a completion.
        sampling: The settings; ``max_tokens`` is in the next one.
        max_tokens: None: the client gave none.
        given: Names of the settings that the client gave.
        stream: Whether to answer with events.
        usage: Whether the last event has the usage.
        n: Answers to each prompt.
        schema: The JSON schema that the answer must match, as text.
        tools: The functions that the model may call.
    """

    kind: Literal["chat", "completion"]
    model: str
    turns: tuple[dict[str, Any], ...]
    prompts: tuple[str, ...]
    sampling: Sampling
    max_tokens: int | None
    given: frozenset[str]
    stream: bool
    usage: bool
    n: int = 1
    schema: str | None = None
    tools: Tools | None = None


def chat(raw: bytes) -> Wanted:
    """Read the body of a chat completion.

    Raises:
        Fault: TW-G03 a value is wrong or contradicts another, TW-G04 not supported.
        pydantic.ValidationError: It is not JSON, or has wrong types.
    """
    body = ChatBody.model_validate_json(raw)
    if body.functions:
        raise unsupported("functions", "functions are not supported by this server: use tools")
    if body.audio:
        raise unsupported("audio", "audio is not supported by this server")
    if body.modalities not in (None, [], ["text"]):
        raise unsupported("modalities", "this model generates text only")
    if body.top_logprobs is not None and not body.logprobs:
        raise Fault("TW-G03", 400, "top_logprobs needs logprobs to be true", "top_logprobs")
    limit = body.max_tokens if body.max_completion_tokens is None else body.max_completion_tokens
    if None not in (body.max_tokens, body.max_completion_tokens) and body.max_tokens != body.max_completion_tokens:
        raise Fault("TW-G03", 400, "max_tokens and max_completion_tokens contradict each other", "max_tokens")
    logprobs = (body.top_logprobs or 0) if body.logprobs else None
    functions = tools_of(body.tools, body.tool_choice, body.parallel_tool_calls)
    schema = schema_of(body.response_format)
    if functions and schema:
        raise unsupported("response_format", "a response_format together with tools is not supported by this server")
    wanted = _wanted(body, "chat", limit, logprobs, turns=tuple(map(_turn, body.messages)))
    sampling = replace(wanted.sampling, thinking=mode_of(body.reasoning_effort, body.chat_template_kwargs))
    return replace(wanted, sampling=sampling, schema=functions.schema if functions else schema, tools=functions)


def completion(raw: bytes) -> Wanted:
    """Read the body of a completion; the errors are those of `chat`."""
    body = CompletionBody.model_validate_json(raw)
    given = (body.prompt,) if isinstance(body.prompt, str) else body.prompt
    prompts = tuple(prompt for prompt in given if isinstance(prompt, str))
    if len(prompts) < len(given):
        raise unsupported("prompt", "prompts must be texts: token IDs are not supported by this server")
    if not prompts or not all(prompts):
        raise Fault("TW-G03", 400, "prompt is empty", "prompt")
    if len(prompts) * (body.n or 1) > MOST_CHOICES:
        raise Fault("TW-G03", 400, f"a request may have {MOST_CHOICES} answers, over all its prompts", "prompt")
    if body.echo or body.suffix or (body.best_of or 1) != 1:
        name = "echo" if body.echo else "suffix" if body.suffix else "best_of"
        raise unsupported(name, f"{name} is not supported by this server")
    limit = COMPLETION_TOKENS if body.max_tokens is None else body.max_tokens
    wanted = _wanted(body, "completion", limit, body.logprobs, prompts=prompts)
    return replace(wanted, schema=schema_of(body.response_format))


def _turn(message: _Message) -> dict[str, Any]:
    if message.role not in ROLES:
        raise unsupported("messages", f"messages of the role {message.role[:40]!r} are not supported by this server")
    if isinstance(message.content, list):
        if any(part.type != "text" or part.text is None for part in message.content):
            raise unsupported("messages", "this model reads text only: every part of a message must be a text")
        content = "".join(part.text or "" for part in message.content)
    else:
        content = message.content or ""
    turn: dict[str, Any] = {"role": ROLES[message.role], "content": content}
    if message.tool_calls:
        turn["tool_calls"] = [*map(turn_call, message.tool_calls)]
    if message.role == "tool":
        turn |= {name: value for name in ("name", "tool_call_id") if (value := getattr(message, name)) is not None}
    return turn


def _wanted(
    body: Body,
    kind: Literal["chat", "completion"],
    max_tokens: int | None,
    logprobs: int | None,
    turns: tuple[dict[str, Any], ...] = (),
    prompts: tuple[str, ...] = (),
) -> Wanted:
    if body.logit_bias:
        raise unsupported("logit_bias", "logit_bias is not supported by this server")
    if body.stream_options and not body.stream:
        raise Fault("TW-G03", 400, "stream_options needs stream to be true", "stream_options")
    stop = (body.stop,) if isinstance(body.stop, str) else tuple(body.stop or ())
    names = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "top_k", "min_p", "repetition_penalty")
    given = {name: getattr(body, name) for name in names}
    settings = {name: value for name, value in given.items() if value not in (None, *NEUTRAL.get(name, ()))}
    if body.seed is not None:
        settings["seed"] = body.seed % 2**64  # OpenAI's are signed, Triton's are not
    if logprobs is not None:
        settings["logprobs"] = logprobs
    for name, value in (*settings.items(), ("max_tokens", max_tokens)):
        try:
            if value is not None:
                Sampling(**{name: value}).check()
        except UsageError as error:
            param = "top_logprobs" if name == "logprobs" and kind == "chat" else name
            raise Fault("TW-G03", 400, f"{error.what}. {error.todo}", param) from error
    sampling = Sampling(**settings, stop=tuple(each for each in stop if each))
    options = body.stream_options
    usage = bool(options and options.include_usage)
    stream, n = bool(body.stream), body.n or 1
    return Wanted(kind, body.model, turns, prompts, sampling, max_tokens, frozenset(settings), stream, usage, n)
