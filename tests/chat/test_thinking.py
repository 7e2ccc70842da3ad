"""Texts of models, split into thought and answer: every format, in pieces of any size."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wizard.catalog.thinking import Format, thinking
from wizard.chat.thinking import Splitter, formats_of

FORMATS = {each.name: each for each in thinking().formats}
TAGS = (FORMATS["think tags"],)
HARMONY = formats_of("{{ '<|channel|>' }}")


def split(formats: tuple[Format, ...], pieces: list[str], prompt: str | None = "") -> tuple[str, str]:
    """Thought and answer."""
    splitter = Splitter(formats, prompt)
    thought = answer = ""
    for piece in pieces:
        thought, answer = splitter.feed(piece).onto(thought, answer)
    return splitter.end().onto(thought, answer)


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_every_format(form: Format) -> None:
    assert split((form,), [f"\n{form.opens[0]}\nA thought.\n\n{form.closes[0]}\n\nThe answer.\n"]) == (
        "A thought.",
        "The answer.\n",
    )
    assert split((form,), ["No thought.", " Only ", form.closes[0], " an answer."])[0] == ""
    assert form.source


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_the_template_has_opened_the_thought(form: Format) -> None:
    prompt = f"<|user|>Hello<|assistant|>{form.opens[0]}\n"
    assert split((form,), [f"A thought.\n{form.closes[0]}\nYes"], prompt) == ("A thought.", "Yes")
    assert split((form,), [form.opens[0], f"\nA thought.{form.closes[0]}Yes"], prompt) == ("A thought.", "Yes")


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_a_thought_without_end(form: Format) -> None:
    assert split((form,), [form.opens[-1], " on and ", "on  "]) == ("on and on", "")


def test_the_template_has_switched_thinking_off() -> None:
    prompt = "<|im_start|>assistant\n<think>\n\n</think>\n\n"
    assert split(TAGS, ["<think> is a tag"], prompt) == ("", "<think> is a tag")


def test_the_thought_is_over() -> None:
    """Nothing counts as a marker after it, in code or elsewhere."""
    code = "```\n<think>\nx\n</think>\n```\n</think> <think>a</think>"
    assert split(TAGS, [f"<think>t</think>{code}"]) == ("t", code)
    assert split(TAGS, [f"So:\n{code}"]) == ("", f"So:\n{code}")


@pytest.mark.parametrize("prompt", ["", "<|assistant|><think>\n"])
def test_the_first_end_marker_ends_the_thought(prompt: str) -> None:
    """A start marker in the thought is its text: vLLM's ``BaseThinkingReasoningParser`` partitions the same way."""
    text = "<think>a <think>b</think> c</think>d"
    assert split(TAGS, [text], prompt) == split(TAGS, [*text], prompt) == ("a <think>b", "c</think>d")


def test_an_answer_in_tags() -> None:
    assert split(TAGS, ["<think>t</think>\n<response>\nYes </response>"]) == ("t", "Yes ")
    assert split(TAGS, ["<think>t</think>\nYes <response></response>"]) == ("t", "Yes <response></response>")
    assert split(TAGS, ["<response>Yes</response>"]) == ("", "<response>Yes</response>")


@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        (
            "<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>commentary<|message|>B<|end|>"
            "<|start|>assistant<|channel|>final<|message|>C <|channel|>",
            "A\n\nB",
            "C <|channel|>",
        ),
        ("<|channel|>analysis<|message|>A<|start|>assistant<|channel|>final<|message|>C", "A", "C"),  # llama.cpp
        ("<|channel|>final<|message|>C", "", "C"),
        ("analysisA final thought.assistantfinalC", "A final thought.", "C"),
        ("finalC", "", "C"),
    ],
)
def test_channels(text: str, thought: str, answer: str) -> None:
    assert split(HARMONY, [text]) == (thought, answer)
    assert split(HARMONY, list(text)) == (thought, answer)


def test_an_unknown_template() -> None:
    """The server has opened the thought, and nobody knows."""
    known = formats_of(None)
    thought, answer = split(known, ["Let me see.\n", "</thi", "nk>\n\nYes"], None)
    assert (thought.strip(), answer) == ("Let me see.", "Yes")
    for text in (
        "The tag </think> ends it.\nYes",
        "```\n</think>\n```\nYes",
        "</think>x\nYes",
        "Yes, analysis\nfinal",
        "",
        " \n",
    ):
        assert split(known, [text], None) == ("", text)
        assert split(known, list(text), None) == ("", text)


def test_a_model_without_thoughts() -> None:
    text = "<think>\nno\n</think> "
    assert formats_of("{% for m in messages %}{{ m.content }}{% endfor %}") == ()
    assert split((), list(text), None) == ("", text)


def test_what_is_held_back_is_bounded() -> None:
    splitter = Splitter(TAGS, "<think>")
    given = sum(len(splitter.feed("thought < thought").thought) for _ in range(10_000))
    assert given > 10_000 * len("thought < thought") - 20
    unknown = Splitter(formats_of(None))
    given = sum(len(unknown.feed("x" * 100).answer) for _ in range(10_000))
    assert given == 1_000_000


MARKERS = [mark for each in FORMATS.values() for mark in (*each.opens, *each.closes, *each.answers, *each.ends)]
WORDS = st.sampled_from([*MARKERS, " ", "\n", "\n\n", "```\n", "a", "<", "<|", "end", "thought\n", "é😀", "x y"])
TEXTS = st.lists(WORDS, max_size=12).map("".join)
CHOICES = st.one_of(
    st.sampled_from([(each,) for each in FORMATS.values()]), st.just(HARMONY), st.just(formats_of(None))
)
PROMPTS = st.one_of(st.none(), st.just(""), st.sampled_from(MARKERS))


@given(CHOICES, PROMPTS, TEXTS, st.lists(st.integers(1, 30), max_size=40))
@example(TAGS, "<think>", "<think><think>a</think>b", [7, 7])
@example((FORMATS["thought channel"],), "", "<|channel>a<|channel>thought\nb<channel|>c", [20, 8])
def test_any_pieces_give_the_same(formats: tuple[Format, ...], prompt: str | None, text: str, sizes: list[int]) -> None:
    pieces, place = [], 0
    for size in sizes:
        pieces.append(text[place : place + size])
        place += size
    whole = split(formats, [text], prompt)
    assert split(formats, [*pieces, text[place:]], prompt) == whole
    assert split(formats, list(text), prompt) == whole


@given(CHOICES, PROMPTS, TEXTS)
def test_nothing_is_invented(formats: tuple[Format, ...], prompt: str | None, text: str) -> None:
    """Thought and answer are the text without markers and whitespace around the thought; no thought: all of it."""
    thought, answer = split(formats, [text], prompt)
    rest = iter(text + "\n\n")
    assert all(letter in rest for letter in thought.replace("\n\n", "") + answer)
    if formats and not any(mark in text for mark in MARKERS) and prompt == "":
        assert (thought, answer) == ("", text)
