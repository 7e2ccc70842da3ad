"""What several commands share: their flags, the layout of their help, and the way a command is added."""

from __future__ import annotations

import argparse
from typing import Any

from wizard.cli.number_types import port
from wizard.kernel.language import LANGUAGES, mark, tr, used
from wizard.kernel.paths import server_name
from wizard.kernel.text import width, wrap
from wizard.plan.question import Question, Value
from wizard.plan.questions import CONSTRAINTS, SETUP

BEST = mark("a recipe (demo), a model ID, a folder or a .gguf file (default: the best for this machine)")
"""What ``MODEL`` can be in commands where it can be omitted."""
Commands = Any  # argparse does not export the return type of add_subparsers


class Help(argparse.RawDescriptionHelpFormatter):
    """Wraps by terminal columns, of which Korean characters occupy two; examples are kept as they are."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(text, width).split("\n")

    def _format_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None) -> str:
        """Aligns further lines below the first argument, which argparse locates by counting characters."""
        start = tr("usage: ") if prefix is None else prefix
        room = width(start)
        return start + super()._format_usage(usage, actions, groups, " " * room)[room:]


def add_common(parser: argparse.ArgumentParser, *, json: bool = False, default: Any = None) -> None:
    """Options of all commands; those after a command must not overwrite those before it."""
    group = parser.add_argument_group(tr("global options"))
    group.add_argument(
        "--workspace", metavar="DIR", default=default, help=tr("folder for everything that the wizard creates")
    )
    group.add_argument(
        "--profiles", metavar="DIR", default=default, help=tr("a folder of profiles that override the built-in ones")
    )
    group.add_argument(
        "--hardware", metavar="H", default=default, help=tr("plan for another machine: host.json, 4xA6000, cpu")
    )
    language = tr("language for all messages (default: the locale's)")
    group.add_argument("--language", choices=LANGUAGES, default=default, help=language)
    group.add_argument(
        "--workshop",
        metavar="W",
        default=default,
        help=tr("a workshop: a file, a name such as first-server, or a folder that all seats share"),
    )
    group.add_argument("--seat", metavar="N", default=default, help=tr("your seat number in the workshop (default: 0)"))
    group.add_argument(
        "--offline", action="store_true", default=default or False, help=tr("do not access the Hugging Face Hub")
    )
    if json:
        group.add_argument("--json", action="store_true", help=tr("print data as JSON on standard output"))


def add_command(commands: Commands, name: str, help_text: str, example: str) -> argparse.ArgumentParser:
    """Add the command ``name``; ``example`` has lines without the program's name."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_text,
        description=help_text[0].upper() + help_text[1:] + ".",
        epilog="\n".join([tr("examples:"), *(f"  triton-wizard {line}" for line in example.split("\n"))]),
        formatter_class=Help,
    )
    add_common(parser, json=True, default=argparse.SUPPRESS)
    return parser


def add_constraints(parser: argparse.ArgumentParser, default: Any = None) -> None:
    """The flags of what advice must keep to, and of the setup."""
    group = parser.add_argument_group(tr("constraints (never overridden; the command fails if one cannot be met)"))
    for question in (*CONSTRAINTS, *SETUP):
        add_flag(group, question, default)


def add_flag(group: Any, question: Question, default: Any = argparse.SUPPRESS, lower: str = "") -> None:
    """The flag for ``question``; ``lower`` is its default in words."""
    text, what_for = tr(question.text), tr(question.help)
    name = text[1:2].isupper() or used() != "en"  # "KV"; in other languages a capital may begin a name
    begun = text[0] if name else text[0].lower()
    about = f"{begun}{text[1:].rstrip('?')}. {what_for}".replace("%", "%%")
    if question.kind == "confirm":
        group.add_argument(question.flag, action="store_true", default=default, help=about)
        return
    unless = lower or (tr(question.otherwise) if question.default is None else str(question.default))

    def answer(text: str) -> Value | None:
        return question.parse(not_empty(text), question.flag)

    group.add_argument(
        question.flag,
        type=answer,
        choices=question.options or None,
        metavar={"int": "N", "float": "F", "text": "NAME"}.get(question.kind),
        default=default,
        help=f"{about} ({unless})",
    )


def not_empty(text: str) -> str:
    """``text``, which an unset variable of a shell would leave empty."""
    if not text.strip():
        raise argparse.ArgumentTypeError(tr("must not be empty"))
    return text


def add_plan_flags(parser: argparse.ArgumentParser) -> None:
    """The flags of commands that make a plan: names, ports, answers."""
    parser.add_argument(
        "--name", type=server_name, metavar="NAME", help=tr("name of the server and of the model in Triton")
    )
    parser.add_argument(
        "--http-port", type=port, metavar="P", help=tr("first port to try (8000); gRPC and metrics follow")
    )
    add_answers(parser, default=argparse.SUPPRESS)


def add_explain(parser: argparse.ArgumentParser, default: Any = argparse.SUPPRESS) -> None:
    """``--explain``."""
    parser.add_argument(
        "--explain", action="store_true", default=default, help=tr("explain what each step does and what to look at")
    )


def add_answers(parser: argparse.ArgumentParser, default: Any = None) -> None:
    """``--answers``."""
    parser.add_argument(
        "--answers", metavar="FILE", default=default, help=tr("read answers from a TOML file and skip those questions")
    )


def add_verify(command: argparse.ArgumentParser) -> None:
    """``--verify``."""
    command.add_argument(
        "--verify",
        action="store_true",
        help=tr("read all files of the model again and compare their hashes (default: only size, date and inode)"),
    )


def add_keep(command: argparse.ArgumentParser) -> None:
    """``--keep`` and ``--no-keep``."""
    command.add_argument(
        "--keep",
        action=argparse.BooleanOptionalAction,
        help=tr("restart the server when it fails, until `down` (default: as before, at first not)"),
    )
