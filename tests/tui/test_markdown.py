"""What models write besides plain Markdown, and texts that are not complete yet."""

from __future__ import annotations

import pytest
from textual.style import Style

from wizard.tui.widgets.markdown_growing import growing
from wizard.tui.widgets.markdown_lines import MEASURE, blocks
from wizard.tui.widgets.turn import Turn


def shown(text: str, width: int = 80) -> list[str]:
    return [line.plain.rstrip() for block in blocks(text) for line in block.lines(width)]


@pytest.mark.parametrize("text", [r"\(x^2\)", "$x^2$", r"\[x^2\]", "$$x^2$$"])
def test_every_pair_of_delimiters_makes_a_formula(text: str) -> None:
    assert shown(f"Here {text}, too.") == ["Here x², too."]


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $10.",
        "From $5 to 10$ in total",
        "Set $HOME/$USER and $PATH.",
        "US$5, US$10",
        "An amount of $ 5 $ or so",
    ],
)
def test_dollars_of_prices_and_of_shells_stay_text(text: str) -> None:
    assert shown(text) == [text]


def test_formulas_in_code_stay_as_they_are() -> None:
    assert shown("`$x^2$` and `\\(y\\)`") == [r"$x^2$ and \(y\)"]
    assert shown("```\n$$x^2$$\n```")[1].endswith("$$x^2$$")


def test_escaped_brackets_of_a_text_are_no_formula() -> None:
    assert shown(r"see \[1\] and \(as we know\)") == ["see [1] and (as we know)"]


def test_a_formula_of_its_own_lines_follows_a_text_and_is_in_a_list() -> None:
    assert shown("So:\n\\[\nx^2\n\\]\nand\n\n1. item\n   $$\n   y_1\n   $$") == [
        "So:",
        "  x²",
        "and",
        "1. item",
        "     y₁",
    ]


def test_a_formula_that_is_too_wide_is_wrapped_and_not_cut() -> None:
    text = "$$A = \\begin{pmatrix} " + " & ".join(f"a_{{{at}}}" for at in range(20)) + " \\\\ 1 \\end{pmatrix}$$"
    lines = shown(text, 40)
    assert max(map(len, lines)) <= 40
    assert "a₁₉" in "".join(lines)


def test_prose_is_narrower_than_a_wide_terminal_and_tables_and_code_are_not() -> None:
    words, code, row = "word " * 60, "x" * 150, f"| {'cell ' * 30}| b |"
    assert max(map(len, shown(words, 200))) <= MEASURE
    assert max(map(len, shown(f"- {words}", 200))) <= MEASURE
    assert code in shown(f"```\n{code}\n```", 200)[1]
    assert len(shown(f"{row}\n|---|---|", 200)[0]) > MEASURE


def test_columns_are_aligned_as_the_table_asks_by_cells() -> None:
    text = "| left | mid | right |\n|:---|:-:|---:|\n| 한국어 | b | 1 |\n| a | 🎉 | 1000 |"
    assert shown(text) == [
        "left   │ mid │ right",
        "───────┼─────┼──────",
        "한국어 │  b  │     1",
        "a      │ 🎉  │  1000",
    ]


def test_a_cell_may_have_several_lines() -> None:
    assert shown("| a |\n|---|\n| x<br>y<br/>z |")[2:] == ["x", "y", "z"]


def test_tasks_have_boxes_and_bullets_differ_by_depth() -> None:
    assert shown("- [ ] a\n- [x] b\n  - c\n    - d\n\n1. [x] e") == ["☐ a", "☑ b", "  ◦ c", "    ▪ d", "1. [x] e"]


def test_footnotes_are_shown_where_they_are_also_one_with_an_address_only() -> None:
    assert shown("a[^1] b[^x]\n\n[^1]: https://example.org\n[^x]: More *text*.") == [
        "a¹ b[x]",
        "¹ https://example.org",
        "[x] More text.",
    ]


def test_a_link_shows_its_address_unless_its_text_is_the_address() -> None:
    assert shown("[example.org](https://evil.test/example.org)") == ["example.org (https://evil.test/example.org)"]
    assert shown("https://example.org/a") == ["https://example.org/a"]


def test_only_addresses_of_the_web_can_be_opened() -> None:
    def links(text: str) -> list[str]:
        spans = [span for block in blocks(text) for span in block.text.spans]
        return [span.style.link for span in spans if isinstance(span.style, Style) and span.style.link]

    assert links("[a](https://example.org/x?y=1)") == ["https://example.org/x?y=1"]
    assert links("[a](ftp://example.org) [b](ssh://example.org) [c](/etc/passwd)") == []


@pytest.mark.parametrize(
    "text",
    [
        "&#x202e;evil&#27;[31m",
        "<http://example.org/%1b%5d0;title%07>",
        "[a](http://example.org/&#x202e;x)",
        "![&#x9b;2J](http://example.org/%9b)",
        "$\\text{&#27;}$",
    ],
)
def test_what_markdown_decodes_never_reaches_the_terminal_raw(text: str) -> None:
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set("".join(shown(text)))


def test_a_line_of_dashes_is_a_rule() -> None:
    assert shown("text\n---") == ["text", "─" * 80]
    assert [block.kind for block in growing("Items:\n-")[2]] == ["text"] * len(growing("Items:\n-")[2])


@pytest.mark.parametrize("text", ["| a | b", "| a | b |", "| a | b |\n", "| a | b |\n|--", "| a | b |\n|---|--"])
def test_the_head_of_a_table_is_one_before_its_rule_has_come(text: str) -> None:
    rest = growing(text)[2]
    assert [(block.kind, [cell.plain for cell in block.rows[0]]) for block in rest] == [("table", ["a", "b"])]


def test_an_open_formula_is_shown_as_written_and_its_lines_are_no_markdown() -> None:
    rest = growing("text\n\n$$\n\\begin{aligned} a_1 *b* _c")[2]
    assert [line.plain for block in rest for line in block.lines(60)] == [r"\begin{aligned} a_1 *b* _c"]
    assert shown("$$ is a number\n\nof a process") == ["$$ is a number", "of a process"]


def test_separators_of_lines_that_markdown_does_not_know_keep_the_end_of_a_growing_text() -> None:
    text = "a\u2028b\n\nc\n\nd"
    turn = Turn("assistant", grows=True)
    for each in text:
        turn.add(each)
        turn.lines(40)
    assert [line.plain for line in turn.lines(40)] == [line.plain for line in Turn("assistant", text).lines(40)]


def test_a_diagram_names_the_key_that_copies_it() -> None:
    assert "^B" in shown("```mermaid\ngraph TD\n```")[0]


def grown(text: str, piece: int = 7) -> Turn:
    turn = Turn("assistant", grows=True)
    for at in range(0, len(text), piece):
        turn.add(text[at : at + piece])
        turn.lines(60)
    return turn


HEAD = "Words.\n\n| n | square | name |\n|--:|:-:|---|\n"
LONG_TABLE = HEAD + "".join(f"| {n} | {n * n} | row {n} |\n" for n in range(200)) + "\nAnd *so* on.\n"
LONG_LIST = "Words.\n\n" + "".join(f"{n}. **Item** {n}\n   - [x] a part\n" for n in range(1, 120)) + "\n- another\n"
LOOSE_LIST = "".join(f"* item {n}\n\n  more\n\n" for n in range(90))


@pytest.mark.parametrize("text", [LONG_TABLE, LONG_LIST, LOOSE_LIST], ids=["table", "list", "loose list"])
def test_a_long_table_or_list_looks_the_same_while_it_grows(text: str) -> None:
    def lines(turn: Turn) -> list[str]:  # a column that grew wider may be narrower above the row where it did
        return [" ".join(line.plain.replace("─", "").split()) for line in turn.lines(60)]

    turn = grown(text)
    before = lines(turn)
    turn.finish()
    assert before == lines(turn)


@pytest.mark.parametrize("text", [LONG_TABLE, LONG_LIST], ids=["table", "list"])
def test_only_the_end_of_a_long_table_or_list_is_read_again(text: str) -> None:
    done, rest, last = [], "", []
    for line in text.removesuffix("\n").rpartition("\n\n")[0].splitlines(keepends=True):
        more, rest, last = growing(rest + line, done[-1] if done else None)
        done += more
    assert len(rest) < 0.25 * len(text)
    assert last
    assert sum(len(block.rows) for block in done) > 150 or len(done) > 150


def test_columns_keep_their_widths_where_a_growing_table_is_cut() -> None:
    turn = grown("| a wide header | b |\n|---|---|\n" + "| 1 | 2 |\n" * 100)
    assert {line.plain.index("│") for line in turn.lines(60) if "│" in line.plain} == {16}
