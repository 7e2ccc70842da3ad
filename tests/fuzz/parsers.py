"""Every parser of a stranger's file: real files to change, and the function of the wizard that reads one."""

from __future__ import annotations

import copy
import json
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.chat.fake_repository import write_tokenizer
from tests.chat.test_templates import TEMPLATE
from tests.model.gguf_bytes import LLAMA_CONFIG, safetensors, tiny
from tests.values import plan_of, python_step
from wizard.advise.cases import cases
from wizard.bench import opened
from wizard.catalog import profiles
from wizard.catalog.recipes import Recipe
from wizard.chat import saving
from wizard.chat.conversation import Conversation
from wizard.chat.rendering import try_out
from wizard.chat.tokens import Tokenizer
from wizard.chat.tools import config as tool_servers
from wizard.kernel import bounded
from wizard.kernel.values import LARGEST, from_data, from_json, to_json
from wizard.model import local
from wizard.model.chat_format import ChatFormat
from wizard.model.report import text
from wizard.plan.answers import read_answers
from wizard.plan.plan import Plan
from wizard.probe import hardware
from wizard.repository.lint import lint
from wizard.serve.causes import in_log

TESTS = Path(__file__).parent.parent
HEADER = safetensors({"a": {"dtype": "BF16", "shape": [10, 7], "data_offsets": [0, 140]}})
PBTXT = """name: "m" backend: "python" max_batch_size: 8
input [{ name: "text" data_type: TYPE_STRING dims: [1] }] output [{ name: "out" data_type: TYPE_STRING dims: [-1] }]
instance_group [{ count: 1 kind: KIND_CPU }] dynamic_batching { max_queue_delay_microseconds: 100 }
parameters { key: "a" value: { string_value: "b" } } model_transaction_policy { decoupled: true }
"""
PYTHON = b"class TritonPythonModel:\n    def execute(self, requests):\n        return [None for _ in requests]\n"
ANSWERS = b'model = "demo"\nusers = 4\nmax_len = 2048\ngoal = "chat"\n'
TOOLS = b'{"mcpServers": {"files": {"command": "server", "args": ["--root", "."], "env": {"A": "${B}"}}}}'


@dataclass(frozen=True, slots=True)
class Parser:
    """A parser.

    Attributes:
        seeds: Contents of valid files.
        name: Name of the file, in a folder that is empty except for ``beside``.
        read: Reads the file at a path; everything that it raises but an error with a code is a fault.
        weight: Its share of the inputs: those with a process of their own are slow.
        beside: Other files of the folder.
    """

    seeds: Callable[[], list[bytes]]
    name: str
    read: Callable[[Path], object]
    weight: int = 10
    beside: tuple[tuple[str, bytes], ...] = ()


def _files(*patterns: str) -> Callable[[], list[bytes]]:
    return cache(lambda: [path.read_bytes() for pattern in patterns for path in sorted(TESTS.glob(pattern))])


def _fixed(*seeds: str | bytes) -> Callable[[], list[bytes]]:
    return lambda: [seed.encode() if isinstance(seed, str) else seed for seed in seeds]


def _profiles(kind: str) -> Callable[[], list[bytes]]:
    return cache(lambda: [path.read_bytes() for path in profiles.files(kind).values()])


@cache
def _tokenizers() -> list[bytes]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return [(write_tokenizer(Path(folder) / "t") / "tokenizer.json").read_bytes()]


def _plan() -> list[bytes]:
    return [to_json(plan_of(Path("/w"), python_step("a", "print(1)", Path("/w/f")))).encode()]


def _talk() -> list[bytes]:
    return [saving.as_json(saving.Saved(Conversation().with_message("user", "Hi"), "t", "m")).encode()]


PARSERS = {
    "config.json": Parser(_files("cases/models/*.json"), "config.json", lambda path: text(_model(path.parent)), 30),
    "tokenizer_config.json": Parser(
        _fixed(json.dumps({"chat_template": TEMPLATE, "eos_token": {"content": "</s>"}, "bos_token": "<s>"})),
        "tokenizer_config.json",
        lambda path: _model(path.parent),
        beside=(("config.json", json.dumps(LLAMA_CONFIG).encode()),),
    ),
    "safetensors": Parser(
        _fixed(HEADER),
        "model.safetensors",
        lambda path: _model(path.parent),
        20,
        (("config.json", json.dumps(LLAMA_CONFIG).encode()),),
    ),
    "index": Parser(
        _fixed(json.dumps({"weight_map": {"a": "m-1.safetensors", "b": "m-1.safetensors"}})),
        "model.safetensors.index.json",
        lambda path: _model(path.parent),
        beside=(("config.json", json.dumps(LLAMA_CONFIG).encode()), ("m-1.safetensors", HEADER)),
    ),
    "gguf": Parser(lambda: [tiny().bytes()], "m.gguf", lambda path: text(_model(path)), 30),
    "host": Parser(
        _files("cases/hosts/host-*.json"), "host.json", lambda path: hardware.find(str(path), path.parent), 20
    ),
    "plan": Parser(_plan, "plan.json", lambda path: from_json(Plan, bounded.read(path, LARGEST), where="p"), 20),
    "cases": Parser(
        _fixed(profiles.find("examples/fleet.yaml").read_bytes()), "cases.yaml", lambda path: list(cases(path)), 1
    ),
    "answers": Parser(_fixed(ANSWERS), "a.toml", read_answers, 20),
    "recipe": Parser(
        _profiles("recipes"),
        "r.toml",
        lambda path: from_data(Recipe, {**profiles.load_toml(path), "name": "r"}, where="r"),
        20,
    ),
    "config.pbtxt": Parser(_fixed(PBTXT), "config.pbtxt", lambda path: lint(path.parent.parent), 20),
    "model.py": Parser(
        _fixed(PYTHON), "1/model.py", lambda path: lint(path.parents[2]), beside=(("config.pbtxt", PBTXT.encode()),)
    ),
    "chat template": Parser(
        _fixed(TEMPLATE), "t.jinja", lambda path: try_out("m", ChatFormat(path.read_text("utf-8", "replace"))), 1
    ),
    "tokenizer.json": Parser(_tokenizers, "tokenizer.json", lambda path: _tokens(path.parent), 1),
    "log": Parser(_files("run/failures/*.log"), "a.log", lambda path: in_log(str(path)), 10),
    "report": Parser(_files("bench/recorded/demo/report.json"), "report.json", opened.opened, 10),
    "conversation": Parser(_talk, "c.json", saving.load, 10),
    "tool servers": Parser(_fixed(TOOLS), "mcp.json", tool_servers.load, 10),
}


def _model(path: Path) -> local.ModelFacts:
    return local.of_path(path, "model")


def _tokens(folder: Path) -> None:
    tokenizer = Tokenizer(str(folder), "model")
    tokenizer.decode(tokenizer.encode("Hello é", begin=True))


NUMBERS = (b"0", b"-1", b"1e400", b"9" * 400, b"NaN", b"0.5", b"1073741824", b"18446744073709551615", b"null", b"true")
PIECES = (
    *(
        b"[" * 3000,
        b'{"a":' * 3000,
        b"\x00",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b'"\\ud800"',
        b"\x1b[2J",
        b"${x}",
        b"../" * 50,
    ),
    *(
        "\U0001f600".encode(),
        b"\\",
        b'"',
        b"'",
        b"{",
        b"}",
        b"]",
        b"\n" * 2000,
        b"a" * 70_000,
        b"&a [*a, *a]",
        b"a." * 300,
    ),
    *(struct.pack("<Q", 1 << 62), struct.pack("<I", 0xFFFFFFFF), b"\x08\x00\x00\x00", b"\x09\x00\x00\x00"),
)


VALUES = (
    *(None, True, 0, -1, 0.5, 1e308, 10**30, 10**400, float("nan"), "", "8", "\x1b[2J", "é" * 70_000, "../x", "a\nb"),
    *([], [None], [1] * 5000, ["a"] * 40, [[[]]], [-1] * 40, {}, {"a": {"b": [1]}}, [{}] * 5000, {"": 0}),
)


def changed(raw: bytes, chance: random.Random) -> bytes:
    """``raw`` with random changes: of values if it is JSON, or of bytes."""
    try:
        value = json.loads(raw)
    except ValueError:
        return _bytes(raw, chance)
    if chance.random() < 0.3:
        return _bytes(raw, chance)
    for _ in range(chance.randint(1, 4)):
        _value(value, chance)
    return json.dumps(value).encode()


def _value(value: Any, chance: random.Random) -> None:
    """Another value, or none, somewhere in ``value``."""
    while isinstance(value, (dict, list)) and value:
        key = chance.choice([*value] if isinstance(value, dict) else range(len(value)))
        if chance.random() < 0.4 or not isinstance(value[key], (dict, list)) or not value[key]:
            if chance.random() < 0.2:
                del value[key]
            else:
                value[key] = copy.deepcopy(chance.choice(VALUES))
            return
        value = value[key]


def _bytes(raw: bytes, chance: random.Random) -> bytes:
    """``raw`` with one to six random changes."""
    data = bytearray(raw)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(data) + 1)
        to = min(len(data), at + chance.choice((1, 1, 2, 4, 8, 40, 400)))
        change = chance.randrange(8)
        if change == 0:
            data[at:to] = chance.randbytes(to - at)
        elif change == 1:
            data[at:to] = b""
        elif change == 2:
            data[at:at] = data[at:to] * chance.choice((1, 2, 50, 1000))
        elif change == 3:
            data[at:at] = chance.choice(PIECES)
        elif change == 4:
            data[at:to] = chance.choice(PIECES)
        elif change == 5:
            _number(data, at, chance)
        elif change == 6:
            other = chance.randrange(len(data) + 1)
            data[at:to] = data[other : other + chance.choice((4, 40, 400))]
        else:
            del data[chance.choice((at, len(data) // 2)) :]
    return bytes(data)


def _number(data: bytearray, at: int, chance: random.Random) -> None:
    """Another number in place of the next one."""
    digits = b"0123456789"
    begin = next((i for i in range(at, len(data)) if data[i] in digits), None)
    if begin is not None:
        end = next((i for i in range(begin, len(data)) if data[i] not in digits), len(data))
        data[begin:end] = chance.choice(NUMBERS)
