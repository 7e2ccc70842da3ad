"""Commands that are typed instead of a key, and what completes a text that is being typed."""

from __future__ import annotations

import re
from pathlib import Path

from textual.binding import Binding

from wizard.catalog import prompt_files
from wizard.chat.paths import completions
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line
from wizard.tui.screens.chat_keys import KEYS
from wizard.tui.widgets.chrome import key_name

HELP = "app.help"
COMMANDS = {
    "/again": "again",
    "/bye": "leave",
    "/compare": "compare",
    "/copy": "copy",
    "/copy code": "copy_code",
    "/copy thought": "copy_thought",
    "/details": "details",
    "/edit": "edit",
    "/history": "conversations",
    "/help": HELP,
    "/logprobs": "logprobs",
    "/model": "switch",
    "/new": "new",
    "/preset": "presets",
    "/private": "private",
    "/quit": "leave",
    "/save": "save",
    "/search": "find",
    "/set": "tune",
    "/snippet": "elsewhere",
    "/think": "unfold",
    "/tools": "tools",
}
"""Command, as in plain prompts → the action of its key."""
TAKE_TEXT = ("/model", "/think")
"""Those that may be followed by a text, which then is what their key asks for."""
PROMPT = "/prompt"
ABOUT_PROMPT = mark("insert one of your prompts")
MOST = 5
_FILE = re.compile(r'(?:^|\s)@("?)([^\s"]*|(?<=")[^"\n]*)$')


def to_complete(before: str) -> str:
    """The end of the text ``before`` the cursor that can be completed: a command, or a file's name; else empty."""
    if re.fullmatch(rf"/\w*|(?:/copy|{PROMPT}) \S*", before):
        return before
    match = _FILE.search(before)
    return "@" + "".join(match.groups()) if match else ""


def candidates(typed: str, folder: Path) -> list[tuple[str, str]]:
    """What ``typed`` can become, at most `MOST`, each with a few words about it."""
    if typed.startswith("@"):
        return [(_quoted(path), "") for path in completions(typed[1:].removeprefix('"'), folder)]
    if typed.startswith(f"{PROMPT} "):
        names = [name for name in prompt_files.names() if name.startswith(typed.removeprefix(f"{PROMPT} "))]
        return [(f"{PROMPT} {name}", "") for name in names][:MOST]
    known = {name: _about(action) for name, action in COMMANDS.items()} | {f"{PROMPT} ": tr(ABOUT_PROMPT)}
    return [(name, about) for name, about in sorted(known.items()) if name.startswith(typed)][:MOST]


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
