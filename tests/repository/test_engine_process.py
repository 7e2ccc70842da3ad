"""The text that engines send: stop words, characters, prompts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chain_folder import write_chain_folder
from tests.repository.triton_stub import load
from wizard.catalog.thinking import thinking
from wizard.repository.proxy import ENGINE_PROCESS

engine = load(ENGINE_PROCESS, "tested_engine_process")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(write_chain_folder(tmp_path_factory.mktemp("chain"))))


def cut(text: str, words: list[str]) -> tuple[str, bool]:
    """What must be said of ``text``: read letter by letter, it ends when a word is complete."""
    for size in range(1, len(text) + 1):
        ended = [word for word in words if text[:size].endswith(word)]
        if ended:
            return text[: size - max(map(len, ended))], True
    return text, False


@given(
    pieces=st.lists(st.text("abc", max_size=4), max_size=8),
    words=st.lists(st.text("abc", min_size=1, max_size=4), max_size=3),
)
def test_stop_words_cut_the_same_however_the_text_comes(pieces: list[str], words: list[str]) -> None:
    stops, answer, stopped = engine.StopWords(words), "", False
    for piece in pieces:
        text, stopped = stops.take(piece)
        answer += text
        assert not re.search("|".join(map(re.escape, words)) or "(?!)", answer)
        if stopped:
            break
    assert (answer + stops.rest(), stopped) == cut("".join(pieces), words)


@given(text=st.text("ab<c> ", max_size=24), sizes=st.lists(st.integers(1, 5), max_size=24))
def test_calls_are_held_back_and_all_else_is_sent_however_the_text_comes(text: str, sizes: list[int]) -> None:
    """The parser gets everything from the first mark on; nothing of it is sent before."""
    tools = engine.ToolCalls({"begins": ["<c>", "<b"]}, lambda held: ("", [("f", held)]))
    places = [sum(sizes[:number]) for number in range(len(sizes) + 1)]
    pieces = [text[begin:end] for begin, end in zip(places, [*places[1:], len(text)], strict=True)]
    results = [tools.take(piece, number == len(pieces) - 1) for number, piece in enumerate(pieces)]
    mark = re.search("<c>|<b", text)
    before, call = (text[: mark.start()], text[mark.start() :]) if mark else (text, None)
    assert "".join(sent for sent, _ in results) == before
    assert [each for _, calls in results for each in calls] == ([("f", call)] if call else [])


CALLS = [("weather", {"city": 'Os"lo}', "days": [1, {"a": 2}]}), ("time", {})]
WRITTEN = "\n".join(f"<c>\n{json.dumps({'name': name, 'arguments': given})}\n</c>" for name, given in CALLS)


def hermes(text: str) -> tuple[str, list[Any]]:
    """The calls that are complete, as vLLM's parser of that name reads them, which has no text if there is one."""
    read = [json.loads(each) for each in re.findall("<c>\n(.*?)\n</c>", text, re.DOTALL)]
    return "" if read else text, [(call["name"], json.dumps(call["arguments"])) for call in read]


def joined(results: list[tuple[str, list[Any]]]) -> tuple[str, list[tuple[str, str]]]:
    """Text and calls, as a client puts the pieces together."""
    calls: list[tuple[str, str]] = []
    for name, arguments in (call for _, each in results for call in each):
        last = calls.pop() if not name else (name, "")
        calls.append((last[0], last[1] + arguments))
    return "".join(text for text, _ in results), calls


@given(cut=st.integers(0, len(WRITTEN)), sizes=st.lists(st.integers(1, 9), max_size=60))
def test_arguments_are_sent_as_the_model_writes_them(cut: int, sizes: list[int]) -> None:
    """However the text comes, and wherever it is cut: what is sent is the beginning of what the parser would read."""
    tools = engine.ToolCalls({"begins": ["<c>"], "arguments": "arguments"}, hermes)
    text = ("Well. " + WRITTEN)[: 6 + cut]
    places = [min(len(text), sum(sizes[:number])) for number in range(len(sizes) + 1)]
    pieces = [text[begin:end] for begin, end in zip(places, [*places[1:], len(text)], strict=True)]
    results = [tools.take(piece, number == len(pieces) - 1) for number, piece in enumerate(pieces)]
    sent, calls = joined(results)
    wanted = [(name, json.dumps(given)) for name, given in CALLS]
    assert sent == "Well. " if calls else text.startswith(sent)
    assert [name for name, _ in calls] == [name for name, _ in wanted][: len(calls)]
    assert "".join(given for _, given in wanted).startswith("".join(given for _, given in calls))
    if cut == len(WRITTEN):
        assert calls == wanted


def test_arguments_come_before_their_call_ends() -> None:
    tools = engine.ToolCalls({"begins": ["<c>"], "arguments": "arguments"}, hermes)
    assert tools.take('<c>\n{"name": "weather", "arg', False) == ("", [])
    assert tools.take('uments": {"city": ', False) == ("", [("weather", '{"city": ')])
    assert tools.take('"Oslo"}}', False) == ("", [("", '"Oslo"}')])
    assert tools.take("\n</c>", True) == ("", [])


@pytest.mark.parametrize("text", ['{"arguments": {"a": 1}, "name": "f"}', '{"name": "f", "arguments": "{}"}', "{]}"])
def test_calls_in_another_order_or_form_are_left_to_the_parser(text: str) -> None:
    tools = engine.ToolCalls({"begins": ["<c>"], "arguments": "arguments"}, lambda held: ("", [("f", held)]))
    assert tools.take("<c>" + text, False) == ("", [])
    assert tools.take("", True) == ("", [("f", "<c>" + text)])


def test_the_stop_word_that_is_complete_first_counts() -> None:
    assert engine.StopWords(["abcd", "c"]).take("xabcd") == ("xab", True)
    assert engine.StopWords(["bcd", "abcd"]).take("xabcd") == ("x", True)


@given(text=st.text(min_size=1, max_size=20), words=st.lists(st.sampled_from("é😀xy"), max_size=2))
def test_characters_are_whole_however_many_tokens_they_have(tokenizer: Any, text: str, words: list[str]) -> None:
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    answer = engine.Answer(tokenizer, {"stop": words}, (), len(ids))
    text_so_far = ""
    for token in ids:
        text_so_far += answer.take([token])
        assert text.startswith(text_so_far)
        if answer.finish:
            break
    expected, stopped = cut(text, words)
    assert text_so_far == expected
    assert answer.finish == ("stop" if stopped else "length")


def test_bytes_that_are_no_character_do_not_keep_the_rest_back(tokenizer: Any) -> None:
    answer = engine.Answer(tokenizer, {"stop": []}, (), 100)
    assert answer.take([0xFF, 0xFE, ord("o"), ord("k")]).endswith("ok")


def test_an_end_token_ends_an_answer_and_is_not_part_of_it(tokenizer: Any) -> None:
    answer = engine.Answer(tokenizer, {"stop": ["yes, and"]}, (tokenizer.eos_token_id,), 100)
    assert answer.take([*tokenizer("ye")["input_ids"]]) == ""  # it may become the stop word
    assert answer.take([tokenizer.eos_token_id, ord("x")]) == "ye"
    assert (answer.finish, answer.tokens) == ("stop", 3)


@pytest.mark.parametrize(
    ("config", "ends"),
    [
        (None, [7]),
        ('{"eos_token_id": 3}', [3, 7]),
        ('{"eos_token_id": [3, 7, 4]}', [3, 7, 4]),
        ("{}", [7]),
        ("[]", [7]),
        ('{"eos_token_id": ', [7]),
    ],
)
def test_the_models_own_ends_and_the_tokenizers(tmp_path: Path, config: str | None, ends: list[int]) -> None:
    if config is not None:
        (tmp_path / "generation_config.json").write_text(config)
    assert engine.end_ids(SimpleNamespace(eos_token_id=7), str(tmp_path)) == ends


def test_a_special_token_among_the_stop_words_is_a_token(tokenizer: Any) -> None:
    answer = engine.Answer(tokenizer, {"stop": ["<|im_start|>"]}, (), 100)
    assert answer.take([ord("a"), tokenizer.bos_token_id]) == "a"
    assert answer.finish == "stop"


def test_the_template_makes_the_prompt_unless_it_is_raw(tokenizer: Any) -> None:
    chat = engine.prompt_ids(tokenizer, {"text": "Hi", "chat": True}, 100)
    rendered = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    assert chat == engine.prompt_ids(tokenizer, {"text": rendered, "chat": False}, 100)
    assert chat[0] == tokenizer.bos_token_id


class FakeTokenizer:
    """Puts its begin token before every text, as many do."""

    bos_token_id = 1
    chat_template = None

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": [1, *(1 if letter == "^" else ord(letter) for letter in text)]}


@pytest.mark.parametrize(
    ("text", "ids"), [("", "^"), ("a", "^a"), ("^", "^"), ("^a", "^a"), ("^^", "^^"), ("a^", "^a^")]
)
def test_the_begin_token_comes_once(text: str, ids: str) -> None:
    """A begin token that was typed where a template puts none stays."""
    tokenizer = FakeTokenizer()
    assert engine.prompt_ids(tokenizer, {"text": text, "chat": False}, 100) == tokenizer(ids)["input_ids"][1:]


def test_a_tokenizer_without_a_begin_token_keeps_repeated_tokens() -> None:
    tokenizer = FakeTokenizer()
    tokenizer.bos_token_id = 2
    assert engine.prompt_ids(tokenizer, {"text": "^aa", "chat": False}, 100) == [1, 1, 97, 97]


class FakeEmptyTokenizer(FakeTokenizer):
    """Makes no token of a text."""

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": []}


def test_what_cannot_be_answered_is_refused(tokenizer: Any) -> None:
    assert len(engine.prompt_ids(tokenizer, {"text": "abc", "chat": False}, 4)) == 3
    with pytest.raises(engine.Refused, match="prompt too long: 4 tokens, and a request may have 4"):
        engine.prompt_ids(tokenizer, {"text": "abcd", "chat": False}, 4)
    with pytest.raises(engine.Refused, match="text_input contains no tokens"):
        engine.prompt_ids(FakeEmptyTokenizer(), {"text": "a", "chat": False}, 4)
    with pytest.raises(engine.Refused, match="no chat template"):
        engine.prompt_ids(FakeTokenizer(), {"text": "a", "chat": True}, 4)


def test_the_answer_is_as_long_as_it_may_be(tokenizer: Any) -> None:
    answer = engine.Answer(tokenizer, {"stop": ["bcd"]}, (), 3)
    assert (answer.take([ord("a")]), answer.finish, answer.tokens) == ("a", "", 1)
    assert (answer.take([ord("b")]), answer.finish, answer.tokens) == ("", "", 2)
    assert (answer.take([ord("c")]), answer.finish, answer.tokens) == ("bc", "length", 3)


def test_an_end_token_at_the_limit_is_a_stop(tokenizer: Any) -> None:
    answer = engine.Answer(tokenizer, {"stop": []}, (tokenizer.eos_token_id,), 2)
    assert answer.take([ord("a"), tokenizer.eos_token_id]) == "a"
    assert (answer.finish, answer.tokens) == ("stop", 2)


def test_a_stop_word_at_the_limit_is_a_stop(tokenizer: Any) -> None:
    answer = engine.Answer(tokenizer, {"stop": ["b"]}, (), 2)
    assert (answer.take([ord("a"), ord("b")]), answer.finish) == ("a", "stop")


def test_an_engine_may_end_an_answer_for_its_own_reasons(tokenizer: Any) -> None:
    answer = engine.Answer(tokenizer, {"stop": ["bcd"]}, (), 9)
    assert answer.take([ord("a"), ord("b")]) == "a"
    assert (answer.end("length"), answer.finish) == ("b", "length")


def test_special_tokens_are_no_text(tokenizer: Any) -> None:
    answer = engine.Answer(tokenizer, {"stop": []}, (), 9)
    assert answer.take([ord("a"), tokenizer.bos_token_id, ord("b")]) == "ab"


def test_the_module_is_where_the_programs_import_it_from() -> None:
    assert Path(engine.__file__ or "") == ENGINE_PROCESS


@pytest.mark.parametrize("marker", ["[THINK]", "<|channel|>"])
def test_special_tokens_belong_to_the_text_if_they_mark_thoughts(tokenizer: Any, marker: str) -> None:
    import copy

    thinker = copy.deepcopy(tokenizer)
    thinker.add_special_tokens({"additional_special_tokens": [marker]})
    ids = [*thinker(f"{marker}a")["input_ids"], tokenizer.eos_token_id]
    assert engine.Answer(thinker, {"stop": []}, (tokenizer.eos_token_id,), 100).take(ids) == f"{marker}a"
    assert engine.Answer(tokenizer, {"stop": []}, (), 100).take([tokenizer.bos_token_id, ord("a")]) == "a"


def test_every_special_format_is_recognized_by_a_token() -> None:
    special = [each for each in thinking().formats if each.special]
    assert special
    assert all(any(token in mark for mark in each.opens for token in engine.THOUGHT_TOKENS) for each in special)
