"""Token ids to text, a few at a time: the same text as all at once, and no part of a character on the way."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chain_model import BOS, END
from tests.chat.fake_repository import write_tokenizer
from tests.chat.test_text_filters import PLACES, cut
from wizard.catalog import profiles
from wizard.chat.tokens import Detokenizer, Tokenizer
from wizard.kernel.errors import UsageError


@cache
def demo() -> Tokenizer:
    """A real byte-level tokenizer: the demo model's."""
    return Tokenizer(str(profiles.find("models/triton-wizard-demo/tokenizer.json").parent), "demo")


@cache
def metaspace() -> Tokenizer:
    """A tokenizer of SentencePiece's kind: blanks as ``▁``, unknown characters as bytes (Llama 2, Phi-3)."""
    import tempfile

    from tokenizers import Tokenizer as Library
    from tokenizers import decoders, models, normalizers

    words = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *"abcHi.", "▁a", "▁H", "▁Hi"]
    library = Library(
        models.BPE(
            vocab={word: index for index, word in enumerate(words)},
            merges=[("▁", "a"), ("▁", "H"), ("▁H", "i")],
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    library.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    library.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    library.add_special_tokens(["<s>", "</s>"])
    with tempfile.TemporaryDirectory() as folder:
        library.save(f"{folder}/tokenizer.json")
        return Tokenizer(folder, "metaspace")


@pytest.mark.parametrize("tokenizer", [demo, metaspace])
@given(text=st.text(alphabet="abc Hi.é😀語\n", max_size=40), places=PLACES)
def test_any_cut_gives_the_same_text(tokenizer: object, text: str, places: list[int]) -> None:
    used: Tokenizer = tokenizer()  # type: ignore[operator]
    ids = used.encode(text, begin=False)
    detokenizer = Detokenizer(used.decode)
    pieces = [detokenizer.feed(part) for part in cut(ids, places)]  # type: ignore[arg-type, misc]
    assert not any("\ufffd" in piece for piece in pieces)
    assert "".join(pieces) + detokenizer.rest() == used.decode(ids)


@given(st.lists(st.integers(0, 2047), max_size=30), PLACES)
def test_any_ids_that_a_model_may_say(ids: list[int], places: list[int]) -> None:
    detokenizer = Detokenizer(demo().decode)
    pieces = [detokenizer.feed(part) for part in cut(ids, places)]  # type: ignore[arg-type, misc]
    assert "".join(pieces) + detokenizer.rest() == demo().decode(ids)


def test_half_a_character_waits_for_its_other_half(tmp_path: Path) -> None:
    tokenizer = Tokenizer(str(write_tokenizer(tmp_path / "m")), "m")
    detokenizer = Detokenizer(tokenizer.decode)
    assert [detokenizer.feed([byte]) for byte in "é😀".encode()] == ["", "é", "", "", "", "😀"]
    assert detokenizer.feed("é".encode()[:1]) == ""
    assert detokenizer.rest() == "\ufffd"
    assert detokenizer.rest() == ""


def test_what_ends_an_answer(tmp_path: Path) -> None:
    folder = write_tokenizer(tmp_path / "m")
    assert Tokenizer(str(folder), "m").ends == (258,)
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": {"content": "<|endoftext|>"}}))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [258, 256]}))
    tokenizer = Tokenizer(str(folder), "m")
    assert tokenizer.ends == (256, 258)
    assert (tokenizer.token(END), tokenizer.token("nothing"), tokenizer.token(None)) == (258, None, None)
    assert not tokenizer.adds(BOS)


def test_a_damaged_file_beside_it_is_reported(tmp_path: Path) -> None:
    folder = write_tokenizer(tmp_path / "m")
    (folder / "generation_config.json").write_text("[")
    with pytest.raises(UsageError) as caught:
        Tokenizer(str(folder), "m")
    assert caught.value.code == "TW-C13"
