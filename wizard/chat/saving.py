"""A conversation as a file, for reading (``.md``) or for programs (``.json``), and the result of a comparison as a
picture (``.svg``) or for programs (``.json``); shared by the interfaces.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from wizard.chat.conversation import Conversation
from wizard.chat.race import RaceResult
from wizard.chat.race_svg import picture
from wizard.kernel import bounded
from wizard.kernel.errors import UsageError
from wizard.kernel.files import write_whole
from wizard.kernel.language import mark, tr
from wizard.kernel.reasons import unreadable
from wizard.kernel.values import from_json, to_data, to_json
from wizard.plan.question import Question


@dataclass(frozen=True, slots=True)
class Saved:
    """A conversation in a JSON file."""

    conversation: Conversation
    title: str = ""
    model: str = ""


def as_markdown(saved: Saved) -> str:
    """The conversation as Markdown, with its model and settings."""
    given = to_data(saved.conversation.sampling).items()
    settings = ", ".join(f"{name} {value}" for name, value in given if value not in (None, []))
    head = saved.title or tr("Chat with {model}", model=saved.model)
    about = f"{saved.model}: {settings}" if saved.title else settings
    return f"# {head}\n\n{about}\n\n{saved.conversation.to_markdown()}"


def as_json(saved: Saved) -> str:
    """The conversation as JSON: ``title``, ``model``, ``messages``, ``sampling``; `load` reads it."""
    return to_json({"title": saved.title, "model": saved.model, **to_data(saved.conversation)}, indent=2) + "\n"


FORMATS: dict[str, Callable[[Saved], str]] = {".md": as_markdown, ".json": as_json}
"""File suffix → format."""
RESULT_FORMATS: dict[str, Callable[[RaceResult], str]] = {
    ".svg": picture,
    ".json": lambda result: to_json(result, indent=2) + "\n",
}
"""The same for the result of a comparison."""
MOST_NAME = 60
"""Characters of a model in the name of a file."""
LARGEST_BYTES = 256 * 1024**2


@dataclass(frozen=True, slots=True)
class _About:
    title: str = ""
    model: str = ""


def problem(name: str) -> str:
    """The error in a file name; empty if it is valid."""
    return "" if Path(name).suffix in FORMATS else tr("the file name must end in .md or .json")


def result_problem(name: str) -> str:
    """The same for the result of a comparison."""
    return "" if Path(name).suffix in RESULT_FORMATS else tr("the file name must end in .svg or .json")


FILE = Question(
    "file",
    "text",
    mark("File"),
    "/save FILE",
    required=True,
    validate=problem,
    help=mark("Use NAME.md for reading or NAME.json for programs; ~ is your home folder."),
)
"""The question for the file, for interfaces with a form."""
RESULT_FILE = replace(
    FILE,
    flag="/save comparison FILE",
    validate=result_problem,
    help=mark("Use NAME.svg for a picture or NAME.json for programs; ~ is your home folder."),
)
"""The same for the result of a comparison."""


def file_name(server: str, suffix: str = ".md") -> str:
    """The default file for a conversation with ``server``, whose name may be an address."""
    return re.sub(r"[^\w.-]+", "-", server).strip(".-") + suffix


def result_file_name(result: RaceResult) -> str:
    """The default file for the result of a comparison."""
    first, second = (lane.name[:MOST_NAME] for lane in result.lanes)
    return file_name(f"{first} vs {second}", ".svg")


def target(name: str) -> tuple[Path, bool]:
    """The file that ``name`` refers to, and whether it exists."""
    path = Path(name)
    with suppress(RuntimeError):  # unknown user in ~user
        path = path.expanduser()
    try:
        return path.absolute(), path.exists()
    except OSError:  # saving reports the error
        return path, False


def save(path: Path, model: str, conversation: Conversation, *, title: str = "", overwrite: bool = False) -> None:
    """Write the conversation to ``path``, atomically; an existing file is kept unless ``overwrite``.

    Raises:
        UsageError: TW-U24 if the name's ending is neither ``.md`` nor ``.json``, TW-U25 if the file is not writable or
            already exists.
    """
    if wrong := problem(str(path)):
        raise UsageError("TW-U24", wrong, tr("For example: chat.md"))
    _write(path, FORMATS[path.suffix](Saved(conversation, title, model)), overwrite=overwrite)


def save_result(path: Path, result: RaceResult, *, overwrite: bool = False) -> None:
    """Write the result of a comparison to ``path``; as `save`.

    Raises:
        UsageError: TW-U24 if the name's ending is neither ``.svg`` nor ``.json``, TW-U25 as in `save`.
    """
    if wrong := result_problem(str(path)):
        raise UsageError("TW-U24", wrong, tr("For example: {example}", example=result_file_name(result)))
    _write(path, RESULT_FORMATS[path.suffix](result), overwrite=overwrite)


def _write(path: Path, text: str, *, overwrite: bool) -> None:
    try:
        if not overwrite:
            path.open("x").close()  # it is our file from here on
        try:
            write_whole(path, text)
        except (OSError, UnicodeError):
            if not overwrite:
                path.unlink(missing_ok=True)
            raise
    except (OSError, UnicodeError) as error:
        raise UsageError(
            "TW-U25", tr("cannot write {path}: {why}", path=path, why=unreadable(error)), tr("Enter another name.")
        ) from error


def load(path: Path) -> Saved:
    """The conversation that was saved to a JSON file.

    Raises:
        UsageError: TW-U27 if the file is not readable or is too large, TW-K01 or TW-K02 if it is not a conversation.
    """
    try:
        text = bounded.read(path, LARGEST_BYTES).decode("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(
            "TW-U27",
            tr("cannot read {path}: {why}", path=path, why=unreadable(error)),
            tr("Use a .json file written by /save."),
        ) from error
    conversation = from_json(Conversation, text, where=str(path), most=bounded.MOST_VALUES)
    about = from_json(_About, text, where=str(path), most=bounded.MOST_VALUES)
    return Saved(conversation, about.title, about.model)
