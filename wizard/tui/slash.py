"""Commands that are typed instead of a key, and what completes a text that is being typed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from textual.binding import Binding

from wizard.catalog import presets, prompt_files
from wizard.chat import snippet
from wizard.chat.commands import table
from wizard.chat.paths import completions
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line
from wizard.tui.screens.chat_keys import KEYS
from wizard.tui.widgets.chrome import key_name

HELP = "app.help"
ACTIONS = {
    "/again": "again",
    "/bye": "leave",
    "/compare": "compare",
    "/copy": "copy",
    "/copy code": "copy_code",
    "/copy thought": "copy_thought",
    "/details": "details",
    "/edit": "edit",
    "/help": HELP,
    "/history": "conversations",
    "/logprobs": "logprobs",
    "/model": "switch",
    "/new": "new",
    "/preset": "presets",
    "/private": "private",
    "/quit": "leave",
    "/save": "save",
    "/search": "conversations",
    "/set": "tune",
    "/snippet": "elsewhere",
    "/think": "unfold",
    "/tools": "tools",
}
"""Command, as in plain prompts → the action of the key that does the same here."""
CHOICES: dict[str, Callable[[], Iterable[str]]] = {
    "/copy": lambda: ("code", "thought"),
    "/preset": lambda: (preset.name for preset in presets.presets()),
    "/prompt": prompt_files.names,
    "/snippet": lambda: snippet.KINDS,
    "/tools": lambda: ("on", "off", "always", "never", "ask"),
}
"""Command → what may follow it."""
MOST = 5
_FILE = re.compile(r'(?:^|\s)@("?)([^\s"]*|(?<=")[^"\n]*)$')


def to_complete(before: str) -> str:
    """The end of the text ``before`` the cursor that can be completed: a command, or a file's name; else empty."""
    if re.fullmatch(rf"/\w*|(?:{'|'.join(CHOICES)}) \S*", before):
        return before
    match = _FILE.search(before)
    return "@" + "".join(match.groups()) if match else ""


def candidates(typed: str, folder: Path) -> list[tuple[str, str]]:
    """What ``typed`` can become, at most `MOST`, each with a few words about it."""
    if typed.startswith("@"):
        return [(_quoted(path), "") for path in completions(typed[1:].removeprefix('"'), folder)]
    name, space, begun = typed.partition(" ")
    if space:
        known = {f"{name} {choice}": "" for choice in CHOICES[name]() if choice.startswith(begun)}
    else:
        known = {_typed(command): tr(about) for command, (_, _, about) in table.COMMANDS.items()}
    known |= {command: _about(action) for command, action in ACTIONS.items() if command.startswith(typed)}
    return [(text, known[text]) for text in sorted(known) if text.startswith(typed)][:MOST]


def _typed(command: str) -> str:
    """A command whose text follows is completed with the space before it."""
    usage = table.COMMANDS[command][0]
    return f"{command} " if usage != command and command not in ACTIONS else command


def _quoted(path: str) -> str:
    if " " not in path:
        return f"@{path}"
    return f'@"{path}' if path.endswith("/") else f'@"{path}"'


def _about(action: str) -> str:
    keys = (*KEYS, Binding("f1", HELP, mark("Help")))
    binding = next(each for each in keys if isinstance(each, Binding) and each.action == action)
    return f"{tr(binding.description)} ({binding.key_display or key_name(binding.key)})"


def shown(candidate: tuple[str, str]) -> str:
    """A candidate in a line."""
    return "  ".join(filter(None, map(one_line, candidate)))
