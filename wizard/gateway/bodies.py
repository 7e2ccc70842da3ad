"""The bodies of requests, checked (platform.openai.com/docs/api-reference: chat, completions)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from wizard.chat.conversation import Message, Role, Sampling
from wizard.gateway.faults import Fault, unsupported
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
    "top_p": (1,),
    "top_k": (0, -1),
    "min_p": (0,),
}
"""Parameter → values that change nothing, which many programs always send: dropped, as a model may lack the setting."""
ROLES: dict[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


_Stop = Annotated[str, Field(max_length=LONGEST_STOP)]


class Checked(BaseModel):
    """Strict types; unknown parameters are ignored, as new ones appear every month."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)


class _StreamOptions(Checked):
    include_usage: bool | None = None


class Part(Checked):
    """A part of a message; only texts are supported."""

    type: str
    text: str | None = None


class _Message(Checked):
    role: str
    content: str | list[Part] | None = None
    tool_calls: Any = None


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
    stop: _Stop | Annotated[list[_Stop], Field(max_length=MOST_STOPS)] | None = None
    n: int | None = None
    logit_bias: Any = None


class ChatBody(Body):
    """A request for a chat completion."""

    messages: Annotated[list[_Message], Field(min_length=1)]
    max_completion_tokens: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    tools: Any = None
    tool_choice: Any = None
    functions: Any = None
    response_format: Any = None
    modalities: Any = None
    audio: Any = None


class CompletionBody(Body):
    """A request for a completion of a text."""

    prompt: str | list[str] | list[int] | list[list[int]]
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
        messages: Of a chat.
        prompt: Of a completion.
        sampling: The settings; ``max_tokens`` is in the next one.
        max_tokens: None: the client gave none.
        given: Names of the settings that the client gave.
        stream: Whether to answer with events.
        usage: Whether the last event has the usage.
    """

    kind: Literal["chat", "completion"]
    model: str
    messages: tuple[Message, ...]
    prompt: str
    sampling: Sampling
    max_tokens: int | None
    given: frozenset[str]
    stream: bool
    usage: bool


def chat(raw: bytes) -> Wanted:
    """Read the body of a chat completion.

    Raises:
        Fault: TW-G03 a value is wrong or contradicts another, TW-G04 not supported.
        pydantic.ValidationError: It is not JSON, or has wrong types.
    """
    body = ChatBody.model_validate_json(raw)
    for name in ("tools", "functions", "audio"):
        if getattr(body, name):
            raise unsupported(name, f"{name} are not supported by this server")
    if body.tool_choice not in (None, "none", "auto"):
        raise unsupported("tool_choice", "tools are not supported by this server")
    if body.response_format not in (None, {"type": "text"}):
        raise unsupported("response_format", "answers in a given format are not supported by this server")
    if body.modalities not in (None, [], ["text"]):
        raise unsupported("modalities", "this model generates text only")
    if body.top_logprobs is not None and not body.logprobs:
        raise Fault("TW-G03", 400, "top_logprobs needs logprobs to be true", "top_logprobs")
    limit = body.max_tokens if body.max_completion_tokens is None else body.max_completion_tokens
    if None not in (body.max_tokens, body.max_completion_tokens) and body.max_tokens != body.max_completion_tokens:
        raise Fault("TW-G03", 400, "max_tokens and max_completion_tokens contradict each other", "max_tokens")
    logprobs = (body.top_logprobs or 0) if body.logprobs else None
    return _wanted(body, "chat", limit, logprobs, tuple(map(_message, body.messages)), "")


def completion(raw: bytes) -> Wanted:
    """Read the body of a completion; the errors are those of `chat`."""
    body = CompletionBody.model_validate_json(raw)
    prompt = body.prompt[0] if isinstance(body.prompt, list) and len(body.prompt) == 1 else body.prompt
    if not isinstance(prompt, str):
        raise unsupported("prompt", "a request must have one prompt, a text")
    if not prompt:
        raise Fault("TW-G03", 400, "prompt is empty", "prompt")
    if body.echo or body.suffix or (body.best_of or 1) != 1:
        name = "echo" if body.echo else "suffix" if body.suffix else "best_of"
        raise unsupported(name, f"{name} is not supported by this server")
    limit = COMPLETION_TOKENS if body.max_tokens is None else body.max_tokens
    return _wanted(body, "completion", limit, body.logprobs, (), prompt)


def _message(message: _Message) -> Message:
    if message.role not in ROLES or message.tool_calls:
        raise unsupported("messages", f"messages of the role {message.role[:40]!r} are not supported by this server")
    if isinstance(message.content, list):
        if any(part.type != "text" or part.text is None for part in message.content):
            raise unsupported("messages", "this model reads text only: every part of a message must be a text")
        return Message(ROLES[message.role], "".join(part.text or "" for part in message.content))
    return Message(ROLES[message.role], message.content or "")


def _wanted(
    body: Body,
    kind: Literal["chat", "completion"],
    max_tokens: int | None,
    logprobs: int | None,
    messages: tuple[Message, ...],
    prompt: str,
) -> Wanted:
    if body.n not in (None, 1):
        raise unsupported("n", "n is not supported by this server: send the request again for another answer")
    if body.logit_bias:
        raise unsupported("logit_bias", "logit_bias is not supported by this server")
    if body.stream_options and not body.stream:
        raise Fault("TW-G03", 400, "stream_options needs stream to be true", "stream_options")
    stop = (body.stop,) if isinstance(body.stop, str) else tuple(body.stop or ())
    names = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "top_k", "min_p", "repetition_penalty")
    settings = {name: value for name in names if (value := getattr(body, name)) is not None}
    settings = {
        name: value for name, value in settings.items() if value not in NEUTRAL.get(name, ()) or name == "top_p"
    }
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
    return Wanted(
        kind, body.model, messages, prompt, sampling, max_tokens, frozenset(settings), bool(body.stream), usage
    )
