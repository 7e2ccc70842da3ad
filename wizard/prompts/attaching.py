"""Files that a typed question names are attached; those outside of the current folder after a question."""

from __future__ import annotations

from pathlib import Path

from wizard.chat import attachments
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.text import one_line
from wizard.prompts.ask import Ask
from wizard.prompts.chat_session import ChatSession
from wizard.prompts.speech import tell


def with_files(talk: ChatSession, question: str) -> str | None:
    """The question with the files that it names; None if the user does not want one, or it is not possible."""
    try:
        return _with_files(talk, question)
    except UsageError as error:
        tell(str(error))
        return None


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
    read = attachments.read(files, talk.served())
    whole = attachments.attached(question, files, read)
    meter = talk.measure()
    before, usage = meter.usage(talk.conversation), meter.usage(talk.conversation, whole, exact=True)
    attachments.check(usage, before)
    tell(attachments.note(read, usage, before))
    return whole
