"""The keys of the chat. A key may have several functions: each only while it `applies`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.binding import Binding, BindingType

from wizard.kernel.errors import ServerError
from wizard.kernel.language import mark
from wizard.tui.key_groups import MODEL, READ, TALK, TURN, grouped
from wizard.tui.screens.chat_escape import escapes
from wizard.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from wizard.tui.screens.chat import ChatScreen

KEYS: list[BindingType] = [
    Binding("escape", "stop", mark("Stop"), priority=True, id="chat.stop"),
    Binding("escape", "write", mark("Type"), id="chat.write"),
    Binding("escape", "unedit", mark("Cancel"), id="chat.unedit"),
    Binding("escape", "close", mark("Close"), id="chat.close"),
    Binding("escape", "back", mark("Show how to leave"), show=False, id="chat.back"),
    Binding("ctrl+q", "leave", mark("Leave"), tooltip=mark("Leave the chat"), priority=True, id="chat.leave"),
    *grouped(
        TURN,
        Binding(
            "ctrl+r", "again", mark("Retry"), tooltip=mark("Regenerate the last answer"), priority=True, id="chat.again"
        ),
        Binding("ctrl+e", "edit", mark("Edit"), tooltip=mark("Edit the last question"), priority=True, id="chat.edit"),
        Binding(
            "alt+left",
            "version(-1)",
            mark("Switch answer"),
            tooltip=mark("Previous answer to the question"),
            priority=True,
            key_display="Alt+←→",
            id="chat.version_before",
        ),
        Binding(
            "alt+right",
            "version(1)",
            mark("Switch answer"),
            tooltip=mark("Next answer to the question"),
            priority=True,
            show=False,
            id="chat.version_after",
        ),
    ),
    *grouped(
        MODEL,
        Binding("f5", "restart", mark("Restart server"), id="chat.restart"),
        Binding(
            "ctrl+o",
            "switch",
            mark("Model"),
            tooltip=mark("Continue with another model"),
            priority=True,
            id="chat.switch",
        ),
        Binding(
            "f6",
            "compare",
            mark("Compare"),
            tooltip=mark("Compare with a second model"),
            priority=True,
            id="chat.compare",
        ),
        Binding(
            "shift+f6",
            "turns",
            mark("Take turns"),
            tooltip=mark("Compare one after the other, or at the same time"),
            priority=True,
            show=False,
            id="chat.turns",
        ),
        Binding(
            "ctrl+t", "tune", mark("Tune"), tooltip=mark("Change how the model answers"), priority=True, id="chat.tune"
        ),
        Binding(
            "f9",
            "presets",
            mark("Presets"),
            tooltip=mark("Apply or save a preset"),
            priority=True,
            show=False,
            id="chat.presets",
        ),
        Binding(
            "alt+left",
            "mean(0)",
            mark("Switch model"),
            tooltip=mark("Select the first model"),
            priority=True,
            key_display="Alt+←→",
            id="chat.first_model",
        ),
        Binding(
            "alt+right",
            "mean(1)",
            mark("Switch model"),
            tooltip=mark("Select the second model"),
            priority=True,
            show=False,
            id="chat.second_model",
        ),
        Binding(
            "f7",
            "log",
            mark("Server log"),
            tooltip=mark("Show the server's log"),
            priority=True,
            show=False,
            id="chat.log",
        ),
        Binding(
            "alt+m",
            "bench",
            mark("Measure"),
            tooltip=mark("Measure this server"),
            priority=True,
            show=False,
            id="chat.bench",
        ),
        Binding(
            "alt+v",
            "vote",
            mark("Blind vote"),
            tooltip=mark("Vote on answers of two models, without their names"),
            priority=True,
            show=False,
            id="chat.vote",
        ),
        Binding(
            "f8",
            "logprobs",
            mark("Probabilities"),
            tooltip=mark("Show token probabilities"),
            priority=True,
            show=False,
            id="chat.logprobs",
        ),
        Binding(
            "alt+u",
            "tools",
            mark("Tools"),
            tooltip=mark("Choose which tools the model may use"),
            priority=True,
            show=False,
            id="chat.tools",
        ),
        Binding(
            "f10",
            "elsewhere",
            mark("Show as code"),
            tooltip=mark("Show the last request as code"),
            priority=True,
            show=False,
            id="chat.elsewhere",
        ),
    ),
    *grouped(
        READ,
        Binding("ctrl+y", "copy", mark("Copy"), tooltip=mark("Copy the answer"), priority=True, id="chat.copy"),
        Binding(
            "f12", "unfold", mark("Thinking"), tooltip=mark("Open or fold the thought"), priority=True, id="chat.unfold"
        ),
        Binding(
            "f12",
            "unfold_calls",
            mark("Tool results"),
            tooltip=mark("Open or fold the tool calls"),
            priority=True,
            id="chat.unfold_calls",
        ),
        Binding("ctrl+b", "copy_code", mark("Code"), tooltip=mark("Copy the code"), priority=True, id="chat.copy_code"),
        Binding(
            "ctrl+f",
            "find",
            mark("Find"),
            tooltip=mark("Find in this conversation"),
            priority=True,
            show=False,
            id="chat.find",
        ),
        Binding(
            "shift+f12",
            "copy_thought",
            mark("Copy thinking"),
            tooltip=mark("Copy the thought"),
            priority=True,
            show=False,
            id="chat.copy_thought",
        ),
        Binding(
            "alt+t",
            "details",
            mark("Details"),
            tooltip=mark("Show each turn's model, time and measurements"),
            priority=True,
            show=False,
            id="chat.details",
        ),
        Binding("ctrl+up", "step(-1)", mark("Previous turn"), priority=True, show=False, id="chat.turn_before"),
        Binding("ctrl+down", "step(1)", mark("Next turn"), priority=True, show=False, id="chat.turn_after"),
    ),
    *grouped(
        TALK,
        Binding(
            "ctrl+n,ctrl+l",
            "new",
            mark("New"),
            tooltip=mark("Start a new conversation"),
            priority=True,
            key_display="^N",
            id="chat.new",
        ),
        Binding(
            "f4",
            "conversations",
            mark("Conversations"),
            tooltip=mark("Show saved conversations"),
            priority=True,
            id="chat.conversations",
        ),
        Binding(
            "ctrl+s",
            "save",
            mark("Save"),
            tooltip=mark("Save the conversation to a file"),
            priority=True,
            show=False,
            id="chat.save",
        ),
        Binding(
            "ctrl+g",
            "private",
            mark("Private"),
            tooltip=mark("Start a private conversation"),
            priority=True,
            show=False,
            id="chat.private",
        ),
    ),
]
"""Of each group, the keys that matter most come first: the footer has room for some."""


def applies(chat: ChatScreen, action: str) -> bool:
    """Whether a key of ``chat`` has the function ``action`` now."""
    view, idle, prompt = chat.view, not chat.talks.busy, chat.query_one(Prompt)
    begun = any(message.role == "user" for message in view.conversation.messages)
    here = chat.talks.here.view
    does: dict[str, Any] = {  # functions: this is called for every binding on every change
        **dict.fromkeys(("stop", "write", "unedit", "close", "back"), lambda: action == escapes(chat)),
        "edit": lambda: idle and begun and not prompt.text,
        **dict.fromkeys(("again", "new"), lambda: idle and begun),
        **dict.fromkeys(("tune", "presets", "private", "compare", "switch"), lambda: idle),
        "save": lambda: idle and here.texts("user"),
        "copy": lambda: here.texts("assistant"),
        "copy_code": lambda: any("```" in text or "~~~" in text for text in here.texts("assistant")),
        **dict.fromkeys(("unfold", "copy_thought"), lambda: chat.talks.here.transcript.thoughts),
        "unfold_calls": lambda: chat.talks.here.transcript.foldable and not chat.talks.here.transcript.thoughts,
        "tools": lambda: idle and chat.calls.tools,
        **dict.fromkeys(("bench", "vote"), lambda: idle and "bench" not in chat.guide.workshop.hide),
        "restart": lambda: idle and chat.talks.first.restarts and isinstance(view.error, ServerError),
        **dict.fromkeys(("find", "step", "details"), lambda: begun),
        "version": lambda: idle and begun and not chat.talks.second and len(view.conversation.versions()[0]) > 1,
        "scroll": lambda: bool(view.conversation.messages) or chat.hides_something,
        "turns": lambda: idle and chat.talks.second is not None,
        "mean": lambda: chat.talks.second is not None,
    }
    return action not in does or bool(does[action]())
