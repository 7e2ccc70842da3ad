"""The picture of a comparison: valid by itself, readable on light and dark, with what others wrote as text only."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.chat.test_race import FIRST, SECOND, answer, both, race
from wizard.chat.chunk import Chunk
from wizard.chat.conversation import Conversation
from wizard.chat.race import RaceResult
from wizard.chat.race_svg import DARK, LIGHT, WIDTH, picture
from wizard.chat.saving import result_file_name, save_result
from wizard.kernel.errors import UsageError
from wizard.kernel.text import width

SVG = "{http://www.w3.org/2000/svg}"


def texts(result: RaceResult) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(picture(result)).iter(f"{SVG}text")]


def test_it_shows_names_question_figures_and_who_was_ahead() -> None:
    shown = texts(both())
    assert shown[:2] == ["one vs. two", "“Why?”"]
    for text in (
        "40.0 tokens/s · 41 tokens · 1.1 s in total",
        "TTFT 100 ms",
        "TTFT 300 ms",
        "one is 2.0× as fast as two: 40.0 vs. 20.0 tokens/s",
        "one began 200 ms sooner",
        "Both answered at once and shared the machine.",
        "Measured by triton-wizard on the client · 2027-01-15 08:00 UTC · seed 5",
    ):
        assert text in shown


def test_estimates_thoughts_and_bad_ends_are_marked() -> None:
    shown = texts(both(counts=False, thought=20))
    assert "≈ 20.0 tokens/s · ≈ 41 tokens · 2.3 s in total" in shown
    assert "answer after 1.3 s" in shown
    made = race()
    answer(made.lanes[0], 0.1, 41, 0.025)
    made.lanes[1].start(0.0, Conversation().with_message("user", "Why?"))
    made.lanes[1].take(Chunk("a", tokens=1, ttft_s=0.3, at_s=0.3), 0.3)
    made.lanes[1].end(1.0, None, "TW-C03")
    assert "✗ TW-C03" in texts(made.result())


def test_two_lanes_without_anything_are_a_picture_too() -> None:
    made = race(order="turns")
    made.lanes[0].start(0.0, Conversation().with_message("user", "Why?"))
    made.lanes[0].end(0.0, None)
    made.lanes[1].skip()
    assert "No comparison: one was stopped, two was not queried." in texts(made.result())


def test_it_needs_nothing_from_elsewhere() -> None:
    text = picture(both())
    assert set(re.findall(r"https?://[^\"\s<]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(script|image|use|foreignObject|a)\b|url\(|@import|\son\w+=", text)


def test_what_others_wrote_is_text() -> None:
    question = "</text><script>alert(1)</script> \x1b[31m\x00 & \ufffe \ud800 ]]> “" + "long words " * 50_000
    made = race(endpoints=(replace(FIRST, name="<b>&\x07"), replace(SECOND, name="두 번째 " * 30)))
    for lane in made.lanes:
        answer(lane, 0.1, 41, 0.025)
        lane.asked = Conversation().with_message("user", question)
    shown = texts(made.result())
    assert shown[0].startswith("<b>& vs. ")
    assert shown[1].startswith("“</text><script>alert(1)</script>")
    assert all(width(text) <= 100 for text in shown)


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(part * weight for part, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_can_be_read_on_the_card(colors: dict[str, str]) -> None:
    card = luminance(colors["card"])
    for name in ("text", "soft", "one", "two", "error"):
        dark, light = sorted((card, luminance(colors[name])))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, name  # WCAG 2.2, 1.4.3


def test_the_lanes_stay_inside_the_picture() -> None:
    tree = ElementTree.fromstring(picture(both(thought=20)))
    height = float(tree.attrib["height"])
    bars = [each.attrib for each in tree.iter(f"{SVG}rect") if each.attrib["class"] in ("one", "two", "wait")]
    assert len(bars) > 100
    for bar in bars:
        assert 0 <= float(bar["x"]) <= WIDTH - float(bar["width"])
        assert 0 <= float(bar["y"]) <= height - float(bar["height"])


def test_the_result_is_saved_whole_or_not_at_all(tmp_path: Path) -> None:
    result = both()
    path = tmp_path / result_file_name(result)
    assert path.name == "one-vs-two.svg"
    save_result(path, result)
    for name, code in ((path.name, "TW-U25"), ("a.md", "TW-U24"), ("no/such.svg", "TW-U25")):
        with pytest.raises(UsageError) as raised:
            save_result(tmp_path / name, result)
        assert raised.value.code == code
    assert path.read_text() == picture(result)
    save_result(tmp_path / "a.json", result)
    assert [each.name for each in sorted(tmp_path.iterdir())] == ["a.json", "one-vs-two.svg"]
