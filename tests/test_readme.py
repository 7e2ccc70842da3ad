"""README and documentation match the program: commands, links, exit codes, variables."""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import re
import shlex
from pathlib import Path

import pytest

from wizard.kernel.errors import EXIT_CODES

CHECKOUT = Path(__file__).resolve().parent.parent
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
REFERENCE = (CHECKOUT / "docs" / "reference.md").read_text(encoding="utf-8")
FOLDERS = ("docs", "requirements", "translations", "training", ".github")
PAGES = sorted([*CHECKOUT.glob("*.md"), *(page for name in FOLDERS for page in (CHECKOUT / name).rglob("*.md"))])
INTERNAL = {
    "TRITON_WIZARD_MADE_FROM",
    "TRITON_WIZARD_STEP",
    "TRITON_WIZARD_OWNER",
    "TRITON_WIZARD_SERVER",
    "TRITON_WIZARD_GATEWAY",
    "TRITON_WIZARD_KEEPER",
    "TRITON_WIZARD_BENCH_KEY",
}
"""Marks that the wizard sets on its own child processes."""


def fences(language: str) -> list[str]:
    """The fenced blocks of the README in ``language``."""
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", README)


def shell_lines() -> list[str]:
    return [line.strip() for block in fences("sh") for line in block.splitlines() if line.strip()]


def wizard_commands() -> list[list[str]]:
    """Arguments of every ``triton-wizard`` call, in the README's blocks and in running text."""
    spans = re.findall(r"`(triton-wizard(?: [^`]*)?)`", README + REFERENCE)
    lines = [line for line in shell_lines() if "triton-wizard" in line]
    calls = []
    for line in [*spans, *lines]:
        words = shlex.split(line.partition("|")[0], comments=True)
        start = next(index for index, word in enumerate(words) if word.rsplit("/", 1)[-1] == "triton-wizard")
        calls.append(words[start + 1 :])
    return calls


def subcommands() -> dict[str, argparse.ArgumentParser]:
    from wizard.cli import parser

    actions = parser()._actions
    return next(dict(action.choices) for action in actions if isinstance(action, argparse._SubParsersAction))


def table(heading: str) -> list[list[str]]:
    """Cells of the reference's table under ``heading``, without its head."""
    section = REFERENCE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("| ").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_the_readme_is_a_landing_page() -> None:
    assert len(README.splitlines()) <= 110


def test_two_commands_do_everything_on_a_fresh_machine() -> None:
    lines = [line.partition("#")[0].strip() for line in shell_lines()]
    assert lines.index("make demo") < lines.index("make check")


def test_make_has_the_targets_that_are_named() -> None:
    makefile = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?m)^([a-z ]+):$", makefile)[0].split())
    named = {line.split()[1] for line in shell_lines() if line.startswith("make ")}
    assert named <= targets
    assert set(re.findall(r"`make (\w+)`", README)) <= targets


def test_ci_runs_the_command_that_the_readme_names() -> None:
    assert (CHECKOUT / ".ci" / "run").read_text(encoding="utf-8").rstrip().endswith("exec make check")


@pytest.mark.parametrize("arguments", wizard_commands(), ids=" ".join)
def test_the_command_line_takes_every_command_shown(arguments: list[str]) -> None:
    from wizard.cli import parser

    ends = {"--help", "--version"} & set(arguments)
    with pytest.raises(SystemExit, match=r"^0$") if ends else contextlib.nullcontext():
        parser().parse_args(arguments)


def test_the_table_lists_all_commands() -> None:
    named = {name for row in table("Commands") for name in re.findall(r"triton-wizard (\w+)", row[0])}
    assert named == set(subcommands())


def test_the_table_of_exit_codes_is_the_one_of_the_program() -> None:
    assert {int(code): meaning for code, meaning in table("Exit codes")} == EXIT_CODES, "run: python docs/tables.py"


def test_the_variables_named_are_those_that_are_read() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (CHECKOUT / "wizard").rglob("*.py")]
    read = {name for text in sources for name in re.findall(r"\bTRITON_WIZARD_[A-Z_]+\b", text)}
    assert set(re.findall(r"\bTRITON_WIZARD_[A-Z_]+\b", REFERENCE)) == read - INTERNAL


def test_python_shown_compiles_and_imports() -> None:
    for block in fences("python"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom):
                assert node.module is not None
                module = importlib.import_module(node.module)
                assert all(hasattr(module, alias.name) for alias in node.names)


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub makes anchors of them: lower case, no punctuation, hyphens for spaces."""
    headings = re.findall(r"(?m)^#+ (.+)$", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(CHECKOUT).as_posix())
def test_relative_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", page.read_text(encoding="utf-8"))
    for target in (first or second for first, second in targets):
        if "://" not in target and not target.startswith(("#", "mailto:")):
            path, _, heading = target.partition("#")
            assert (page.parent / path).exists(), target
            assert not heading or heading in anchors(page.parent / path), target


def test_the_changelog_is_open_for_the_next_release() -> None:
    assert "\n## [Unreleased]\n" in (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
