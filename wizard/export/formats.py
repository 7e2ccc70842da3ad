"""The export formats of a plan, offered by every interface. The text is the same for the same plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wizard.export.answers import answers
from wizard.export.shell import script
from wizard.kernel.errors import UsageError
from wizard.kernel.language import mark, tr
from wizard.kernel.values import to_document
from wizard.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Format:
    """An export format.

    Attributes:
        name: Identifier.
        title: Display name; passed to `wizard.kernel.language.tr` where it is shown.
        ending: Suffix of the file's name, after the server's name.
        text: Renders the plan.
        program: Whether the file is executable.
    """

    name: str
    title: str
    ending: str
    text: Callable[[Plan], str]
    program: bool = False

    def file(self, plan: Plan) -> str:
        """The default name of the file."""
        return plan.name + self.ending


def _json(plan: Plan) -> str:
    return to_document(plan)


FORMATS = (
    Format("shell", mark("A shell script that runs the plan without the wizard"), ".sh", script, program=True),
    Format("plan", mark("The plan itself, for `triton-wizard run`"), ".plan.json", _json),
    Format("answers", mark("The answers that lead to this plan, for `--answers`"), ".answers.toml", answers),
)


def save(plan: Plan, form: Format, path: Path, *, overwrite: bool = False) -> None:
    """Write ``plan`` as ``form`` to ``path``; an existing file is kept unless ``overwrite``.

    Raises:
        UsageError: TW-U48 if it is not writable, or exists.
    """
    try:
        with path.open("w" if overwrite else "x", encoding="utf-8") as file:
            file.write(form.text(plan))
        if form.program:
            path.chmod(path.stat().st_mode | 0o100)
    except OSError as error:
        raise UsageError(
            "TW-U48",
            tr("cannot write {path}: {why}", path=path, why=error.strerror),
            tr("Choose another name, or a writable folder."),
        ) from error
