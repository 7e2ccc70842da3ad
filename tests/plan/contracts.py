"""What the real tools of a release accept, read from their sources, and whether a command keeps to it.

A contract is ``{tool: {flag: {aliases, type, choices, required, action, nargs, default}}}`` as argparse was told, and
``plugin.py``'s fields, which trtllm-build makes flags of. Files of contracts are ``{version: contract}``: the project's
own (made from NVIDIA/TensorRT-LLM's tags v0.7.0 to v0.11.0 and its ``main`` at the versions named from there on), and
whatever ``$TRITON_WIZARD_CONTRACTS`` names (files or folders, separated by ``:``).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from wizard.catalog.trtllm_tools import version_of

CASES = Path(__file__).parent.parent / "cases"
NVFP4 = "0.19.0"
"""From here on --qformat has nvfp4 (quantize.py at NVIDIA/TensorRT-LLM c8c6df08); no contract is as new as that."""
PLUGIN_DTYPES = ["float16", "float32", "bfloat16", "disable"]
"""Of a plugin flag before plugin.py lists them (0.8, 0.10)."""
FURTHER = tuple(Path(word) for word in os.environ.get("TRITON_WIZARD_CONTRACTS", "").split(":") if word)
"""Read here, because every test runs in an environment of its own."""
OURS = ("check_tools.py", "launch_and_wait.py")
PLAIN = ("ls", "mkdir", "rm", "mv", "cp", "ln", "git", "sh")


@cache
def contracts() -> dict[str, dict[str, Any]]:
    """Version → contract, of all files."""
    paths = [CASES / "cli-contracts.json", *sorted((CASES / "contracts").glob("*.json"))]
    for place in FURTHER:
        paths += sorted(place.glob("*.json")) if place.is_dir() else [place]
    by_version: dict[str, dict[str, Any]] = {}
    for path in paths:
        for version, contract in json.loads(path.read_text(encoding="utf-8")).items():
            by_version[version] = by_version.get(version, {}) | contract
    return by_version


@cache
def neighbours(version: str) -> list[dict[str, Any]]:
    """The contract of ``version``, or those just before and just after it where there is none."""
    release = version_of(version)[:3]
    known = {version_of(key)[:3]: contract for key, contract in contracts().items()}
    if release in known:
        return [known[release]]
    before = max((version for version in known if version < release), default=None)
    after = min((version for version in known if version > release), default=None)
    nearest = [deepcopy(known[version]) for version in (before, after) if version is not None]
    if release >= version_of(NVFP4):
        for contract in nearest:
            contract["examples/quantization/quantize.py"]["--qformat"]["choices"].append("nvfp4")
    return nearest


def tool_of(argv: Sequence[str]) -> tuple[str, Sequence[str]] | None:
    """The contract's name of the tool that ``argv`` calls, and its arguments; None for what is no tool of NVIDIA's."""
    words = list(argv)
    if words[0] == "mpirun":
        assert words[1:3] == ["--allow-run-as-root", "-n"]
        words = words[4:]
    if words[0] == "trtllm-build":
        return "tensorrt_llm/commands/build.py", words[1:]
    if words[0] == "python3":
        path = Path(words[1])
        if path.name == "launch_and_wait.py":
            path, words = Path(words[2]), words[1:]
        if path.name in OURS or words[1:3] == ["-m", "pip"]:
            return None
        if path.name == "launch_triton_server.py":
            return "backend:scripts/launch_triton_server.py", words[2:]
        _, mark, below = str(path).partition("/examples/")
        assert mark, f"no contract is known for {path}"
        return "examples/" + re.sub(r"^models/(core|contrib)/", "", below), words[2:]
    assert words[0] in PLAIN or words[0] == "tritonserver", f"no contract is known for {words[0]}"
    return None


def violations(argv: Sequence[str], version: str) -> list[str]:
    """What ``argv`` says that no contract about ``version`` knows."""
    called = tool_of(argv)
    if called is None:
        return []
    tool, arguments = called
    name = tool.replace("glm-4-9b", "chatglm")  # the same script under a new name
    known = [neighbour for neighbour in neighbours(version) if name in neighbour]
    if not known:
        return [f"{tool} is in no contract near {version}"]
    broken_rules = [list(broken(_cached(version, name, index), arguments)) for index in range(len(known))]
    return [] if not all(broken_rules) else [f"{tool} of {version}: {text}" for text in broken_rules[0]]


@cache
def _cached(version: str, tool: str, index: int) -> dict[str, dict[str, Any]]:
    return options([neighbour for neighbour in neighbours(version) if tool in neighbour][index], tool)


def options(contract: Mapping[str, Any], tool: str) -> dict[str, dict[str, Any]]:
    """Every spelling of a flag of ``tool`` → what it takes."""
    flags: dict[str, dict[str, Any]] = dict(contract[tool])
    if tool == "examples/run.py":
        flags |= contract["examples/utils.py"]
    if tool == "tensorrt_llm/commands/build.py":
        flags |= _plugins(contract["tensorrt_llm/plugin/plugin.py"])
    return {alias: {**spec, "name": name} for name, spec in flags.items() for alias in spec["aliases"]}


def _plugins(plugin: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    lists = plugin["lists"]
    flags: dict[str, dict[str, Any]] = {}
    for name, kind, _ in plugin["fields"]:
        dtypes = lists.get("PLUGIN_DTYPE_OPTIONS_MAP", {}).get(name) or lists.get("DEFAULT_PLUGIN_DTYPE_OPTIONS")
        if "bool" in kind:
            choices: list[str] | None = ["enable", "disable"]
        elif "int" in kind:
            choices = None
        else:
            choices = [dtype or "disable" for dtype in dtypes] if dtypes else PLUGIN_DTYPES
        flags[f"--{name}"] = {"aliases": [f"--{name}"], "choices": choices}
    return flags


def broken(known: Mapping[str, dict[str, Any]], arguments: Sequence[str]) -> Iterator[str]:
    """What is wrong with ``arguments``: unknown flag, value of the wrong kind, bad choice, missing argument."""
    words, seen = list(arguments), set()
    while words:
        flag, _, inline = words.pop(0).partition("=")
        spec = known.get(flag)
        if spec is None:
            yield f"unknown flag {flag}"
            while words and not words[0].startswith("--"):
                words.pop(0)
            continue
        seen.add(spec["name"])
        values = [inline] if inline else []
        while words and not words[0].startswith("--"):
            values.append(words.pop(0))
        yield from _wrong(flag, spec, values)
    for spec in known.values():
        if spec.get("required") and spec["name"] not in seen:
            yield f"{spec['name']} is missing"


def _wrong(flag: str, spec: Mapping[str, Any], values: Sequence[str]) -> Iterator[str]:
    nargs = spec.get("nargs", 1)
    least, most = {"?": (0, 1), "+": (1, 99), "*": (0, 99)}.get(nargs) or (int(nargs), int(nargs))
    if str(spec.get("action", "")).startswith("store_"):
        least, most = 0, 0
    if not least <= len(values) <= most:
        yield f"{flag} takes {least} to {most} values, not {len(values)}"
    for value in values:
        choices = spec.get("choices")
        if isinstance(choices, list) and value not in [str(choice) for choice in choices if choice is not None]:
            yield f"{flag} takes one of {choices}, not {value}"
        if spec.get("type") == "int" and not re.fullmatch(r"-?\d+", value):
            yield f"{flag} takes a number, not {value}"
