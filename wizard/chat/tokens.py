"""The tokenizer in a model's folder, for models that use token IDs.

Only ``tokenizer.json`` is read, by the ``tokenizers`` library in a process of its own with limits for memory and time
(`readers/tokenizer.py`); a folder that has just SentencePiece's ``tokenizer.model`` is rejected with an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from wizard.chat.ask import no_tokenizer
from wizard.chat.text_filters import REPLACEMENT
from wizard.kernel.errors import ModelError
from wizard.kernel.fenced import FencedError
from wizard.kernel.fenced_process import FencedProcess, RejectedError, frame
from wizard.kernel.language import tr
from wizard.model.untrusted import optional_object

PROGRAM = Path(__file__).parent / "readers" / "tokenizer.py"
WALL_S = 20.0
LARGEST = 100_000_000
"""Bytes of tokenizer.json; Gemma's has 33 MB."""


class Tokenizer:
    """Encodes texts as the model's token IDs, and decodes them.

    Attributes:
        ends: IDs that end an answer, the end-of-text token first.
    """

    def __init__(self, folder: str, model: str) -> None:
        """Read the folder.

        Raises:
            UsageError: TW-C13 if it has no readable tokenizer.
        """
        path = Path(folder).absolute() / "tokenizer.json"
        if not path.is_file():
            raise no_tokenizer(model, tr("file not found: {path}", path=path))
        if path.stat().st_size > LARGEST:
            raise no_tokenizer(model, tr("{path} is larger than {size} MB", path=path, size=LARGEST // 1_000_000))
        self._model, self._path = model, path
        self._process = FencedProcess(PROGRAM, str(path), wall_s=WALL_S)
        self._ask({"token": ""})  # it reads the file
        try:
            ends = (
                _end_of_text(path.parent),
                optional_object(path.parent / "generation_config.json").get("eos_token_id"),
            )
        except ModelError as error:
            raise no_tokenizer(model, error.what) from error
        named, listed = self.token(ends[0]), ends[1] if isinstance(ends[1], list) else [ends[1]]
        self.ends: tuple[int, ...] = tuple(dict.fromkeys(each for each in (named, *listed) if type(each) is int))

    def encode(self, text: str, *, begin: bool) -> list[int]:
        """IDs of ``text``; special tokens in it are recognized. ``begin`` adds the begin token if the model uses
        one.

        Raises:
            UsageError: TW-C13 if it takes too much time or memory, as for all methods.
        """
        ids: list[int] = self._ask({"encode": text, "begin": begin})["ids"]
        return ids

    def decode(self, ids: Iterable[int], *, special: bool = False) -> str:
        """The text of ``ids``; ``special`` tokens are left out unless wanted."""
        return str(self._ask({"decode": list(ids), "special": special})["text"])

    def token(self, text: str | None) -> int | None:
        """The ID of the token with exactly this text, if there is one."""
        index: int | None = self._ask({"token": text})["id"] if text else None
        return index

    def adds(self, text: str | None) -> bool:
        """Whether the tokenizer adds this token in front of every text."""
        token_id = self.token(text)
        return token_id is not None and self.encode("", begin=True)[:1] == [token_id]

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._process.ask(frame(question))
        except RejectedError as error:
            raise no_tokenizer(self._model, f"{self._path}: {error}") from error
        except FencedError as error:
            raise no_tokenizer(self._model, f"{self._path}: {error.reason}") from error


def _end_of_text(folder: Path) -> str:
    settings = {
        **optional_object(folder / "special_tokens_map.json"),
        **optional_object(folder / "tokenizer_config.json"),
    }
    token = settings.get("eos_token")  # a text, or an object with its content
    return str((token.get("content") if isinstance(token, dict) else token) or "")


class Detokenizer:
    """Decodes token IDs that arrive a few at a time; never returns a partial character.

    The last IDs are decoded twice, without and with the new ones, because a token's text depends on those before it
    (a word's leading space, the bytes of a character). The difference is the new text.
    """

    def __init__(self, decode: Callable[[list[int]], str]) -> None:
        self._decode = decode
        self._ids: list[int] = []
        self._from = self._read = 0  # decoded again from here; returned up to here

    def feed(self, ids: Iterable[int]) -> str:
        """Whole characters that ``ids`` add."""
        self._ids.extend(ids)
        text = self._new()
        if not text or text.endswith(REPLACEMENT):
            return ""
        self._from, self._read = self._read, len(self._ids)
        return text

    def rest(self) -> str:
        """The text that was held back: bytes of an incomplete character."""
        text = self._new()
        self._from, self._read = self._read, len(self._ids)
        return text

    def _new(self) -> str:
        before = self._decode(self._ids[self._from : self._read])
        return self._decode(self._ids[self._from :])[len(before) :]
