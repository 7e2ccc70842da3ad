"""Chat in a terminal or a pipe: a single question, or one after the other, with streamed answers."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from wizard.chat.chunk import Chunk, Text
from wizard.chat.commands import conversations
from wizard.chat.commands.models import compare as start_comparing
from wizard.chat.commands.session import ChatSession, Outcome
from wizard.chat.commands.table import command, is_command
from wizard.chat.conversation import Conversation, Stats
from wizard.chat.history import History, Kept
from wizard.chat.race import Lane
from wizard.chat.report import figures, thought_line
from wizard.chat.tools.called import ended
from wizard.chat.tools.loop import ToolUse
from wizard.chat.tools.text import folded
from wizard.flow.session import begin
from wizard.kernel.errors import CancelledError, ServerError, UsageError, WizardError, WorkspaceError
from wizard.kernel.language import mark, tr
from wizard.kernel.paths import Workspace
from wizard.kernel.program import pasteable
from wizard.kernel.text import is_terminal, one_line, plain
from wizard.kernel.values import to_json
from wizard.prompts.attaching import with_files
from wizard.prompts.chat_care import LOST, NO_SERVER, is_restarted, tell_news
from wizard.prompts.compare import compared
from wizard.prompts.interrupt import until_stopped
from wizard.prompts.question_input import line_reader, read_question, tolerate_odd_encodings
from wizard.prompts.reply import Reply, reply_data
from wizard.prompts.speech import for_stderr, listed, tell
from wizard.serve.care import News
from wizard.serve.endpoint import Endpoint

WELCOME = mark("Ask {model} anything. /help lists the commands, Ctrl-C stops an answer, /bye or Ctrl-D exits.")
KEPT = mark("Conversations are saved on this machine; /private turns this off.")
ONCE_MORE = mark("Press Ctrl-C again, /bye or Ctrl-D to exit")


def run_chat(
    endpoint: Endpoint,
    conversation: Conversation | None = None,
    *,
    message: str | None = None,
    json_output: bool = False,
    protocol: str = "grpc",
    workspace: Workspace | None = None,
    history: History | None = None,
    keep: bool = True,
    kept: Kept | None = None,
    compare: str | None = None,
    journey: Any = None,
    tools: ToolUse | None = None,
) -> int:
    """Chat with a served model; answers go to standard output, everything else to standard error.

    Args:
        endpoint: The server.
        conversation: Messages so far and settings.
        message: The only question, or ``-`` for all of standard input; without it questions are read until Ctrl-D, two
            Ctrl-C, or the end of a pipe.
        json_output: Print a JSON object per line instead of text.
        protocol: ``grpc`` or ``http``.
        workspace: The workspace with servers for comparisons; the default one if omitted.
        history: Saved conversations; None if there are none.
        keep: Whether to save this conversation there.
        kept: The saved conversation that ``conversation`` continues.
        compare: A second server that gets the same questions, as the argument of ``/compare``.
        journey: Replaces `wizard.journey`.
        tools: The tools that the model may call.

    Returns:
        The exit status, 0.

    Raises:
        UsageError: TW-U20 if standard input is closed, TW-U21 if there was no question, TW-C08 if a setting does not
            fit.
        CancelledError: TW-U22 if the only answer, or an answer to a pipe, was stopped.
        WizardError: Errors of the chat; in a terminal they are shown instead, and the chat continues.
    """
    if journey is None:
        from wizard import journey
    tolerate_odd_encodings()
    first = conversation or Conversation()
    talk = begin(endpoint, first, journey=journey, workspace=workspace, history=history, keeps=keep)
    talk.kept, talk.tools = kept or talk.kept, tools
    talk.listed, talk.spoken, talk.wait = listed, for_stderr, until_stopped
    talk.conversation.sampling.check()  # now, not after the first question was typed
    if compare is not None:
        begun = start_comparing(talk, compare)
        if message is None:
            tell(begun.text)
    ask = _Asker(journey, talk, protocol, json_output)
    if message not in (None, "-"):
        ask.must(message)
        return 0
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError("TW-U20", tr("standard input is closed"), tr('Pass the question with --message "...".'))
    if message == "-":
        return _all_of_input(ask)
    return _in_terminal(talk, ask, workspace) if is_terminal(sys.stdin) else _from_pipe(talk, ask)


def _in_terminal(talk: ChatSession, ask: _Asker, workspace: Workspace | None) -> int:
    tell(tr(WELCOME, model=plain(talk.endpoint.model)))
    if talk.history and talk.keeps:
        tell(tr(KEPT))
    if talk.kept.id is not None:
        tell(conversations.going_on(talk))
    read = line_reader(visible=not ask.json_output and is_terminal(sys.stdout))
    news = News(talk.care)
    interrupted = False
    draft = ""
    while True:
        try:
            begun, draft = draft, ""
            question = read_question(read, begun)
            interrupted = False
            if question is None:
                tell("")
                return 0
            tell_news(talk, news)
            outcome = _do(talk, ask, question, news)
            if outcome.end:
                return 0
            draft = outcome.edit or ""
        except WizardError as error:
            _tell(pasteable(str(error), workspace))
        except KeyboardInterrupt:  # at the prompt; during an answer it only stops the answer
            tell("" if interrupted else f"\n{tr(ONCE_MORE)}")
            if interrupted:
                return 0
            interrupted = True


def _all_of_input(ask: _Asker) -> int:
    """Send all of standard input as a single question."""
    question = sys.stdin.read().rstrip("\r\n")
    if not question.strip():
        raise _no_question()
    ask.must(question)
    return 0


def _no_question() -> UsageError:
    return UsageError("TW-U21", tr("no question on standard input"), tr('Pass one with --message "...".'))


def _from_pipe(talk: ChatSession, ask: _Asker) -> int:
    answered = False

    def read(_prompt: str, _draft: str) -> str:
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n")

    while (question := read_question(read)) is not None:
        if question.strip():
            answered = True
            if _do(talk, ask, question, must=True).end:
                break
    if not answered:
        raise _no_question()
    return 0


def _do(talk: ChatSession, ask: _Asker, question: str, news: News | None = None, *, must: bool = False) -> Outcome:
    """Send ``question`` or run it as a command; a server that was restarted elsewhere is found there."""
    news = news or News(talk.care)
    try:
        return _once(talk, ask, question, must=must)
    except ServerError as error:
        restarted = error.code in LOST and is_restarted(talk, news)
        moved = (restarted or error.code == NO_SERVER) and talk.moved()
        if moved:
            name, address = one_line(talk.endpoint.name), talk.endpoint.http
            tell(tr("{name} was restarted at a new address: {address}.", name=name, address=address))
        if error.code != NO_SERVER or not (restarted or moved):
            raise
    return _once(talk, ask, question, must=must)


def _once(talk: ChatSession, ask: _Asker, question: str, *, must: bool) -> Outcome:
    if not is_command(question):
        if not question.strip():
            return Outcome()
        if must or not is_terminal(sys.stdin):
            (ask.must if must else ask)(question)
        elif (whole := with_files(talk, question)) is None:
            return Outcome(edit=question)
        else:
            ask(whole)
        return Outcome()
    outcome = command(talk, question)
    if outcome.raw:
        sys.stderr.write(outcome.raw)
    if outcome.data:
        print(outcome.data, flush=True)
    if outcome.text:
        tell(outcome.text)
    if outcome.edit and (must or not is_terminal(sys.stdin)):
        tell(f"/edit {plain(outcome.edit)}")
    if outcome.ask is not None:
        (ask.must if must else ask)(outcome.ask, again=outcome.open)
    return outcome


class _Asker:
    """Sends a question, shows the streamed answer, and adds both to the conversation."""

    def __init__(self, journey: Any, talk: ChatSession, protocol: str, json_output: bool) -> None:
        self._journey = journey
        self._talk = talk
        self._protocol = protocol
        self.json_output = json_output

    def must(self, question: str, *, again: bool = False) -> None:
        """Send it; TW-U22 if the answer is stopped."""
        if not self(question, again=again):
            raise CancelledError(
                "TW-U22", tr("the answer was stopped"), tr("Send your question again; the server keeps running.")
            )

    def __call__(self, question: str, *, again: bool = False) -> bool:
        """Send it; a second model gets the same question afterwards, so that neither slows the other down.

        Args:
            question: The question.
            again: Whether it is already the conversation's unanswered question.

        Returns:
            Whether it was answered; not if an answer was stopped.
        """
        talk, rival = self._talk, self._talk.rival
        if rival is None:
            return self._answer(talk, question, again=again, lane=Lane()).stats is not None
        return compared(talk, rival, question, self._answer, again=again, json_output=self.json_output)

    def _answer(self, talk: ChatSession, question: str, *, again: bool, lane: Lane) -> Reply:
        """A single model's answer; Ctrl-C stops it in the server, and the received part is kept."""
        before = talk.conversation
        conversation = (
            before if again else before.without_open_question().with_message("user", question, at=time.time())
        )
        talk.conversation = conversation
        shown = _Shown()
        lane.start(time.monotonic(), conversation)
        try:
            reply = stream(
                lambda: self._send(talk.endpoint, conversation),
                (lambda _: None) if self.json_output else shown,
                lambda chunk: lane.take(chunk, time.monotonic()),
            )
            lane.end(time.monotonic(), reply.stats)
        except WizardError as error:
            lane.end(time.monotonic(), None, error.code)
            shown.end_line()
            talk.conversation = conversation.without_open_question() if again else conversation
            raise
        _take(talk, reply, conversation)
        if self.json_output:
            print(to_json(reply_data(question, reply, talk.endpoint.model)), flush=True)
        else:
            shown.end_line()
            if reply.thought and not reply.text:
                _tell(thought_line(reply.stats, answered=False))
            _tell(figures(reply.stats))
        if reply.text or reply.thought or reply.stats or reply.calls:
            try:
                talk.keep()
            except WorkspaceError as error:  # the answer is complete; nothing more is saved
                _tell(str(error))
        return reply

    def _send(self, endpoint: Endpoint, conversation: Conversation) -> Any:
        tools = self._talk.tools
        if tools is None:
            return self._journey.chat(endpoint, conversation, protocol=self._protocol)
        return self._journey.chat_with_tools(endpoint, conversation, tools, protocol=self._protocol)


def _take(talk: ChatSession, reply: Reply, conversation: Conversation) -> None:
    """Add the answer to the session."""
    if reply.text or reply.thought or reply.stats or reply.calls:
        talk.conversation = conversation.with_message(
            "assistant",
            reply.text,
            stats=reply.stats,
            at=time.time(),
            thought=reply.thought,
            model=talk.endpoint.title,
            calls=reply.calls,
        )
    elif conversation.messages[-1].versions:
        talk.conversation = conversation.without_open_question()
    talk.request = next((chunk.request for chunk in reply.chunks if chunk.request), None)
    talk.logprobs = [token for chunk in reply.chunks for token in chunk.logprobs]


class _Shown:
    """Writes an answer to standard output, sanitized, and remembers whether its last line is complete.

    A thought goes to standard error, under a heading, if that is a terminal.
    """

    def __init__(self) -> None:
        self._open = self._thinks = False

    def __call__(self, chunk: Chunk) -> None:
        if chunk.recast:
            self.end_line()
            self._open = False
            _tell(tr("(The text above is what the model thought; the answer follows.)"))
        if chunk.thought and is_terminal(sys.stderr):
            if not self._thinks:
                tell(tr("Thinking:"))
            sys.stderr.write(plain(chunk.thought))
            sys.stderr.flush()
            self._thinks = True
        if chunk.called and chunk.called.outcome != "asking":
            self.end_line()
            self._open = False
            _tell(folded(chunk.called))
        text = plain(chunk.text)
        if text:
            if self._thinks:
                self._end_thought()
                tell(tr("Answer:"))
            sys.stdout.write(text)
            sys.stdout.flush()
            self._open = True

    def end_line(self) -> None:
        """End an incomplete last line of the answer."""
        self._end_thought()
        if self._open:
            sys.stdout.write("\n")
            sys.stdout.flush()

    def _end_thought(self) -> None:
        if self._thinks:
            tell("\n")  # of its last line, and an empty one
            self._thinks = False


def stream(answer: Callable[[], Any], show: Callable[[Chunk], None], measure: Callable[[Chunk], None]) -> Reply:
    """Drive an answer to its end, or until Ctrl-C, which cancels it in the server.

    Args:
        answer: Creates the asynchronous generator of chunks.
        show: Gets each piece of the thought and the answer.
        measure: Gets all pieces, before that.
    """
    text = Text()
    last: list[Stats] = []
    more: list[Chunk] = []

    async def drive() -> None:
        async with aclosing(answer()) as chunks:
            async for chunk in chunks:
                measure(chunk)
                if chunk.note:
                    tell(plain(chunk.note))
                text.add(chunk)
                if chunk.text or chunk.thought or chunk.recast or chunk.called:
                    show(chunk)
                if chunk.stats is not None:
                    last.append(chunk.stats)
                if chunk.request or chunk.logprobs:
                    more.append(chunk)

    until_stopped(drive())
    return Reply(text.answer, last[-1] if last else None, text.thought, ended(text.calls), more)


def _tell(text: str) -> None:
    """Print the wizard's own text; text of others is unchanged (`tell`)."""
    tell(for_stderr(text))
