"""Files that a typed question names are attached; those outside of the current folder after a question."""

from __future__ import annotations

import threading
from pathlib import Path

from wizard.chat import attachments
from wizard.chat.commands.session import ChatSession
from wizard.chat.served import ServedModel
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.text import one_line
from wizard.prompts.ask import Ask
from wizard.prompts.speech import tell

READING_S = 0.5
"""Seconds after which a line shows that files are being read: a PDF may take a minute."""


def with_files(talk: ChatSession, question: str) -> str | None:
    """The question with the files that it names; None if the user does not want one, or it is not possible."""
    try:
        return _with_files(talk, question)
    except UsageError as error:
        tell(str(error))
        return None
    except KeyboardInterrupt:
        tell(f"\n{tr('stopping')}")
        return None


def _read(files: list[attachments.Reference], served: ServedModel) -> list[attachments.Attachment]:
    """The files; a line appears if reading them takes long."""
    text = tr("reading {names} …", names=", ".join(one_line(each.name) for each in files))
    timer = threading.Timer(READING_S, tell, [text])
    timer.start()
    try:
        return attachments.read(files, served)
    finally:
        timer.cancel()


def _with_files(talk: ChatSession, question: str) -> str | None:
    folder = Path()
    named = attachments.references(question, folder)
    for each in named:
        if each.mistyped:
            tell(tr("{name}: no such file", name=one_line(each.name)))
    files = [each for each in named if each.exists]
    for each in files:
        if (real := attachments.outside(each, folder)) is not None:
            text = tr("{name} is outside of this folder ({path}). Attach it?", name=one_line(each.name), path=real)
            if not Ask().choose(text, [(tr("Do not send"), False), (tr("Attach"), True)]):
                return None
    if not files:
        return question
    read = _read(files, talk.served())
    whole = attachments.attached(question, files, read)
    meter = talk.measure()
    before, usage = meter.usage(talk.conversation), meter.usage(talk.conversation, whole, exact=True)
    attachments.check(usage, before)
    tell(attachments.note(read, usage, before))
    return whole
