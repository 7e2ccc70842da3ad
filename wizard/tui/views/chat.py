"""The content of the chat screen besides the transcript, and texts about a conversation. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from textual.content import Content

from wizard.chat import report
from wizard.chat.conversation import Conversation, Sampling, Stats
from wizard.chat.history import Kept
from wizard.chat.meter import Usage
from wizard.chat.served import ServedModel
from wizard.kernel.errors import ServerError, WizardError
from wizard.kernel.language import ntr, tr
from wizard.kernel.paths import Workspace
from wizard.kernel.program import command
from wizard.kernel.text import one_line
from wizard.serve.endpoint import Endpoint

NextAction: TypeAlias = Literal["restart", "another", "home"]
"""Restart the server, set up another model, or go to the first screen."""


@dataclass(frozen=True, slots=True)
class ChatEnd:
    """The action after the chat, and its conversation."""

    next: NextAction
    conversation: Conversation
    kept: Kept | None = None
    """Its saved copy; None if it is private."""


@dataclass(frozen=True, slots=True)
class Live:
    """Live measurements of a streamed answer; times are seconds of the same clock.

    Attributes:
        first: When the first piece of text arrived; None before. With tools, that after the last calls.
        now: Time of the last update.
        tokens: Number so far, counted by the server; None if it does not report it.
        ttft_s: As in `wizard.chat.conversation.Stats`: without the preparation on the client side.
        pieces: Pieces with text so far, if the server does not count its tokens.
        before: Tokens, or pieces, of the requests before the last calls.
    """

    first: float | None = None
    now: float = 0.0
    tokens: int | None = None
    ttft_s: float | None = None
    pieces: int | None = None
    before: int = 0

    @property
    def tokens_per_s(self) -> float | None:
        """The rate of the current request so far; None while the time is too short to be meaningful."""
        return self._rate(self.tokens)

    @property
    def pieces_per_s(self) -> float | None:
        """The same for the pieces."""
        return self._rate(self.pieces)

    def _rate(self, count: int | None) -> float | None:
        if self.first is None or count is None or self.now - self.first < report.COMPARABLE_S:
            return None
        return (count - self.before - 1) / (self.now - self.first)


@dataclass(frozen=True, slots=True)
class ChatView:
    """The state of the screen besides the transcript."""

    conversation: Conversation
    served: ServedModel | None = None
    """None until the server has described its model."""
    busy: Literal["", "answering", "stopping"] = ""
    live: Live | None = None
    """Of the current answer."""
    stats: Stats | None = None
    """Of the last answer."""
    stopped: bool = False
    """Whether the user stopped the last answer."""
    note: str = ""
    error: WizardError | None = None
    questions: bool = True
    """Whether the offered questions are shown."""

    def texts(self, role: Literal["user", "assistant"]) -> list[str]:
        """All texts of ``role``; an answer has none if the model only thought."""
        return [each.content for each in self.conversation.messages if each.role == role and each.content]

    @property
    def tokens(self) -> int:
        """Tokens of the current answer, as counted by the server."""
        return (self.live.tokens if self.live else None) or 0


def figures(view: ChatView, *, beside: bool = False, restarts: bool = True) -> Content:
    """One line: the current activity, or the measurements of the last answer, and the settings.

    It applies to the first model, or to the one ``beside`` it; ``restarts``: whether the wizard can restart its server.
    """
    if view.busy == "answering":
        parts = [tr("◌ answering …"), *_live(view.live), tr("Esc to stop")]
        return Content(" · ".join(parts)).stylize("$warning", 0, len(parts[0]))
    if view.busy == "stopping":
        return Content.assemble((tr("◌ stopping the server …"), "$warning"))
    if view.error is not None and (ways_on := _ways_on(view, beside=beside, restarts=restarts)):
        return Content(ways_on)
    how, which = _settings(view.conversation.sampling, view.served), _version(view.conversation)
    if view.stats is not None:
        return Content.assemble((" · ".join(filter(None, (report.figures(view.stats), which))), "$accent"))
    how = " · ".join(filter(None, (which, how)))
    stopped = f"{tr('■ stopped')}  " if view.stopped else ""
    return Content.assemble((stopped, "$warning"), (how, "$text-muted"))


def _ways_on(view: ChatView, *, beside: bool, restarts: bool) -> str:
    """The keys that help after an error; none if the error is not about an answer, but about stopping a server."""
    last = view.conversation.messages[-1:]
    again = bool(last) and last[0].role != "system" and last[0].stats is None
    if not isinstance(view.error, ServerError):
        return tr("^E edits the question, ^R sends it again") if again else ""
    if beside:
        return tr("^R retries, F6 uses only the first model")
    if not restarts:
        return tr("^R retries, ^O chooses another model")
    return tr("^R retries, F5 restarts the server") if again else tr("F5 restarts the server")


def _version(conversation: Conversation) -> str:
    """The number of the displayed version of the last answer; empty if there is only one."""
    if not any(message.versions for message in conversation.messages[-2:]):
        return ""
    versions, now = conversation.versions()
    return tr("answer {number} of {count}", number=now + 1, count=len(versions))


def _live(live: Live | None) -> list[str]:
    if live is None:
        return []
    parts: list[str] = []
    if live.tokens_per_s is not None:
        parts.append(tr("{rate:.1f} tokens/s", rate=live.tokens_per_s))
    elif live.pieces_per_s is not None:
        parts.append(report.pieces_rate(live.pieces_per_s))
    if live.ttft_s is not None:
        parts.append(tr("TTFT {time}", time=report.short(live.ttft_s)))
    if live.tokens:
        parts.append(ntr("{count:,} token", "{count:,} tokens", live.tokens, count=live.tokens))
    return parts


def _settings(sampling: Sampling, served: ServedModel | None) -> str:
    temperature = sampling.temperature
    if temperature is None and served is not None:
        temperature = served.default_temperature
    parts = [f"temperature {temperature:g}" if temperature is not None else "", f"top-p {sampling.top_p:g}"]
    limit = sampling.max_tokens or (served.answer_limit if served else None)
    parts += [
        tr("≤ {count:,} tokens", count=limit) if limit else "",
        f"seed {sampling.seed}" if sampling.seed is not None else "",
    ]
    return " · ".join(part for part in parts if part)


def welcome(endpoint: Endpoint) -> str:
    """The line above an empty conversation: where what the user writes goes."""
    if endpoint.url is None:
        return tr("Triton serves your own model on this machine. Nothing you write leaves it.")
    return tr("This server was not started by the wizard. What you write is sent to {address}.", address=endpoint.http)


def still_running(endpoint: Endpoint, workspace: Workspace) -> str:
    """The message after quitting while the server is running."""
    return tr(
        "{name} keeps running at {address}. Chat: {chat} · stop: {stop}",
        name=endpoint.name,
        address=endpoint.http,
        chat=command("chat", endpoint.name, workspace=workspace),
        stop=command("down", endpoint.name, workspace=workspace),
    )


WARNS = 0.8
"""Share of the context from which on a warning is shown."""
GAUGE = 12
"""Cells of the gauge's bar."""


def gauge(usage: Usage, width: int) -> Content:
    """How full the context is; estimates are marked. Short in a terminal of less than 60 columns."""
    about = "" if usage.counted else "≈ "
    if usage.share is None or usage.context is None:
        return Content(" " + tr("{count} tokens", count=f"{about}{usage.tokens:,}") + " ")
    style = "$error" if usage.share >= 1 else "$warning" if usage.share >= WARNS else "$text-muted"
    numbers = f"{about}{usage.tokens:,} / {usage.context:,}"
    if width < 60:
        return Content.assemble((f" {numbers} ", style))
    full = round(GAUGE * min(usage.share, 1))
    words = ""
    if usage.share >= 1:
        words = tr("full: the oldest turns are dropped")
    elif usage.share >= WARNS:
        words = tr("nearly full")
    bar = "█" * full + "░" * (GAUGE - full)
    text = tr("context {bar} {numbers} tokens", bar=bar, numbers=numbers)
    return Content.assemble((f" {text}{' · ' if words else ''}{words} ", style))


def joined(name: str, *, kept: bool) -> str:
    """The message when the model of the server ``name`` joins the comparison, and may be saved (``kept``)."""
    text = tr("Both models get the same questions from now on.")
    if not kept:
        return text
    return f"{text} {tr('The answers of {name} are saved as a separate conversation.', name=one_line(name))}"


def taking_turns(turns: bool) -> str:
    """The message when the models of a comparison begin, or stop, to answer one after the other."""
    if turns:
        return tr(
            "From the next question on, the second model answers after the first one: neither slows the other down."
        )
    return tr("From the next question on, both models answer at the same time.")
