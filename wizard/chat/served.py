"""What the server says of the model that it serves.

The server's own description (``GET /v2/models/NAME/config``) has all that a client of the wizard's own models needs.
Models of other makers say nothing of templates and tokenizers: those come from the model's folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from wizard.chat import ask
from wizard.chat.wire import OPENAI, OWN, Wire, engine_of, wire_of
from wizard.kernel import http
from wizard.kernel.language import tr
from wizard.model import chat_format
from wizard.model.facts import ChatFormat

TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A served model's description.

    Attributes:
        name: Of the model that is asked; the engine's where that is better asked than the ensemble before it.
        chat: None for a base model, which continues texts, and where the server renders the conversation.
        questions: Known to work.
        max_seq_len: Tokens of prompt plus answer; None if the server does not say.
        default_temperature: None if the server does not say.
        wire: How it is asked.
        folder: With its tokenizer, where one is needed here.
        note: What a user should know of it.
    """

    name: str
    chat: ChatFormat | None
    questions: tuple[str, ...]
    max_seq_len: int | None
    default_temperature: float | None
    wire: Wire = OWN
    folder: str | None = None
    note: str | None = None

    @property
    def takes_turns(self) -> bool:
        """It knows a conversation from a text."""
        return self.chat is not None or self.wire.format is OPENAI

    @property
    def logprobs(self) -> int | None:
        """Most alternatives that come with a token's log-probability; None if it gives nothing of the kind."""
        return self.wire.logprobs


def served_model(url: str, model: str, folder: str | None = None) -> ServedModel:
    """Ask the server at ``url`` what ``model`` is; blocks for up to `TIMEOUT_S` a question.

    An ensemble of TensorRT-LLM, or its BLS model, is passed by where ``folder`` has the tokenizer: the engine itself
    is asked then, because a cancelled ensemble does not stop its engine (measured, Triton 2.51.0).

    Args:
        url: ``http://host:port``.
        model: Its name.
        folder: The model's folder on this machine: tokenizer and chat template.

    Raises:
        ServerError: TW-C01 if nobody answers, TW-C02 if the model is not served, TW-C07 if it is no Triton server or
            the model is none that can be chatted with.
        UsageError: TW-C13 if the model speaks in token ids and there is no tokenizer.
        ModelError: TW-M04 or TW-M17 if the folder's chat template cannot be read.
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
    """The folder that a preprocessing step has its tokenizer from, if that is on this machine, too."""
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
        chat = chat_format.of_folder(Path(folder))
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
