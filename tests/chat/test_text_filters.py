"""However a text is cut into responses, the same answer comes out."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from wizard.chat.text_filters import DeltaFilter, EchoFilter, ResponseMode, StopFilter
from wizard.model.special_tokens import SHAPES

TEXT = st.text(alphabet="ab <|>é😀\n", max_size=30)


def cut(text: str | bytes, places: list[int]) -> list[str | bytes]:
    """``text`` cut at ``places``."""
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in itertools.pairwise(edges)]


PLACES = st.lists(st.integers(0, 200), max_size=12)


def fed(reader: DeltaFilter | EchoFilter | StopFilter, pieces: list[str]) -> str:
    return "".join(reader.feed(piece) for piece in pieces) + reader.rest()


@given(TEXT, PLACES)
def test_deltas(text: str, places: list[int]) -> None:
    assert fed(DeltaFilter("delta"), cut(text, places)) == text  # type: ignore[arg-type]


@given(TEXT, PLACES, st.sampled_from(["cumulative", "either"]))
def test_everything_so_far_with_half_characters(text: str, places: list[int], kind: ResponseMode) -> None:
    raw = text.encode()
    edges = itertools.accumulate(len(piece) for piece in cut(raw, places))
    responses = [raw[:edge].decode(errors="replace") for edge in edges]
    pieces = DeltaFilter(kind)
    given_ = [pieces.feed(response) for response in responses]
    assert not any("\ufffd" in each for each in given_)
    assert "".join(given_) + pieces.rest() == text


@given(TEXT, PLACES)
@example("haha!", [2, 4])
@example("aab!", [1, 3])
def test_deltas_are_recognized(text: str, places: list[int]) -> None:
    pieces = [str(each) for each in cut(text, places)]
    firsts = [piece for piece, other in itertools.pairwise(pieces) if not other.startswith(piece)]
    assume(firsts)  # something shows that they are deltas
    grown = list(itertools.takewhile(lambda pair: pair[1].startswith(pair[0]), itertools.pairwise(pieces)))
    assume(sum(len(piece) < len(other) for piece, other in grown) < 2)  # and nothing the contrary before
    assert fed(DeltaFilter("either"), pieces) == text


def test_either_gives_what_is_sure_at_once() -> None:
    pieces = DeltaFilter("either")
    assert [pieces.feed(text) for text in ("Hi", "Hi there", "Hi there,", "Hi there, you")] == [
        *("Hi", "", " there,", " you")
    ]
    pieces = DeltaFilter("either")
    assert [pieces.feed(text) for text in ("Hi", " there", ",")] == ["Hi", " there", ","]


def test_a_wrong_guess_loses_nothing_that_comes_later() -> None:
    pieces = ["ha", "haha", "hahahaha!", " done", ", ha"]
    assert fed(DeltaFilter("either"), pieces) == "hahahaha! done, ha"
    assert fed(DeltaFilter("cumulative"), ["It", "It is", " over"]) == "It is over"


def test_cumulative_text_can_be_corrected_at_its_end() -> None:
    pieces = ["I do", "I do say", "I do say ,", "I do say, yes"]  # a tokenizer that cleans up spaces
    filtered = fed(DeltaFilter("either"), pieces)
    assert filtered.endswith("yes")
    assert filtered.count("do") == 1


@given(st.text(alphabet="ab \n", min_size=1, max_size=10), st.text(alphabet="cd é", max_size=10), PLACES)
def test_the_prompt_is_taken_away(prompt: str, text: str, places: list[int]) -> None:
    assume(prompt.strip())
    pieces = [str(each) for each in cut(prompt + text, places)]
    assert fed(EchoFilter(prompt, ""), pieces) == text.lstrip()


@given(st.text(alphabet="cd é", max_size=10), PLACES)
def test_a_prompt_that_lost_its_special_tokens_is_known(text: str, places: list[int]) -> None:
    prompt = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    decoded = "user\nHi\nassistant\n"
    assert fed(EchoFilter(prompt, SHAPES), [str(each) for each in cut(decoded + text, places)]) == text.lstrip()


@given(st.text(alphabet="ab", min_size=1, max_size=8), TEXT, PLACES)
def test_an_answer_without_the_prompt_stays(prompt: str, text: str, places: list[int]) -> None:
    assume(not "".join(text.split()).startswith(prompt))
    assert fed(EchoFilter(prompt, ""), [str(each) for each in cut(text, places)]) == text


@given(TEXT, st.lists(st.text(alphabet="ab<|é", min_size=1, max_size=4), max_size=3), PLACES)
@example("aab", ["ab"], [1, 2])
def test_a_stop_text_ends_it(text: str, stops: list[str], places: list[int]) -> None:
    stop = StopFilter(tuple(stops))
    filtered = fed(stop, [str(each) for each in cut(text, places)])
    first = [place for each in stops if (place := text.find(each)) >= 0]
    assert stop.reached == bool(first)
    if not first:
        assert filtered == text
    else:  # with overlapping stop texts the piece that completes one first decides
        assert text.startswith(filtered)
        assert not any(each in filtered for each in stops)
        assert any(text[len(filtered) :].startswith(each) for each in stops)


def test_nothing_after_a_stop_text() -> None:
    stop = StopFilter(("END", ""))
    assert [stop.feed(text) for text in ("a E", "ND b", "c")] == ["a ", "", ""]
    assert stop.rest() == ""


@pytest.mark.parametrize("kind", ["delta", "cumulative", "either"])
def test_no_response_is_no_text(kind: ResponseMode) -> None:
    assert DeltaFilter(kind).rest() == ""
