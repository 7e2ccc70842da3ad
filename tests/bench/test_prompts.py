"""Datasets: generated, tutorial 003's JSON, and the user's own; whatever is wrong in a file is said with its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wizard.bench import prompts
from wizard.bench.dataset import Dataset, Prompt
from wizard.kernel.errors import UsageError

ARTICLES = [
    {"input": "(CNN)Share, and your gift will be multiplied.", "instruction": "Summarize:", "output": "A kidney ."},
    {"input": "(CNN)On the 6th of April 1996 …", "instruction": "Summarize:", "output": "The 20th season ."},
]
"""As in mini_cnn_eval.json, shortened."""


def file(folder: Path, name: str, text: str | bytes) -> Dataset:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Dataset(prompts.kind_of(name), 16, None, str(path))


def test_tutorial_003s_file_is_read(tmp_path: Path) -> None:
    dataset, read = prompts.read(file(tmp_path, "mini_cnn_eval.json", json.dumps(ARTICLES)), 5, 0)
    assert read[0] == Prompt("Summarize:\n(CNN)Share, and your gift will be multiplied.", 16)
    assert (dataset.kind, dataset.prompts, dataset.changed, len(dataset.sha256)) == ("cnn", 2, (), 64)


def test_long_prompts_are_cut_to_what_was_asked_for(tmp_path: Path) -> None:
    rows = [{"input": "word " * 1000, "instruction": "Summarize:"}, {"input": "short", "instruction": ""}]
    wanted = file(tmp_path, "a.json", json.dumps(rows))
    dataset, read = prompts.read(Dataset("cnn", 16, 100, wanted.path), 5, 0)
    assert [len(prompt.text) for prompt in read] == [400, 5]
    assert dataset.changed == (("cut", 1),)


def test_empty_and_enormous_rows_are_left_out_and_counted(tmp_path: Path) -> None:
    lines = ["", "Hello", "   ", "x" * 500_000, "World"]
    dataset, read = prompts.read(file(tmp_path, "own.txt", "\n".join(lines)), 5, 0)
    assert [prompt.text for prompt in read] == ["Hello", "World"]
    assert dataset.changed == (("empty", 2), ("too-long", 1))


def test_prompts_that_the_server_does_not_support_are_left_out(tmp_path: Path) -> None:
    dataset, read = prompts.read(file(tmp_path, "own.txt", f"Hello\n{'x' * 500}"), 5, 0, context=100)
    assert [prompt.text for prompt in read] == ["Hello"]
    assert dataset.changed == (("too-long", 1),)


def test_json_lines_of_the_users_own_are_read(tmp_path: Path) -> None:
    rows = ['{"prompt": "One", "max_tokens": 4}', '"Two"', "", '{"text": "Three"}', '{"question": "Four"}']
    _, read = prompts.read(file(tmp_path, "own.jsonl", "\n".join(rows)), 5, 0)
    assert read == (Prompt("One", 4), Prompt("Two", 16), Prompt("Three", 16), Prompt("Four", 16))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.json", "{", "it is not JSON"),
        ("a.json", "{}", "expected a list of objects"),
        ("a.json", '[{"instruction": "x"}]', "row 1 has no text 'input'"),
        ("a.json", "[" * 100_000, "it is not JSON"),
        ("a.json", "[]", "no prompt is left (it has no rows)"),
        ("a.json", '[{"input": " "}]', "no prompt is left (empty: 1)"),
        ("a.jsonl", '"Hello"\n{', "line 2 is not valid"),
        ("a.jsonl", '{"other": 1}', "line 1 is not valid: none of the fields prompt, text, question, input"),
        ("a.jsonl", '{"text": "x", "max_tokens": 0}', "the length of the answer is not a positive number"),
        ("a.txt", b"\xff\xfe\x00", "it is not UTF-8 text"),
        ("a.txt", "", "no prompt is left (it has no rows)"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, name: str, text: str | bytes, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        prompts.read(file(tmp_path, name, text), 5, 0)
    assert caught.value.code == "TW-C66"
    assert says in caught.value.what


def test_a_missing_or_huge_file_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="No such file"):
        prompts.read(Dataset("prompts", 16, None, str(tmp_path / "none.txt")), 5, 0)
    monkeypatch.setattr(prompts, "LARGEST_FILE", 3)
    with pytest.raises(UsageError, match="it is larger than"):
        prompts.read(file(tmp_path, "a.txt", "Hello"), 5, 0)


@given(st.integers(1, 50), st.integers(1, 200), st.integers(0, 2**31))
def test_generated_prompts_have_their_length_and_differ_from_the_first_word(count: int, isl: int, seed: int) -> None:
    made = list(prompts.generated(count, isl, 8, seed))
    assert [len(prompt.text.split()) for prompt in made] == [isl] * count
    assert len({prompt.text.split()[0] for prompt in made}) == count
    assert made == list(prompts.generated(count, isl, 8, seed))


@given(st.binary(max_size=200), st.sampled_from(("a.json", "a.jsonl", "a.txt")))
def test_any_bytes_are_prompts_or_an_error_with_a_code(tmp_path: Path, data: bytes, name: str) -> None:
    try:
        _, read = prompts.read(file(tmp_path, name, data), 5, 0)
    except UsageError as error:
        assert error.code == "TW-C66"  # noqa: PT017
    else:
        assert all(prompt.text.strip() for prompt in read)
