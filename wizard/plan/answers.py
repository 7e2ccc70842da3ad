"""Answers in files: those of recipes, those passed with ``--answers``, and those saved when the user leaves early."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path

from wizard.catalog.profiles import load_toml
from wizard.catalog.recipes import Recipe, recipes
from wizard.kernel.errors import UsageError
from wizard.kernel.files import write_whole
from wizard.kernel.language import join, tr
from wizard.kernel.paths import Workspace
from wizard.kernel.toml import scalar
from wizard.kernel.values import from_data
from wizard.plan.options import Options
from wizard.plan.question import Answers
from wizard.plan.questions import BY_NAME, QUESTIONS


def read_answers(path: str | os.PathLike[str]) -> Answers:
    """Read a file that was passed with ``--answers``.

    Raises:
        UsageError: TW-D02 if it is not TOML, and the errors of `checked`.
    """
    return checked(load_toml(Path(path)), str(path))


def checked(given: Mapping[str, object], where: str) -> Answers:
    """Answers from a file, each validated by its question; ``where`` is the file's name.

    Raises:
        UsageError: TW-U30 if a question is unknown, TW-U31 or TW-U32 if an answer does not fit,
            TW-U34 if it contains a secret.
    """
    answers: Answers = {}
    for name, value in given.items():
        question = BY_NAME.get(name)
        if question is None:
            near = difflib.get_close_matches(name, BY_NAME, 1)
            todo = tr("Did you mean {near}?", near=near[0]) + " " if near else ""
            known = ", ".join(question.name for question in QUESTIONS if not question.secret)
            raise UsageError(
                "TW-U30",
                tr("unknown key {name!r} in {path}", path=where, name=name[:60]),
                todo + tr("Valid: {known}.", known=known),
            )
        if question.secret:
            todo = tr("Remove it from the file and use {flag}.", flag=question.flag)
            raise UsageError("TW-U34", tr("{path} contains a secret, {name}", path=where, name=name), todo)
        try:
            answers[name] = question.check(value)
        except UsageError as error:
            raise UsageError(error.code, join(": ", where, error.what), error.todo) from error
    return answers


def ready_made() -> list[Recipe]:
    """All recipes, their answers checked by the questions and their options by the stacks' fields.

    Raises:
        UsageError: TW-D02 or TW-K01 if a file cannot be read or does not fit, and what `checked` raises.
    """
    ready = recipes()
    for recipe in ready:
        where = f"profiles/recipes/{recipe.name}.toml"
        checked(recipe.answers, where)
        from_data(Options, recipe.options, where=where)
    return ready


def answers_file(workspace: Workspace) -> Path:
    """The file for answers that are saved when the user leaves the wizard early."""
    return workspace.root / "answers.toml"


def save_answers(workspace: Workspace, answers: Mapping[str, object]) -> Path:
    """Save ``answers`` without the secrets in the workspace; returns the file.

    Raises:
        WorkspaceError: TW-K03 if the workspace is not writable.
    """
    workspace.make()
    path = answers_file(workspace)
    lines = [
        f"{name} = {scalar(value)}\n"
        for name, value in answers.items()
        if name in BY_NAME and not BY_NAME[name].secret and value is not None
    ]
    write_whole(path, tr("# Answers for triton-wizard; use them with --answers.\n") + "".join(lines))
    return path


def load_answers(workspace: Workspace) -> Answers:
    """The answers that `save_answers` saved; empty if there are none or the file is damaged."""
    if not answers_file(workspace).is_file():
        return {}
    try:
        return read_answers(answers_file(workspace))
    except UsageError:
        return {}  # they only save typing; the questions can be asked again
