"""All commands: parses, calls the facade, maps errors to exit statuses. The only place that exits.

Standard output is data, standard error is messages.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from wizard.cli.parser import parser
from wizard.kernel import language, settings
from wizard.kernel.errors import CancelledError, HostError, UsageError, WizardError
from wizard.kernel.language import tr
from wizard.kernel.program import command, pasteable
from wizard.kernel.reasons import unreadable

__all__ = ["main", "parser"]


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit."""
    from wizard.kernel.text import make_printable

    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # started with it closed: messages are dropped
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        make_printable(getattr(sys, name))
    words = sys.argv[1:] if argv is None else argv
    language.use(_language(words))  # before the parser is created: its help is in this language too
    arguments = Namespace(json="--json" in words, plain="--plain" in words, workspace=None)  # until they are parsed
    try:
        try:
            with language.speaking("en" if arguments.json else language.used()):  # argparse caches no messages
                words = _without_genai_perf(words)
                arguments = parser().parse_args(words)
            arguments.words = tuple(words)
            status = _done(arguments)
            sys.stdout.flush()
        except WizardError as error:
            _tell(error, arguments)
            status = error.exit_code
    except KeyboardInterrupt:
        print(f"\n{tr('stopped')}", file=sys.stderr)
        status = CancelledError.exit_code
    except BrokenPipeError:  # the reader of our output has exited
        _drop_output()
        status = 128 + signal.SIGPIPE  # the shell's status for a program that does not catch the signal
    except OSError as error:
        if error.filename is not None or error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        _drop_output()
        message = tr("cannot write any more output: {reason}", reason=unreadable(error))
        full = HostError("TW-U63", message, tr("Free some disk space, or write the output elsewhere."))
        arguments.json = False  # standard output accepts nothing more
        with suppress(OSError):  # nor may standard error
            _tell(full, arguments)
        status = full.exit_code
    sys.exit(status)


def _done(arguments: Namespace) -> int:
    """Run the command; return its exit status."""
    from wizard.cli.commands import COMMANDS

    if arguments.profiles:
        from wizard.catalog import stacks
        from wizard.catalog.profiles import PROFILES_VARIABLE

        if not Path(arguments.profiles).expanduser().is_dir():
            message = tr("{path} is not a folder", path=arguments.profiles)
            raise UsageError("TW-U64", message, tr("Pass the profiles folder: --profiles DIR."))
        os.environ[PROFILES_VARIABLE] = arguments.profiles
        stacks.forget()  # the parser has listed their names
    from wizard.cli.workshop import attend

    arguments.attended = attend(arguments)
    return COMMANDS[arguments.command](arguments)


def _drop_output() -> None:
    """Discard unwritten standard output: at exit Python would fail on it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _without_genai_perf(words: Sequence[str]) -> Sequence[str]:
    """``words`` with `bench`'s own options, if they have GenAI-Perf's; the translation is shown."""
    if "bench" not in words:
        return words
    from wizard.cli.genai_perf import translated

    new = translated(words)
    if new is None:
        return words
    options, dropped = new
    print(tr("GenAI-Perf is now: {command}", command=command(*options)), file=sys.stderr)
    if dropped:
        print(tr("Not needed any more: {options}", options=", ".join(dropped)), file=sys.stderr)
    return options


def _language(words: Sequence[str]) -> str:
    """The language of ``--language``, else of the settings, else of the locale; the parser reports an unknown language.

    Unreadable settings do not stop a command; the full-screen wizard reports the error.
    """
    languages = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "--language"]
    languages += [word.removeprefix("--language=") for word in words if word.startswith("--language=")]
    if code := next((candidate for candidate in languages if candidate in language.LANGUAGES), None):
        return code
    try:
        return settings.load().language or language.preferred()
    except WizardError:
        return language.preferred()


def _aloud(arguments: Namespace) -> bool:
    """Whether this is one of the interactive interfaces."""
    aloud = getattr(arguments, "plain", False) or getattr(arguments, "command", None) == "chat"
    return aloud or os.environ.get("TERM", "dumb") == "dumb"


def _tell(error: WizardError, arguments: Namespace) -> None:
    if getattr(arguments, "json", False):
        from wizard.kernel.values import to_json
        from wizard.texts.data import error_data

        shown = {name: pasteable(text, arguments.workspace) for name, text in error_data(error).items()}
        print(to_json({"error": shown}), flush=True)
    else:
        from wizard.kernel.text import plain
        from wizard.prompts.speech import for_stderr, tell

        text = pasteable(plain(str(error)), arguments.workspace)
        tell(for_stderr(text) if _aloud(arguments) else text)
