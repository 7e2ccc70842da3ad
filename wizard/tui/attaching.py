"""Files that a question names: shown while it is typed, and attached when it is sent."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from textual.app import App

from wizard.chat import attachments
from wizard.chat.conversation import Conversation
from wizard.chat.meter import Meter
from wizard.chat.served import ServedModel
from wizard.kernel.errors import WizardError
from wizard.kernel.language import join, tr
from wizard.kernel.text import one_line
from wizard.tui import background
from wizard.tui.screens.modal import AskScreen


@dataclass(frozen=True, slots=True)
class Preview:
    """What sending a question would attach.

    Attributes:
        line: In a line; empty if the question names no file.
        names: Of the files that are there.
    """

    line: str = ""
    names: frozenset[str] = frozenset()


async def preview(text: str, conversation: Conversation, meter: Meter, served: ServedModel | None) -> Preview:
    """What sending ``text`` to the model ``served`` would attach."""
    return await background.call(partial(_preview, text, conversation, meter, served, Path()))


def _preview(text: str, conversation: Conversation, meter: Meter, served: ServedModel | None, folder: Path) -> Preview:
    named = attachments.references(text, folder)
    files = [each for each in named if each.exists]
    here = [each for each in files if attachments.outside(each, folder) is None]
    parts = [tr("{name}: no such file", name=one_line(each.name)) for each in named if each.mistyped]
    parts += [tr("{name}: outside of this folder", name=one_line(each.name)) for each in files if each not in here]
    if here:
        try:
            read = attachments.read(here, served)
            whole = attachments.attached(text, here, read)
            before, usage = meter.usage(conversation), meter.usage(conversation, whole, exact=True)
            attachments.check(usage, before)
            parts.insert(0, attachments.note(read, usage, before))
        except WizardError as error:
            parts.insert(0, error.what)
    return Preview(join(" · ", *parts), frozenset(each.name for each in files))


async def with_files(
    app: App[Any],
    text: str,
    conversation: Conversation,
    meter: Meter,
    served: ServedModel | None,
    seen: Collection[str],
    typed: Callable[[str], object],
) -> str | None:
    """The question with the files that it names; None if the user does not want one of them.

    ``seen`` are names of files that were shown as attached: they must be there. ``typed`` takes what the user types
    while a window asks.

    Raises:
        UsageError: TW-C25 … TW-C32, see `wizard.chat.attachments`.
    """
    folder = Path()
    named = await background.call(partial(attachments.references, text, folder))
    for each in named:
        if not each.exists and each.name in seen:
            raise attachments.missing(each)
    files = [each for each in named if each.exists]
    for each in files:
        real = await background.call(partial(attachments.outside, each, folder))
        if real is not None:
            question = tr("{name} is outside of this folder ({path}). Attach it?", name=one_line(each.name), path=real)
            choices = [("no", tr("Do not send")), ("yes", tr("Attach"))]
            if await app.push_screen_wait(AskScreen(question, choices, typed=typed)) != "yes":
                return None
    if not files:
        return text
    return await background.call(partial(_attached, text, files, conversation, meter, served))


def _attached(
    text: str,
    files: list[attachments.Reference],
    conversation: Conversation,
    meter: Meter,
    served: ServedModel | None,
) -> str:
    whole = attachments.attached(text, files, attachments.read(files, served))
    attachments.check(meter.usage(conversation, whole, exact=True), meter.usage(conversation))
    return whole
