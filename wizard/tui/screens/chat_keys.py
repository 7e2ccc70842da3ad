"""The keys of the chat. A key may have several functions: each only while it `applies`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.binding import Binding, BindingType

from wizard.kernel.errors import ServerError
from wizard.kernel.language import mark
from wizard.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from wizard.tui.screens.chat import ChatScreen

KEYS: list[BindingType] = [
    Binding("escape", "stop", mark("Stop"), priority=True, id="chat.stop"),
    Binding("escape", "write", mark("Type"), id="chat.write"),
    Binding("escape", "unedit", mark("Cancel"), id="chat.unedit"),
    Binding("escape", "back", mark("Back"), id="chat.back"),
    Binding("ctrl+r", "again", mark("Retry"), priority=True, id="chat.again"),
    Binding("ctrl+e", "edit", mark("Edit"), priority=True, id="chat.edit"),
    Binding("f5", "restart", mark("Restart server"), id="chat.restart"),
    Binding("ctrl+y", "copy", mark("Copy"), priority=True, id="chat.copy"),
    Binding("ctrl+b", "copy_code", mark("Code"), priority=True, id="chat.copy_code"),
    Binding("ctrl+n,ctrl+l", "new", mark("New"), priority=True, key_display="^N", id="chat.new"),
    Binding("f4", "conversations", mark("Conversations"), priority=True, id="chat.conversations"),
    Binding("ctrl+o", "switch", mark("Model"), priority=True, id="chat.switch"),
    Binding("f6", "compare", mark("Compare"), priority=True, id="chat.compare"),
    Binding("ctrl+t", "tune", mark("Tune"), priority=True, id="chat.tune"),
    Binding("f9", "presets", mark("Presets"), priority=True, show=False, id="chat.presets"),
    Binding("ctrl+f", "find", mark("Find"), priority=True, show=False, id="chat.find"),
    Binding("ctrl+s", "save", mark("Save"), priority=True, show=False, id="chat.save"),
    Binding("f10", "elsewhere", mark("Show as code"), priority=True, show=False, id="chat.elsewhere"),
    Binding("f12", "unfold", mark("Thinking"), priority=True, id="chat.unfold"),
    Binding("shift+f12", "copy_thought", mark("Copy thinking"), priority=True, show=False, id="chat.copy_thought"),
    Binding("f7", "log", mark("Server log"), priority=True, show=False, id="chat.log"),
    Binding("f8", "logprobs", mark("Probabilities"), priority=True, show=False, id="chat.logprobs"),
    Binding("ctrl+g", "private", mark("Private"), priority=True, show=False, id="chat.private"),
    Binding("ctrl+up", "step(-1)", mark("Previous turn"), priority=True, show=False, id="chat.turn_before"),
    Binding("ctrl+down", "step(1)", mark("Next turn"), priority=True, show=False, id="chat.turn_after"),
    Binding(
        "alt+left",
        "version(-1)",
        mark("Switch answer"),
        priority=True,
        key_display="Alt+←→",
        id="chat.version_before",
    ),
    Binding("alt+right", "version(1)", mark("Switch answer"), priority=True, show=False, id="chat.version_after"),
    Binding("alt+left", "mean(0)", mark("Switch model"), priority=True, key_display="Alt+←→", id="chat.first_model"),
    Binding("alt+right", "mean(1)", mark("Switch model"), priority=True, show=False, id="chat.second_model"),
]


def applies(chat: ChatScreen, action: str) -> bool:
    """Whether a key of ``chat`` has the function ``action`` now."""
    view, idle, prompt = chat.view, not chat.talks.busy, chat.query_one(Prompt)
    away = chat.focused is not None and chat.focused is not prompt
    begun = any(message.role == "user" for message in view.conversation.messages)
    here = chat.talks.here.view
    does: dict[str, Any] = {  # functions: this is called for every binding on every change
        "stop": lambda: chat.talks.answering,
        "write": lambda: away and idle,
        "unedit": lambda: chat.asking.edits and not away,
        "back": lambda: idle and not away,
        "edit": lambda: idle and begun and not prompt.text,
        **dict.fromkeys(("again", "new"), lambda: idle and begun),
        **dict.fromkeys(("tune", "presets", "private", "compare", "switch"), lambda: idle),
        "save": lambda: idle and here.texts("user"),
        "copy": lambda: here.texts("assistant"),
        "copy_code": lambda: any("```" in text for text in here.texts("assistant")),
        **dict.fromkeys(("unfold", "copy_thought"), lambda: chat.talks.here.transcript.thoughts),
        "restart": lambda: idle and chat.talks.first.restarts and isinstance(view.error, ServerError),
        **dict.fromkeys(("find", "step"), lambda: begun),
        "version": lambda: idle and begun and not chat.talks.second and len(view.conversation.versions()[0]) > 1,
        "scroll": lambda: bool(view.conversation.messages) or chat.hides_something,
        "mean": lambda: chat.talks.second is not None,
    }
    return action not in does or bool(does[action]())
