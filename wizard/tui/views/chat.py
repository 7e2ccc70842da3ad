"""What the chat screen shows beside the transcript, and the texts that it makes of a conversation. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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


@dataclass(frozen=True, slots=True)
class ChatEnd:
    """How it goes on after the chat, and what was said in it."""

    next: Literal["restart", "another"]
    conversation: Conversation
    kept: Kept | None = None
    """Where it is kept; None if it is private."""


@dataclass(frozen=True, slots=True)
class Live:
    """An answer that comes, as it is measured here meanwhile; times are seconds of one clock.

    Attributes:
        first: When the first piece of text came; None while none has.
        now: When it was looked at last.
        tokens: So far, as the server counts them; None where it does not say.
        ttft_s: As in `wizard.chat.conversation.Stats`: without what was done here before the question went out.
    """

    first: float | None = None
    now: float = 0.0
    tokens: int | None = None
    ttft_s: float | None = None

    @property
    def tokens_per_s(self) -> float | None:
        """The rate so far; None while the time is too short to mean anything."""
        if self.first is None or self.tokens is None or self.now - self.first < report.COMPARABLE_S:
            return None
        return (self.tokens - 1) / (self.now - self.first)


@dataclass(frozen=True, slots=True)
class ChatView:
    """What is on the screen beside the transcript."""

    conversation: Conversation
    served: ServedModel | None = None
    """None while the server has not said yet what it serves."""
    busy: Literal["", "answering", "stopping"] = ""
    live: Live | None = None
    """Of the answer under way."""
    stats: Stats | None = None
    """Of the last answer."""
    stopped: bool = False
    """Whether the user stopped the last answer."""
    note: str = ""
    error: WizardError | None = None
    questions: bool = True
    """Whether the offered questions are shown."""

    def texts(self, role: Literal["user", "assistant"]) -> list[str]:
        """All that ``role`` said."""
        return [message.content for message in self.conversation.messages if message.role == role]

    @property
    def tokens(self) -> int:
        """Of the answer under way, as the server counts them."""
        return (self.live.tokens if self.live else None) or 0


def figures(view: ChatView, *, beside: bool = False) -> Content:
    """One line: what is going on, or what the last answer was measured at, and the settings.

    It is that of the first model, or of one that answers ``beside`` it.
    """
    if view.busy == "answering":
        parts = [tr("◌ answering …"), *_live(view.live), tr("Esc stops it")]
        return Content(" · ".join(parts)).stylize("$warning", 0, len(parts[0]))
    if view.busy == "stopping":
        return Content.assemble((tr("◌ stopping the server …"), "$warning"))
    if view.error is not None and (ways_on := _ways_on(view, beside=beside)):
        return Content(ways_on)
    how, which = _settings(view.conversation.sampling, view.served), _version(view.conversation)
    if view.stats is not None:
        return Content.assemble((" · ".join(filter(None, (report.figures(view.stats), which))), "$accent"))
    how = " · ".join(filter(None, (which, how)))
    stopped = f"{tr('■ stopped')}  " if view.stopped else ""
    return Content.assemble((stopped, "$warning"), (how, "$text-muted"))


def _ways_on(view: ChatView, *, beside: bool) -> str:
    """The keys that help after an error; none if that is not an answer's, but of a server that was not stopped."""
    last = view.conversation.messages[-1:]
    again = bool(last) and last[0].role != "system" and last[0].stats is None
    if not isinstance(view.error, ServerError):
        return tr("^E edits the question, ^R sends it again") if again else ""
    if beside:
        return tr("^R retries, F6 uses only the first model")
    return tr("^R retries, F5 restarts the server") if again else tr("F5 restarts the server")


def _version(conversation: Conversation) -> str:
    """Which of several answers to the last question is shown; empty if there is but one."""
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
    parts += [
        tr("≤ {count:,} tokens", count=sampling.max_tokens),
        f"seed {sampling.seed}" if sampling.seed is not None else "",
    ]
    return " · ".join(part for part in parts if part)


def still_running(endpoint: Endpoint, workspace: Workspace) -> str:
    """What to know after quitting while the server runs."""
    return tr(
        "{name} keeps running at {address}. Chat: {chat} · stop: {stop}",
        name=endpoint.name,
        address=endpoint.http,
        chat=command("chat", endpoint.name, workspace=workspace),
        stop=command("down", endpoint.name, workspace=workspace),
    )


WARNS = 0.8
"""Share of the context from which on it is said that it gets full."""
GAUGE = 12
"""Cells of the gauge's bar."""


def gauge(usage: Usage, width: int) -> Content:
    """How full the context is; an estimate says that it is one. Short in a terminal of less than 60 columns."""
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
    """What to know when the model of the server ``name`` answers beside the first, which may be ``kept``."""
    text = tr("Both get the same questions from now on.")
    if not kept:
        return text
    return f"{text} {tr('The answers of {name} are saved as a separate conversation.', name=one_line(name))}"


def comparison(left: tuple[str, ChatView], right: tuple[str, ChatView]) -> Content:
    """Two answers to the same question in one line, once both have ended: which came faster, which began sooner."""
    named = [(one_line(name), view) for name, view in (left, right)]
    if any(view.busy or not view.texts("user") for _name, view in named):
        text = tr("Both get the same question; their measurements are compared here.")
        return Content.assemble((text, "$text-muted"))
    measured = [(name, view.stats) for name, view in named if view.stats is not None]
    if len(measured) < len(named):
        without = next(name for name, view in named if view.stats is None)
        text = tr("No comparison: the answer of {name} is not complete.", name=without)
        return Content.assemble((text, "$text-muted"))
    begins = [
        tr("{name} starts after {time}", name=name, time=report.short(stats.ttft_s))
        for name, stats in measured
        if stats.ttft_s is not None
    ]
    first = report.faster(measured)
    return Content(" · ".join([first, *begins])).stylize("bold $accent", 0, len(first))
