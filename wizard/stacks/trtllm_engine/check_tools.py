"""Runs in the serving image: compares each tool's --help with the flags that the plan will use.

    python3 check_tools.py EXPECTED.json

EXPECTED.json: {"image": …, "tools": [{"tool": …, "program": [word, …], "arguments": [[flag, value or null], …]}, …],
"programs": [name, …]}. Only the standard library is used. Exit status 1 if anything is missing.
"""

from __future__ import annotations

import difflib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

REMEDY = (
    "What to do: choose another release with --release, or correct releases/trtllm-tools.toml in your own profiles "
    "folder (--profiles DIR). No long step was started."
)


def flags_in(text: str) -> dict[str, list[str] | None]:
    """Flag → choices (None: any value) in argparse's output: options are on lines that begin with two spaces."""
    flags: dict[str, list[str] | None] = {}
    for line in re.findall(r"^ {2}(-.*)$", text, re.MULTILINE):
        shown = re.split(r" {2,}", line)[0]
        choices = re.search(r"\{(.*?)\}", shown)
        for flag in re.findall(r"(?:^|, )(-[\w-]+)", shown):
            flags[flag] = choices.group(1).split(",") if choices else None
    return flags


def problems(tool: str, text: str, arguments: list[tuple[str, str | None]]) -> list[str]:
    """The ``arguments`` that ``tool``, whose help is ``text``, does not support."""
    known = flags_in(text)
    if not known:
        return [f"{tool} --help shows no options; its last line: {(text.strip().splitlines() or [''])[-1]}"]
    messages: list[str] = []
    for flag, value in arguments:
        if flag not in known:
            near = difflib.get_close_matches(flag, known, n=2)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            messages.append(f"{tool} does not support {flag}{hint}")
        else:
            choices = known[flag]
            if choices and value is not None and value not in choices:
                messages.append(f"{tool}: {flag} must be one of {', '.join(choices)}, not {value}")
    return messages


def help_process(program: list[str]) -> subprocess.Popen[str] | OSError:
    """``program --help``, started, or the reason why it cannot start."""
    pipe, none = subprocess.PIPE, subprocess.DEVNULL
    try:
        return subprocess.Popen([*program, "--help"], stdin=none, stdout=pipe, stderr=subprocess.STDOUT, text=True)
    except OSError as error:
        return error


def disagreements(each: dict[str, Any], helping: subprocess.Popen[str] | OSError) -> list[str]:
    """The problems of the tool ``each``, whose help is ``helping``."""
    text = str(helping) if isinstance(helping, OSError) else helping.communicate()[0]
    status = 127 if isinstance(helping, OSError) else helping.returncode
    if not status:
        return problems(each["tool"], text, each["arguments"])
    print(text, flush=True)
    return [f"{each['tool']} --help exited with status {status}; see its output above"]


def main(path: str) -> int:
    """Check everything in the file ``path``."""
    expected = json.loads(Path(path).read_text(encoding="utf-8"))
    messages = [f"{name} was not found" for name in expected["programs"] if not shutil.which(name)]
    # All at once: importing tensorrt_llm takes most of the time.
    for each, helping in [(each, help_process(each["program"])) for each in expected["tools"]]:
        wrong = disagreements(each, helping)
        messages += wrong
        checked = "does not match the plan" if wrong else f"all {len(each['arguments'])} flags are supported"
        print(f"{each['tool']}: {checked}")
    for problem in messages:
        print(f"{expected['image']}: {problem}", file=sys.stderr)
    if messages:
        print(REMEDY, file=sys.stderr)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
