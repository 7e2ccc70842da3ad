"""The command line says everything through the catalog."""

from __future__ import annotations

import argparse
import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from tests import pseudo
from tests.cli.json_commands import COMMANDS as COMMANDS_WITH_JSON
from tests.cli.json_commands import printed, world
from wizard.cli import main
from wizard.cli.argparse_text import WORDS
from wizard.cli.commands import COMMANDS
from wizard.cli.parser import parser
from wizard.kernel import language
from wizard.kernel.errors import UsageError
from wizard.kernel.text import width

__all__ = ["world"]
NAMES = {
    "triton-wizard",
    "verify",
    "install",
    "COMMAND",
    "llamacpp",
    "vllm",
    "transformers",
    "trtllm",
    "engine",
    "llmapi",
    "cpu",
    "vLLM",
    "runtime",
    "python",
    "auto",
}
"""Names of programs, commands and values that are typed."""


def helped(*words: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit):
        parser().parse_args([*words, "--help"])
    return out.getvalue()


def commands_in(text: str) -> set[str]:
    """What is typed behind the program's name, as the help's examples and usage show it."""
    return {word for line in text.splitlines() if line.strip().startswith("triton-wizard") for word in line.split()}


@pytest.mark.parametrize("name", ["", *sorted(name for name in COMMANDS if name)])
def test_every_word_of_the_help_is_in_the_catalog(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    english = helped(*filter(None, [name]))
    with pseudo.spoken():
        help_text = helped(*filter(None, [name]))
    assert pseudo.OPEN in help_text
    typed = {line for line in english.splitlines() if line.strip().startswith("triton-wizard") and name}
    typed |= {'chat -m "What is Triton?"'}
    usage = {line for line in help_text.splitlines() if "[-h]" in line}
    words = {word for word in COMMANDS if word} | NAMES | {line.strip() for line in typed}
    values = {value for line in usage for value in line.partition(name or "COMMAND")[2].replace("|", " ").split()}
    assert (
        pseudo.escaped(help_text, words | {item for item in values if len(item) > 2 and not item.startswith("[-")})
        == []
    )


def test_every_flag_says_what_it_is_for() -> None:
    (commands,) = (action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    assert [
        f"{name} {action.dest}"
        for name, made in commands.choices.items()
        for action in made._actions
        if not action.help
    ] == []


def test_names_at_the_beginning_of_a_korean_line_keep_their_capitals() -> None:
    assert "number of concurrent users. " in helped()
    language.use("ko")
    help_text = helped()
    assert "KV 캐시 형식. " in help_text
    assert "Triton 이미지의 릴리스. " in help_text


def test_what_was_made_is_listed_in_korean(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "environments" / "llamacpp").mkdir(parents=True)
    with pytest.raises(SystemExit):
        main(["--workspace", str(tmp_path), "--language", "ko", "clean"])
    lines = capsys.readouterr().out.splitlines()  # maybe with what a killed server left on this machine
    assert any(line.startswith("환경  llamacpp") for line in lines)


@pytest.mark.parametrize("arguments", [["chat", "--max-tokens", "many"], ["nonsense"], ["model"], ["chat", "--seed"]])
def test_the_error_about_a_flag_is_in_the_language(arguments: list[str]) -> None:
    with pseudo.spoken():
        with pytest.raises(UsageError) as raised:
            parser().parse_args(arguments)
        shown = str(raised.value)
    assert pseudo.escaped(shown, {"triton-wizard", "help", *filter(None, COMMANDS)}) == []


def test_the_words_of_argparse_are_its_own() -> None:
    """A newer Python may say them otherwise, and they would be English again."""
    from pathlib import Path

    source = Path(str(argparse.__file__)).read_text(encoding="utf-8")
    assert [word for word in WORDS if repr(word)[1:-1] not in source.replace("\\'", "'") and word not in source] == []


def test_english_is_as_argparse_says_it() -> None:
    assert language.used() == "en"
    assert helped("down").startswith("usage: triton-wizard down [-h]")


@pytest.mark.parametrize("code", language.LANGUAGES)
@pytest.mark.parametrize("words", [[], ["plan"], ["clean"]])
def test_all_lines_of_the_usage_begin_below_the_first_argument(code: str, words: list[str]) -> None:
    language.use(code)
    first, *rest = helped(*words).partition("\n\n")[0].splitlines()
    assert rest
    column = width(first.partition("[-h]")[0])
    assert {len(line) - len(line.lstrip()) for line in rest} == {column}


@pytest.mark.parametrize("command", COMMANDS_WITH_JSON)
def test_data_are_the_same_in_every_language(command: str, world: str) -> None:
    english, korean, again = (numberless(printed(command, world, "--language", code)) for code in ("en", "ko", "en"))
    assert korean in (english, again)  # `doctor` looks at this machine, where other tests begin and end meanwhile
    assert korean != []


def numberless(data: Any) -> Any:
    """``data`` without what differs each time: numbers, also in the texts of `doctor`, the time of a benchmark, the
    language in its command.
    """
    if isinstance(data, dict):
        return {key: numberless(value) for key, value in data.items() if key != "made"}
    if isinstance(data, list):
        return [numberless(value) for value in data]
    if isinstance(data, str):
        return re.sub(r" --language \w+", "", re.sub(r"\d[\d.,]*( [KMG]iB)?", "0", data))
    return 0 if isinstance(data, (int, float)) and not isinstance(data, bool) else data
