from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chain_model import CHAT
from wizard.model.chat_format import ChatFormat
from wizard.model.special_tokens import broken, pattern

GEMMA = ChatFormat("{{ bos_token }}<start_of_turn>user\n", "<bos>", "<eos>", ("<eos>", "<end_of_turn>"))
MISTRAL = ChatFormat("{{ bos_token }}[INST] x [/INST]", "<s>", "</s>", ("</s>", "User:"))
DEEPSEEK = ChatFormat("{{ bos_token }}", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", ())


@pytest.mark.parametrize(
    ("chat", "token"),
    [
        (None, "<|endoftext|>"),
        (CHAT, "<|im_end|>"),
        (CHAT, "<|fim_prefix|>"),
        (GEMMA, "<bos>"),
        (GEMMA, "<eos>"),
        (GEMMA, "<start_of_turn>"),
        (GEMMA, "<end_of_turn>"),
        (MISTRAL, "</s>"),
        (MISTRAL, "[INST]"),
        (MISTRAL, "[/INST]"),
        (DEEPSEEK, "<｜end▁of▁sentence｜>"),
        (DEEPSEEK, "<｜User｜>"),
    ],
)
def test_a_special_token_is_broken(chat: ChatFormat | None, token: str) -> None:
    assert broken(f"a{token}b", pattern(chat)) == f"a{token[0]} {token[1:]}b"


@pytest.mark.parametrize(
    "text", ["<s>struck</s>", "[INST]", "<bos>", "a < b | c > d", "x |> f <| y", "[TODO] <p>", "User:"]
)
def test_what_is_no_token_of_the_model_stays(text: str) -> None:
    assert broken(text, pattern(CHAT)) == text


@given(
    st.lists(st.sampled_from(["<", "|", ">", "im_end", "<|im_end|>", "</s>", "[INST]", " ", "\n", "s"]), max_size=12)
)
def test_nothing_is_left_whatever_is_put_together(parts: list[str]) -> None:
    for chat in (CHAT, MISTRAL):
        assert not re.search(pattern(chat), broken("".join(parts), pattern(chat)))
