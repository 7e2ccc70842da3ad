"""The keys of the chat. A key may have several functions: each only while it applies (`ChatScreen.check_action`)."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from wizard.kernel.language import mark

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
    Binding("f6", "compare", mark("Compare"), priority=True, id="chat.compare"),
    Binding("ctrl+t", "tune", mark("Tune"), priority=True, id="chat.tune"),
    Binding("f9", "presets", mark("Presets"), priority=True, show=False, id="chat.presets"),
    Binding("ctrl+f", "find", mark("Find"), priority=True, show=False, id="chat.find"),
    Binding("ctrl+s", "save", mark("Save"), priority=True, show=False, id="chat.save"),
    Binding("ctrl+o", "elsewhere", mark("Show as code"), priority=True, show=False, id="chat.elsewhere"),
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
