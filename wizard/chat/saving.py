"""A conversation as a file, for people (``.md``) or for programs (``.json``); the doors share it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from wizard.chat.conversation import Conversation
from wizard.kernel.errors import UsageError
from wizard.kernel.values import to_data, to_json
from wizard.plan.questions import Question


def as_markdown(model: str, conversation: Conversation) -> str:
    """The conversation as Markdown, with the ``model`` and the settings that it was had with."""
    given = to_data(conversation.sampling).items()
    settings = ", ".join(f"{name} {'none' if value is None else value}" for name, value in given)
    return f"# Chat with {model}\n\n{settings}\n\n{conversation.to_markdown()}"


def as_json(model: str, conversation: Conversation) -> str:
    """The conversation as JSON: ``model``, ``messages``, ``sampling``."""
    return to_json({"model": model, **to_data(conversation)}, indent=2) + "\n"


FORMATS: dict[str, Callable[[str, Conversation], str]] = {".md": as_markdown, ".json": as_json}
"""Ending of the file's name → what is written."""


def problem(name: str) -> str:
    """What is wrong with a file's name; an empty text if nothing is."""
    return "" if Path(name).suffix in FORMATS else f"the file's name must end in {' or '.join(FORMATS)}"


FILE = Question(
    "file",
    "text",
    "File",
    "/save FILE",
    required=True,
    validate=problem,
    help="NAME.md for people or NAME.json for programs; ~ is your home folder.",
)
"""Where to save, for a door that asks with a form."""


def target(name: str) -> tuple[Path, bool]:
    """The file that is meant by ``name``, and whether it is there already."""
    path = Path(name)
    with suppress(RuntimeError):  # a home folder of nobody
        path = path.expanduser()
    try:
        return path.absolute(), path.exists()
    except OSError:  # saving says why
        return path, False


def save(path: Path, model: str, conversation: Conversation, *, overwrite: bool = False) -> None:
    """Write the conversation to ``path``, whole or not at all; a file that is there stays unless ``overwrite``.

    Raises:
        UsageError: TW-U24 if the name's ending is neither ``.md`` nor ``.json``, TW-U25 if the file cannot be written
            or is there already.
    """
    if wrong := problem(str(path)):
        raise UsageError("TW-U24", wrong, "For example: chat.md")
    text = FORMATS[path.suffix](model, conversation)
    temporary = path.with_name(f".{path.name}.new")
    try:
        if not overwrite:
            path.open("x").close()  # it is ours from here on
        try:
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(path)
        except (OSError, UnicodeError):
            temporary.unlink(missing_ok=True)
            if not overwrite:
                path.unlink(missing_ok=True)
            raise
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError("TW-U25", f"{path} cannot be written: {why}", "Give another name.") from error
