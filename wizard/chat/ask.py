"""The values of all clients, a request and the pieces of its answer, and their errors."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from wizard.chat.conversation import Message, TokenLogprob
from wizard.kernel import http
from wizard.kernel.errors import ModelError, ServerError, UsageError, WizardError
from wizard.kernel.fenced import Why
from wizard.kernel.language import mark, tr
from wizard.kernel.text import plain


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to the served model.

    Attributes:
        model: Its name on the server.
        prompt: The rendered prompt; empty if the server itself renders ``messages``.
        max_tokens: Maximum number of tokens of the answer.
        temperature: None uses the server's default.
        top_p: Share of probability to sample from.
        seed: None uses the server's default.
        stop: Stop strings.
        ids: The prompt in token ids, for a model that accepts them.
        messages: The conversation, for a server that renders it itself.
        top_k: This and the following as in `wizard.chat.conversation.Sampling`; None uses the server's default.
            logprobs: Number of alternatives to report with each token's log probability; None: no log probabilities.
        json_schema: A JSON schema that the answer must match, as text.
        tools: The functions that the model may call, as text: ``{"tools": [...], "messages": [...]}`` in OpenAI's
            format; without ``messages`` for a server that gets those anyway.
        thinking: As in `Sampling`, for a server that renders the conversation itself.
        budget: The server's own parameter for a number of tokens in ``thinking``; empty if it has none.
        images: SHA-256 → URL of the images in ``messages`` (`wizard.chat.images.Images`).
        special: Whether the answer's text needs its special tokens: they are the markers of the model's thoughts.
    """

    model: str
    prompt: str
    max_tokens: int
    temperature: float | None
    top_p: float
    seed: int | None
    stop: tuple[str, ...] = ()
    ids: tuple[int, ...] = ()
    messages: tuple[Message, ...] = ()
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logprobs: int | None = None
    json_schema: str | None = None
    tools: str | None = None
    thinking: str | None = None
    budget: str = ""
    special: bool = False
    images: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function that the model calls, or more of the last one's arguments.

    Attributes:
        name: Its name; empty: the rest belongs to the call before, maybe of an earlier piece.
        arguments: A JSON object, or a part of one, as the model writes it.
        id: The server's name for the call; empty if it gave none.
    """

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A response.

    Attributes:
        text: What to append to the answer.
        tokens: Tokens generated so far, counted by the server; None if it does not report them.
        finish: Empty in all but the last: ``stop``, ``length``, ``gate``; ``end`` if the server does not report the
            reason.
        logprobs: Of the tokens in this response, if requested.
        prompt_tokens: Tokens of the prompt, counted by the server, or sent as IDs; None if neither.
        calls: Functions that the model calls, see `whole_calls`.
        thought: What to append to the thought, if the server itself separates it from the answer.
        thought_tokens: Those of ``tokens`` that are of the thought, if the server counts them; only in the last one.
    """

    text: str
    tokens: int | None
    finish: str
    logprobs: tuple[TokenLogprob, ...] = ()
    prompt_tokens: int | None = None
    calls: tuple[ToolCall, ...] = ()
    thought: str = ""
    thought_tokens: int | None = None


def whole_calls(pieces: Iterable[Piece]) -> tuple[ToolCall, ...]:
    """The complete calls in the ``pieces`` of an answer."""
    calls: list[ToolCall] = []
    for call in (call for piece in pieces for call in piece.calls):
        if call.name or not calls:
            calls.append(call)
        else:
            calls[-1] = ToolCall(calls[-1].name, calls[-1].arguments + call.arguments)
    return tuple(calls)


class PromptTooLong(Exception):  # noqa: N818 - caught where the oldest turn can be left out; never shown
    """The prompt has more tokens than the server accepts; the text has the numbers."""


REFUSED = "request refused: "
"""Before the text of an error of the wizard's own models that the request causes (``repository/text_requests.py``)."""
_ERRNO = re.compile(r"\[Errno -?\d+\] ")
_TOO_LONG = re.compile(
    r"prompt too long: (?P<tokens>\d+) tokens, and a request may have (?P<most>\d+)"
    r"|[Pp]rompt length.*exceeds max"
    r"|longer than the maximum model length"
    r"|maximum context length"
    r"|too long to fit into the model"
    r"|sum of prompt length .* should not exceed",
    re.DOTALL,
)
"""Error texts for a prompt that does not fit: of our own models, of TensorRT-LLM (0.5 on; NVIDIA/TensorRT-LLM issue
977, triton-inference-server/tensorrtllm_backend issues 141 and 565) and of vLLM (vllm-project/vllm issues 12165,
20409).
"""


def server_error(text: str, model: str) -> WizardError | PromptTooLong:
    """The exception for an error text from the server, or from the engine behind it."""
    if long := _TOO_LONG.search(text):
        if long["tokens"]:
            tokens, most = int(long["tokens"]), int(long["most"])
            text = tr("{tokens:,} tokens; a request can have at most {most:,}", tokens=tokens, most=most)
        return PromptTooLong(text)
    if "unknown model" in text or "is not ready" in text or "no available versions" in text:
        return no_model(model, text)
    if "Stub process" in text or "engine process has ended" in text:  # the second in front of an isolated engine
        return engine_restarting(model) if "started again, so" in text else model_ended(model)
    if (refused := text.find(REFUSED)) >= 0:
        return UsageError(
            "TW-C08",
            tr("the model refuses the request: {text}", text=plain(text[refused + len(REFUSED) :])),
            tr("Change this setting."),
        )
    return _no_answer(plain(text))


GIVEN_UP = ("error", "abort")
"""Finish reasons of vLLM for an answer that is not complete (``FINISH_REASON_STRINGS``, vllm/v1/engine/__init__.py);
its own server turns the first into a status of 500 (``GenerationError``, vllm/entrypoints/openai/engine/serving.py).
"""


def given_up(reason: str) -> ServerError:
    """The answer ended with one of `GIVEN_UP`."""
    return _no_answer(tr("the engine gave up the answer (finish reason {reason})", reason=repr(reason)))


def _no_answer(detail: str) -> ServerError:
    return ServerError(
        "TW-C04",
        tr("the server could not answer: {text}", text=detail),
        tr("For a local server, run `triton-wizard logs` to find the cause; then send the question again."),
    )


NO_TOOLS = "TW-C41"
"""The server or the model supports no tools."""


def no_tools(detail: str) -> UsageError:
    """The server refuses a request because of its tools."""
    return UsageError(
        "TW-C41",  # NO_TOOLS
        tr("this model cannot use tools here: {detail}", detail=plain(detail)[:500]),
        tr("Serve a model with tool calls on vLLM, SGLang or llama.cpp, or chat with --no-tools."),
    )


def unreachable(where: str, cause: object) -> ServerError:
    """No server listens at ``where``, or its certificate is not trusted."""
    if "CERTIFICATE_VERIFY_FAILED" in str(cause):
        return ServerError(
            "TW-C01",
            tr("the certificate of {where} is not trusted: {cause}", where=where, cause=plain(str(cause))),
            tr("Set SSL_CERT_FILE to the file with the certificate, or with that of its authority (PEM)."),
        )
    return ServerError(
        "TW-C01",
        tr("no server responds at {where}: {cause}", where=where, cause=_ERRNO.sub("", plain(str(cause)))),
        tr("For a local server, run `triton-wizard status`; otherwise, check the address."),
    )


def no_model(model: str, detail: str) -> ServerError:
    """The server is running but does not serve ``model``."""
    return ServerError(
        "TW-C02",
        tr("the server has no model named {model}: {detail}", model=repr(model), detail=plain(detail)),
        tr("Check the name; if the model failed to load, run `triton-wizard logs` to see why."),
    )


def lost(where: str, cause: object) -> ServerError:
    """The connection ended before the answer was complete."""
    return ServerError(
        "TW-C03",
        tr(
            "the connection to the server at {where} was lost during the answer: {cause}",
            where=where,
            cause=_ERRNO.sub("", plain(str(cause))),
        ),
        tr(
            "For a local server, run `triton-wizard logs` to find the cause and `triton-wizard status` to see how "
            "to restart the server."
        ),
    )


@contextlib.contextmanager
def connection_errors(where: str, foreign: Callable[[str, object], WizardError]) -> Iterator[None]:
    """Raise errors of an HTTP connection to ``where`` as a `WizardError`; ``foreign`` if it is not HTTP."""
    try:
        yield
    except http.NoConnectionError as error:
        raise unreachable(where, error) from error
    except http.LostConnectionError as error:
        raise lost(where, error) from error
    except http.NotHttpError as error:
        raise foreign(where, error) from error


def model_ended(model: str) -> ServerError:
    """The process of the model has exited; Triton itself keeps running."""
    return ServerError(
        "TW-C11",
        tr(
            "the process of the model {model} exited (killed, crashed or out of memory); it no longer responds",
            model=repr(model),
        ),
        tr(
            "Restart it: `triton-wizard up {model}`. If this happens again, make more memory available or use a "
            "smaller model.",
            model=model,
        ),
    )


def engine_restarting(model: str) -> ServerError:
    """The engine has exited; the engine proxy is starting it again, or has others."""
    return ServerError(
        "TW-C33",
        tr(
            "the engine of the model {model} exited (killed, crashed or out of memory) and is being restarted",
            model=repr(model),
        ),
        tr("Send the question again; `triton-wizard status` shows when the engine is ready."),
    )


def too_long(detail: str) -> UsageError:
    """The last message alone does not fit."""
    return UsageError(
        "TW-C05",
        tr("this message is too long for the model: {detail}", detail=plain(detail)),
        tr("Shorten it, or serve the model with a longer context."),
    )


def bad_template(detail: object) -> ModelError:
    """The model's own chat template cannot render these messages."""
    return ModelError(
        "TW-C06",
        tr("the model's chat template does not support this conversation: {detail}", detail=plain(str(detail))),
        tr("Start a new conversation without a system prompt; if that fails too, the model's template is broken."),
    )


STOPPED: dict[Why, str] = {
    "memory": mark("it needs more than 256 MiB"),
    "time": mark("it computes for more than 0.75 s"),
    "crash": mark("its process ended"),
}


def hostile_template(why: Why) -> ModelError:
    """The model's own chat template exceeds the limits of its process (`wizard.chat.readers.template`)."""
    return ModelError(
        "TW-C50",
        tr("the model's chat template was stopped: {why}", why=tr(STOPPED[why])),
        tr(
            "Shorten the conversation. If that does not help, the template is faulty or malicious: choose another "
            "model, or replace `chat_template` in its tokenizer_config.json."
        ),
    )


def not_triton(where: str, detail: object) -> ServerError:
    """Another service responds at ``where``."""
    return ServerError(
        "TW-C07",
        tr(
            "the server at {where} is not a Triton server with a chat model: {detail}",
            where=where,
            detail=plain(str(detail)),
        ),
        tr("Check the address; run `triton-wizard status` to list the wizard's own servers."),
    )


def key_wanted(where: str, detail: str) -> ServerError:
    """The server requires an API key, or rejects this one."""
    return ServerError(
        "TW-C12",
        tr("the server at {where} rejects the API key or requires one: {detail}", where=where, detail=plain(detail)),
        tr(
            "Set the environment variable {name} to the right key, or start the chat in a terminal and enter it.",
            name=API_KEY,
        ),
    )


def key_not_sent(where: str, detail: str) -> ServerError:
    """The server requires an API key, but the connection is not encrypted."""
    return ServerError(
        "TW-C17",
        tr(
            "the server at {where} requires an API key, but keys are not sent unencrypted to other machines: {detail}",
            where=where,
            detail=plain(detail),
        ),
        tr(
            "Use its https:// address, or open a tunnel from this machine (ssh -L 9000:127.0.0.1:9000 HOST) and "
            "use the local address."
        ),
    )


def no_tokenizer(model: str, detail: object) -> UsageError:
    """A model with token ID input and output requires its tokenizer for a chat."""
    return UsageError(
        "TW-C13",
        tr(
            "the model {model} expects token IDs, and its tokenizer cannot be read: {detail}",
            model=repr(model),
            detail=plain(str(detail)),
        ),
        tr("Pass the model's folder, the one with tokenizer.json: `triton-wizard chat --tokenizer FOLDER`."),
    )


def not_openai(where: str, detail: object) -> ServerError:
    """The service is not an OpenAI-compatible server."""
    return ServerError(
        "TW-C14",
        tr(
            "the server at {where} does not support OpenAI chat completions: {detail}",
            where=where,
            detail=plain(str(detail)),
        ),
        tr("Check the address; it usually ends with /v1."),
    )


API_KEY = "OPENAI_API_KEY"
"""Environment variable with the key of an OpenAI-compatible server, named as in OpenAI's own clients."""
