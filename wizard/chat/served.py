"""The server's description of the served model.

The server's own description (``GET /v2/models/NAME/config``) has everything that a client of the wizard's own models
needs. Other models do not describe templates and tokenizers: those come from the model's folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from wizard.catalog.local_servers import LocalServer
from wizard.catalog.thinking import Format
from wizard.chat import ask
from wizard.chat.thinking import formats_of
from wizard.chat.wire import OPENAI, OWN, Wire, engine_of, wire_of
from wizard.kernel import http
from wizard.kernel.language import tr
from wizard.model.chat_format import ChatFormat, of_folder

TIMEOUT_S = 5.0
ANSWER, THINKING_ANSWER = 512, 4096
"""Tokens of an answer, and of a thought with its answer."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A served model's description.

    Attributes:
        name: Name of the model that gets the requests; the engine's if that is better than the ensemble in front of it.
        chat: The chat format; None for a base model, which continues texts, and if the server renders the conversation.
        questions: Example questions that are known to work.
        max_seq_len: Tokens of prompt plus answer; None if the server does not report it. default_temperature: None if
            the server does not report it.
        wire: Its format.
        folder: Folder with its tokenizer, if the client needs one.
        note: A remark for the user.
        program: What runs at its URL, if the wizard did not start it and knows it.
        formats: How it marks its thoughts; none if its template has no thoughts.
    """

    name: str
    chat: ChatFormat | None
    questions: tuple[str, ...]
    max_seq_len: int | None
    default_temperature: float | None
    wire: Wire = OWN
    folder: str | None = None
    note: str | None = None
    program: LocalServer | None = None
    formats: tuple[Format, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Look its formats up once: each request needs them several times."""
        template = self.chat.template if self.chat else ""
        formats = formats_of(None if self.wire.format is OPENAI else template)
        object.__setattr__(self, "formats", formats)

    @property
    def takes_turns(self) -> bool:
        """Whether it distinguishes a conversation from a text."""
        return self.chat is not None or self.wire.format is OPENAI

    @property
    def answer_limit(self) -> int:
        """Tokens of an answer if no other limit is set: more for a model that thinks first, or may."""
        usual = THINKING_ANSWER if self.formats else ANSWER
        return min(usual, self.max_seq_len or usual)

    @property
    def logprobs(self) -> int | None:
        """Maximum number of alternatives per token; None if it reports no log probabilities."""
        return self.wire.logprobs


def served_model(url: str, model: str, folder: str | None = None) -> ServedModel:
    """Query the server at ``url`` for the description of ``model``; blocks for up to `TIMEOUT_S` per request.

    An ensemble of TensorRT-LLM, or its BLS model, is bypassed if ``folder`` has the tokenizer: requests then go to the
    engine itself, because a cancelled ensemble does not stop its engine (measured, Triton 2.51.0).

    Args:
        url: ``http://host:port``.
        model: Its name.
        folder: The model's folder on this machine: tokenizer and chat template.

    Raises:
        ServerError: TW-C01 if no server responds, TW-C02 if the model is not served, TW-C07 if it is not a Triton
            server or the model does not support chat.
        UsageError: TW-C13 if the model uses token IDs and there is no tokenizer.
        ModelError: TW-M04 or TW-M17 if the folder's chat template is not readable.
    """
    config = _config(url, model)
    try:
        engine = _engine(url, config)
        wire = wire_of(config, engine)
        if wire is None:
            raise ValueError(tr("the wizard does not support the input format of {model}", model=repr(model)))
        folder = folder or _tokenizer_dir(url, config)
        note = None
        if engine and not wire.format.cancels:
            if folder and (direct := wire_of(engine)):
                model, config, wire = str(engine["name"]), engine, direct
            else:
                note = tr(
                    "Stopping an answer does not stop the engine behind an ensemble. Pass the model's folder with "
                    "--tokenizer to send requests directly to the engine."
                )
        return _served(model, config, wire, folder, note)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ask.not_triton(url, repr(error)) from error


def _config(url: str, model: str) -> dict[str, Any]:
    try:
        reply = http.get(f"{url}/v2/models/{quote(model, safe='')}/config", timeout_s=TIMEOUT_S)
    except http.NoConnectionError as error:
        raise ask.unreachable(url, error) from error
    except (http.LostConnectionError, http.NotHttpError) as error:
        raise ask.not_triton(url, error) from error
    try:
        data: dict[str, Any] = json.loads(reply.body)
        if reply.status != 200:
            raise ask.no_model(model, str(data["error"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ask.not_triton(url, repr(error)) from error
    return data


def _engine(url: str, config: Mapping[str, Any]) -> dict[str, Any] | None:
    """The description of the engine behind an ensemble or a BLS model."""
    for name in engine_of(config):
        behind = _config(url, name)
        wire = wire_of(behind)
        if wire and wire.format.ids:
            return behind
    return None


def _tokenizer_dir(url: str, config: Mapping[str, Any]) -> str | None:
    """The tokenizer folder of a preprocessing step, if it exists on this machine."""
    for name in engine_of(config):
        folder = (_config(url, name).get("parameters") or {}).get("tokenizer_dir", {}).get("string_value", "")
        if folder and (Path(folder) / "tokenizer.json").is_file():
            return str(folder)
    return None


def _served(name: str, config: Mapping[str, Any], wire: Wire, folder: str | None, note: str | None) -> ServedModel:
    parameters = {key: item["string_value"] for key, item in (config.get("parameters") or {}).items()}
    if wire.format.ids and folder is None:
        raise ask.no_tokenizer(name, tr("no folder was given"))
    chat = None
    if template := parameters.get("chat_template"):
        stop = tuple(json.loads(parameters.get("stop", "[]")))
        chat = ChatFormat(template, parameters.get("bos_token"), parameters.get("eos_token"), stop)
    elif folder:
        chat = of_folder(Path(folder))
    length, temperature = parameters.get("max_seq_len"), parameters.get("default_temperature")
    return ServedModel(
        name,
        chat,
        tuple(str(question) for question in json.loads(parameters.get("questions", "[]"))),
        int(length) if length else None,
        float(temperature) if temperature else None,
        wire,
        folder,
        note,
    )
