"""What the chat screen shows beside the transcript, and the texts that it makes of a conversation. Pure."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import Literal

from textual.content import Content

from wizard.chat import report
from wizard.chat.conversation import Conversation, Sampling, Stats
from wizard.chat.template import ServedModel
from wizard.kernel.errors import WizardError
from wizard.kernel.paths import Workspace
from wizard.kernel.text import plain
from wizard.serve.endpoint import Endpoint

_FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class ChatEnd:
    """How it goes on after the chat, and what was said in it."""

    next: Literal["restart", "another"]
    conversation: Conversation


@dataclass(frozen=True, slots=True)
class ChatView:
    """What is on the screen beside the transcript."""

    conversation: Conversation
    served: ServedModel | None = None
    """None while the server has not said yet what it serves."""
    busy: Literal["", "answering", "stopping"] = ""
    tokens: int | None = None
    """Of the answer under way, as the server counts them."""
    stats: Stats | None = None
    """Of the last answer."""
    stopped: bool = False
    """Whether the user stopped the last answer."""
    note: str = ""
    error: WizardError | None = None
    questions: bool = True
    """Whether the offered questions are shown."""

    def said(self, role: Literal["user", "assistant"]) -> list[str]:
        """All that ``role`` said."""
        return [message.content for message in self.conversation.messages if message.role == role]


def code(view: ChatView) -> str:
    """The last block of code in the answers, or nothing."""
    blocks = [block for answer in view.said("assistant") for block in _FENCE.findall(answer)]
    return str(blocks[-1]) if blocks else ""


def figures(view: ChatView) -> Content:
    """One line: what is going on, or what the last answer was measured at, and the settings."""
    if view.busy == "answering":
        tokens = f" · {view.tokens:,} tokens" if view.tokens else ""
        return Content.assemble(("◌ answering …", "$warning"), f"{tokens} · Esc stops it")
    if view.busy == "stopping":
        return Content.assemble(("◌ stopping the server …", "$warning"))
    if view.error is not None:
        return Content.assemble(
            ("^R", "bold $accent"), " asks again, ", ("F5", "bold $accent"), " starts the server again"
        )
    how = (_settings(view.conversation.sampling, view.served), "$text-muted")
    if view.stats is not None:
        return Content.assemble((report.figures(view.stats), "$accent"))
    if view.stopped:
        return Content.assemble(("■ stopped", "$warning"), ("  ", ""), how)
    return Content.assemble(how)


def _settings(sampling: Sampling, served: ServedModel | None) -> str:
    temperature = sampling.temperature
    if temperature is None and served is not None:
        temperature = served.default_temperature
    parts = [f"temperature {temperature:g}" if temperature is not None else "", f"top-p {sampling.top_p:g}"]
    parts += [f"≤ {sampling.max_tokens:,} tokens", f"seed {sampling.seed}" if sampling.seed is not None else ""]
    return " · ".join(part for part in parts if part)


def still_running(endpoint: Endpoint, workspace: Workspace) -> str:
    """What to know after quitting while the server runs."""
    name = shlex.quote(endpoint.name)
    wizard = "triton-wizard"
    if workspace != Workspace.at(None):
        wizard += f" --workspace {shlex.quote(str(workspace.root))}"
    return f"{name} goes on running at {endpoint.http}. Chat: {wizard} chat {name} · stop: {wizard} down {name}"


def elsewhere(endpoint: Endpoint, question: str) -> str:
    """How to ask the server from a shell, as lines to copy, and its other addresses."""
    url = f"{endpoint.http}/v2/models/{endpoint.model}/generate_stream"
    body = json.dumps({"text_input": question, "max_tokens": 256}, ensure_ascii=False)
    lines = [
        f"curl -N {shlex.quote(url)} \\",
        f"  -d {shlex.quote(body)}",
        "",
        shlex.join(["triton-wizard", "chat", endpoint.name, "-m", question]),
        "",
        f"HTTP     {endpoint.http}",
        f"gRPC     {endpoint.grpc}",
        f"Metrics  http://{endpoint.host}:{endpoint.ports.metrics}/metrics",
        f"Log      {endpoint.log}",
    ]
    return plain("\n".join(lines))
