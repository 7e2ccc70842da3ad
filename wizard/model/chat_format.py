"""The chat format: the model's own template and its stop strings.

Read from the files that ``transformers`` writes with a model (``tokenizer_config.json``, ``chat_template.jinja`` since
transformers 4.51, ``special_tokens_map.json``, ``generation_config.json``) or from a GGUF file's ``tokenizer.*`` keys.
The template is only text here; nothing renders it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wizard.kernel.errors import ModelError
from wizard.kernel.language import tr
from wizard.model.untrusted import optional_object, read_bytes

if TYPE_CHECKING:
    from wizard.model import gguf

FILES = (
    "tokenizer_config.json",
    "chat_template.jinja",
    "special_tokens_map.json",
    "generation_config.json",
    "hf_quant_config.json",
)
"""Small files beside config.json to download."""


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """How messages become a prompt, and where an answer ends."""

    template: str
    """The model's own Jinja chat template."""
    bos_token: str | None = None
    eos_token: str | None = None
    stop: tuple[str, ...] = ()
    """Stop strings (end-of-turn tokens)."""


def of_folder(folder: Path) -> ChatFormat | None:
    """The chat format of a model folder; None if it has no template.

    Raises:
        ModelError: TW-M04 if a file is too large or not JSON; TW-M17 if it is not readable.
    """
    settings = optional_object(folder / "tokenizer_config.json")
    template = _template(folder, settings)
    if template is None:
        return None
    special = {**optional_object(folder / "special_tokens_map.json"), **settings}
    eos = _token(special.get("eos_token"))
    generation = optional_object(folder / "generation_config.json")
    turn_ends = _texts(generation.get("eos_token_id"), settings.get("added_tokens_decoder"))
    return ChatFormat(template, _token(special.get("bos_token")), eos, _unique(eos, *turn_ends))


def of_gguf(header: gguf.Header) -> ChatFormat | None:
    """The chat format of a GGUF file; None if it has no template."""
    template = header.metadata.get("tokenizer.chat_template")
    if not isinstance(template, str) or not template:
        return None
    tokens = header.tokens
    stop = _unique(tokens.get("eos"), tokens.get("eot"), tokens.get("eom"))
    return ChatFormat(template, tokens.get("bos"), tokens.get("eos"), stop)


def unusable(model: str, why: str) -> ModelError:
    """The chat template of ``model`` exceeds the limits when it is tried (`wizard.chat.rendering`)."""
    return ModelError(
        "TW-M80",
        tr("the chat template of {model} was stopped when it was tried: {why}", model=model, why=why),
        tr(
            "It is faulty or malicious, and a server could hang while it loads it. Choose another model, or replace "
            "`chat_template` in its tokenizer_config.json."
        ),
    )


def _template(folder: Path, settings: Mapping[str, Any]) -> str | None:
    """``chat_template.jinja`` wins over ``tokenizer_config.json``, as in transformers."""
    if (folder / "chat_template.jinja").is_file():
        return read_bytes(folder / "chat_template.jinja").decode("utf-8", "replace") or None
    template = settings.get("chat_template")
    if isinstance(template, list):  # several named templates: [{"name": "default", "template": "…"}, …]
        named = {item.get("name"): item.get("template") for item in template if _is_named(item)}
        template = named.get("default", next(iter(named.values()), None))
    return template if isinstance(template, str) and template else None


def _is_named(item: object) -> bool:
    return isinstance(item, dict) and isinstance(item.get("name"), str) and isinstance(item.get("template"), str)


def _token(value: object) -> str | None:
    """A special token is text, or an object with its ``content``."""
    text = value.get("content") if isinstance(value, dict) else value
    return text if isinstance(text, str) and text else None


def _texts(ids: object, decoder: object) -> list[str | None]:
    """Texts of token IDs, if ``added_tokens_decoder`` has them."""
    listed = ids if isinstance(ids, list) else [ids]
    if not isinstance(decoder, dict):
        return []
    return [_token(decoder.get(str(index))) for index in listed if type(index) is int and abs(index) < 1 << 32]


def _unique(*texts: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))
