"""Chat in a terminal or a pipe: one question, or one after the other, each answer streamed as it comes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Any

from wizard.chat.conversation import Conversation, Stats
from wizard.chat.report import figures
from wizard.kernel.errors import CancelledError, UsageError, WizardError
from wizard.kernel.text import is_terminal, make_printable, plain
from wizard.kernel.values import to_json
from wizard.prompts.commands import Talk, command
from wizard.prompts.interrupt import until_stopped
from wizard.serve.endpoint import Endpoint

WELCOME = "Ask {model} anything. /help lists the commands, Ctrl-C stops an answer, /bye or Ctrl-D ends."
ONCE_MORE = "Ctrl-C again, /bye or Ctrl-D ends"
PROMPT, MORE = "> ", ". "
END_OF_LINES = "."


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as far as it came. ``stats`` is None if it was stopped before its end."""

    text: str
    stats: Stats | None


def run_chat(
    endpoint: Endpoint,
    conversation: Conversation | None = None,
    *,
    message: str | None = None,
    json_output: bool = False,
    protocol: str = "grpc",
    journey: Any = None,
) -> int:
    """Talk to a served model; answers go to standard output, everything else to standard error.

    Args:
        endpoint: The server.
        conversation: Messages so far and settings.
        message: Ask only this. Without it questions are read: in a terminal until Ctrl-D or twice Ctrl-C at
            the prompt, from a pipe one a line until its end.
        json_output: Print an object a line instead of text.
        protocol: ``grpc`` or ``http``.
        journey: What to use instead of `wizard.journey`.

    Returns:
        The exit status, 0.

    Raises:
        UsageError: TW-U20 if there is nowhere to read questions from, TW-U21 if none came, TW-C08 if a setting is out
            of range.
        CancelledError: TW-U22 if the only answer, or one to a pipe, was stopped.
        WizardError: What the chat raises; in a terminal it is shown instead, and the chat goes on.
    """
    if journey is None:
        from wizard import journey
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if stream is not None:
            make_printable(stream)
    talk = Talk(endpoint, conversation or Conversation(), lambda: journey.served(endpoint).questions)
    talk.conversation.sampling.check()  # now, not after the first question was typed
    ask = _Asker(journey, talk, protocol, json_output)
    if message is not None:
        ask.must(message)
        return 0
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError("TW-U20", "standard input is closed", 'Give the question with --message "...".')
    if is_terminal(sys.stdin):
        return _in_terminal(talk, ask)
    return _from_pipe(talk, ask)


def _in_terminal(talk: Talk, ask: _Asker) -> int:
    with suppress(ImportError):  # editing and history of the line, where Python has it
        import readline  # noqa: F401

    _say(WELCOME.format(model=plain(talk.endpoint.model)))
    read = _line_reader(visible=not ask.json_output and is_terminal(sys.stdout))
    interrupted = False
    while True:
        try:
            question = read_question(read)
            interrupted = False
            if question is None:
                _say("")
                return 0
            if _do(talk, ask, question):
                return 0
        except WizardError as error:
            _say(str(error))
        except KeyboardInterrupt:  # at the prompt; during an answer it only stops that
            _say("" if interrupted else f"\n{ONCE_MORE}")
            if interrupted:
                return 0
            interrupted = True


def _from_pipe(talk: Talk, ask: _Asker) -> int:
    asked = False

    def read(_: str) -> str:
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n")

    while (question := read_question(read)) is not None:
        if question.strip():
            asked = True
            if _do(talk, ask, question, must=True):
                break
    if not asked:
        raise UsageError("TW-U21", "no question came on standard input", 'Give one with --message "...".')
    return 0


def _do(talk: Talk, ask: _Asker, question: str, *, must: bool = False) -> bool:
    """Ask ``question`` or obey the command that it is; True at the end of the chat."""
    if not question.startswith("/"):
        if question.strip():
            (ask.must if must else ask)(question)
        return False
    outcome = command(talk, question)
    if outcome.text:
        _say(outcome.text)
    if outcome.ask is not None:
        (ask.must if must else ask)(outcome.ask)
    return outcome.end


def read_question(read: Callable[[str], str]) -> str | None:
    r"""One question: a line, lines joined by a ``\`` at their ends, or lines after ``/multi`` up to one with ``.``.

    Args:
        read: Returns the next line after showing a prompt; raises EOFError at the end.

    Returns:
        The question, an empty text if it was given up, or None at the end.
    """
    try:
        line = read(PROMPT)
    except EOFError:
        return None
    lines: list[str] = []
    with suppress(EOFError, KeyboardInterrupt):
        if line.strip() == "/multi":
            while (line := read(MORE)) != END_OF_LINES:
                lines.append(line)
            return "\n".join(lines)
        while line.endswith("\\"):
            lines.append(line[:-1])
            line = read(MORE)
        return "\n".join([*lines, line])
    return ""


def _line_reader(*, visible: bool) -> Callable[[str], str]:
    """Reads a line from the terminal; the prompt goes to standard error where standard output is for data."""
    if visible:
        return input

    def read(prompt: str) -> str:
        sys.stderr.write(prompt)
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")

    return read


class _Asker:
    """Sends a question, shows the answer as it comes, and keeps both in the conversation."""

    def __init__(self, journey: Any, talk: Talk, protocol: str, json_output: bool) -> None:
        self._journey = journey
        self._talk = talk
        self._protocol = protocol
        self.json_output = json_output

    def must(self, question: str) -> None:
        """Ask; TW-U22 if the answer is stopped."""
        if self(question).stats is None:
            raise CancelledError("TW-U22", "the answer was stopped", "Ask again; the server goes on running.")

    def __call__(self, question: str) -> Reply:
        """Ask; Ctrl-C stops the answer in the server, and what came of it is kept."""
        talk = self._talk
        talk.conversation = asked = without_open_question(talk.conversation).said("user", question)
        shown = _Shown()
        try:
            reply = stream(
                lambda: self._journey.chat(talk.endpoint, asked, protocol=self._protocol),
                (lambda _: None) if self.json_output else shown,
            )
        except WizardError:
            shown.end_line()
            raise
        if reply.text or reply.stats:
            talk.conversation = asked.said("assistant", reply.text)
        if self.json_output:
            print(to_json(reply_data(question, reply, talk.endpoint.model)), flush=True)
        else:
            shown.end_line()
            _say(figures(reply.stats))
        return reply


class _Shown:
    """Writes an answer to standard output, made harmless, and remembers whether its last line is ended."""

    def __init__(self) -> None:
        self._open = False

    def __call__(self, text: str) -> None:
        text = plain(text)
        sys.stdout.write(text)
        sys.stdout.flush()
        self._open = self._open or bool(text)

    def end_line(self) -> None:
        """End the line that the answer left open."""
        if self._open:
            sys.stdout.write("\n")
            sys.stdout.flush()


def without_open_question(conversation: Conversation) -> Conversation:
    """The conversation without a last question that never got an answer; chat templates want turns to alternate."""
    messages = conversation.messages
    if messages and messages[-1].role == "user":
        return replace(conversation, messages=messages[:-1])
    return conversation


def stream(answer: Callable[[], Any], show: Callable[[str], None]) -> Reply:
    """Drive an answer to its end, or until Ctrl-C, which cancels it in the server.

    Args:
        answer: Makes the asynchronous generator of chunks.
        show: Gets each piece of text.
    """
    texts: list[str] = []
    last: list[Stats] = []

    async def drive() -> None:
        async with aclosing(answer()) as chunks:
            async for chunk in chunks:
                if chunk.note:
                    _say(plain(chunk.note))
                if chunk.text:
                    texts.append(chunk.text)
                    show(chunk.text)
                if chunk.stats is not None:
                    last.append(chunk.stats)

    until_stopped(drive())
    return Reply("".join(texts), last[-1] if last else None)


def reply_data(question: str, reply: Reply, model: str) -> dict[str, Any]:
    """An answer as JSON data; times in seconds, what was not measured is null."""
    stats = reply.stats
    return {
        "question": question,
        "answer": reply.text,
        "tokens": stats.tokens if stats else None,
        "ttft_s": stats.ttft_s if stats else None,
        "tokens_per_s": stats.tokens_per_s if stats else None,
        "total_s": stats.total_s if stats else None,
        "finish": stats.finish if stats else "cancelled",
        "model": model,
    }


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
