"""The worst files: each ends with its code within 10 s of processor time and 300 MB."""

from __future__ import annotations

import json
import os
import resource
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.model.gguf_bytes import ARRAY, LLAMA_CONFIG, STRING, text

CONFIG = json.dumps(LLAMA_CONFIG).encode()
LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
REGEX = {"type": "Split", "pattern": {"Regex": "(a|aa)+b"}, "behavior": "Isolated", "invert": False}
TOKENIZER = {"version": "1.0", "added_tokens": [], "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}


def gguf(tensors: int, pairs: int, body: bytes) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, pairs) + body


def array(kind: int, count: int, body: bytes = b"") -> bytes:
    return text("tokenizer.ggml.tokens") + struct.pack("<IIQ", ARRAY, kind, count) + body


def header(raw: bytes) -> bytes:
    return struct.pack("<Q", len(raw)) + raw


def tensors(count: int) -> bytes:
    """A valid header of that many tensors."""
    named = (f'"{n}":{{"dtype":"I8","shape":[],"data_offsets":[{n},{n + 1}]}}' for n in range(count))
    raw = ("{" + ",".join(named) + "}").encode()
    return header(raw) + bytes(count)


DICTS = b'{"a":[' + b'{"":0},' * 299_000 + b"0]}"
"""As many dicts as a JSON text may have."""
SPARSE = 9 << 30
GGUF: dict[str, tuple[str, bytes, int]] = {
    "tensors": ("TW-M09", gguf(1 << 60, 0, b""), 0),
    "pairs": ("TW-M09", gguf(1, 1 << 60, b""), 0),
    "long text": ("TW-M09", gguf(1, 1, text("k") + struct.pack("<IQ", STRING, 1 << 60)), SPARSE),
    "nested arrays": ("TW-M09", gguf(1, 1, array(ARRAY, 1 << 40)), SPARSE),
    "10^8 elements": ("TW-M09", gguf(1, 1, array(0, 10**8)), SPARSE),
    "a token of 2 GB": ("TW-M09", gguf(1, 1, array(STRING, 2, struct.pack("<Q", 2 << 30))), SPARSE),
    "most entries": ("TW-M09", gguf(0, 1, array(STRING, 1_900_000)), SPARSE),
    "most texts": ("TW-M09", gguf(0, 9, (text("k") + struct.pack("<I", STRING) + text("😀" + "a" * 1_600_000)) * 9), 0),
    "most tensors": (
        "TW-M10",
        gguf(100_000, 0, b"".join(text(str(n)) + struct.pack("<IQIQ", 1, 32, 0, 128 * n) for n in range(100_000))),
        0,
    ),
}
FOLDERS: dict[str, tuple[str, dict[str, bytes]]] = {
    "a header of 2^62 bytes": ("TW-M07", {"config.json": CONFIG, "model.safetensors": struct.pack("<Q", 1 << 62)}),
    "a header of 100 MB": ("TW-M07", {"config.json": CONFIG, "model.safetensors": header(b" " * 100_000_000)}),
    "most dicts in a header": ("TW-M07", {"config.json": CONFIG, "model.safetensors": header(DICTS)}),
    "most tensors": ("ok", {"config.json": CONFIG, "model.safetensors": tensors(70_000)}),
    "index": ("TW-M07", {"config.json": CONFIG, "model.safetensors.index.json": DICTS}),
    "config of 100 MB": ("TW-M04", {"config.json": b'{"a": "' + b"a" * 100_000_000 + b'"}'}),
    "most dicts in a config": ("ok", {"config.json": DICTS}),
    "too many values": ("TW-M04", {"config.json": b'{"a": [' + b"[]," * 3_000_000 + b"[]]}"}),
    "10^5 levels": ("TW-M04", {"config.json": b'{"a":' * 100_000 + b"1" + b"}" * 100_000}),
    "digits": ("TW-M04", {"config.json": b'{"hidden_size": ' + b"9" * 4_000_000 + b"}"}),
}
FILES: dict[str, tuple[str, str, bytes]] = {
    "host": ("TW-K01", "hardware.find(path, Path('/'))", b'{"gpus": [' + b"{}," * 74_000 + b"{}]}"),
    "plan": (
        "TW-K01",
        "from_json(Plan, Path(path).read_bytes(), where='p')",
        b'{"steps": [' + b"{}," * 74_000 + b"{}]}",
    ),
    "aliases": ("TW-A02", "list(cases(Path(path)))", (LAUGHS + "cases: [{id: *a11}]").encode()),
    "YAML levels": ("TW-A02", "list(cases(Path(path)))", b"a: " + b"[" * 1_000_000),
    "YAML lists": ("TW-A02", "list(cases(Path(path)))", b"cases: [" + b"[]," * 1_300_000 + b"]"),
    "TOML dots": ("TW-D02", "read_answers(path)", b"a" + b".a" * 500_000 + b" = 1"),
    "TOML keys": ("TW-U30", "read_answers(path)", b"".join(b"a." * 200 + b"b%d = 1\n" % n for n in range(2400))),
    "TOML levels": ("TW-D02", "read_answers(path)", b"a = " + b"[" * 1_000_000),
    "TOML tables": ("TW-U30", "read_answers(path)", b"".join(b"[a.b%d.c]\n" % n for n in range(75_000))),
    "inputs": ("ok", "lint(Path(path).parents[1])", b"input{}\n" * 32_000),
    "placeholders": ("ok", "lint(Path(path).parents[1])", b"${a}\n" * 52_000),
}
NAMES = {"host": "h.json", "inputs": "config.pbtxt", "placeholders": "config.pbtxt"}
CODE = """
import resource, sys
from pathlib import Path
from wizard.advise.cases import cases
from wizard.chat.tokens import Tokenizer
from wizard.kernel.errors import WizardError
from wizard.kernel.values import from_json
from wizard.model import local
from wizard.plan.answers import read_answers
from wizard.plan.plan import Plan
from wizard.probe import hardware
from wizard.repository.lint import lint
path = sys.argv[1]
try:
    {read}
    print("ok")
except WizardError as error:
    assert error.what.isprintable() and len(error.what) < 1000
    print(error.code)
own = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
ended = resource.getrusage(resource.RUSAGE_CHILDREN)
used = resource.getrusage(resource.RUSAGE_SELF)
print(own + ended.ru_maxrss * (ended.ru_utime > 0), used.ru_utime + used.ru_stime + ended.ru_utime + ended.ru_stime)
"""


def cost(read: str, path: Path, most_mb: int = 300) -> str:
    """The code that it ends with; it must be cheap."""
    code = CODE.format(read=read)
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ended, figures = done.stdout.splitlines()
    kilobytes, seconds = map(float, figures.split())
    assert kilobytes < most_mb * 1000, f"{kilobytes / 1000:.0f} MB"
    assert seconds < 10
    return ended


@pytest.mark.parametrize(("code", "raw", "size"), GGUF.values(), ids=GGUF)
def test_a_gguf_header(tmp_path: Path, code: str, raw: bytes, size: int) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(raw)
    if size:
        os.truncate(path, size)  # sparse: it costs nothing
    assert cost("local.of_path(Path(path), 'm')", path) == code


@pytest.mark.parametrize(("code", "files"), FOLDERS.values(), ids=FOLDERS)
def test_a_model_folder(tmp_path: Path, code: str, files: dict[str, bytes]) -> None:
    for name, raw in files.items():
        (tmp_path / name).write_bytes(raw)
    assert cost("local.of_path(Path(path), 'm')", tmp_path) == code


@pytest.mark.parametrize(("name", "code", "read", "raw"), [(name, *case) for name, case in FILES.items()], ids=FILES)
def test_a_file(tmp_path: Path, name: str, code: str, read: str, raw: bytes) -> None:
    path = tmp_path / "m" / NAMES.get(name, "file.json")
    path.parent.mkdir()
    path.write_bytes(raw)
    assert cost(read, path) == code


@pytest.mark.parametrize(
    ("read", "code"),
    [
        ("hardware.find(path, Path('/'))", "TW-P06"),
        ("list(cases(Path(path)))", "TW-A02"),
        ("read_answers(path)", "TW-D02"),
    ],
)
def test_an_endless_device(read: str, code: str) -> None:
    assert cost(read, Path("/dev/zero")) == code


@pytest.mark.parametrize("name", ["config.json", "README.md", "tokenizer_config.json", "model.safetensors"])
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "device"])
def test_what_is_no_file_in_a_model_folder(tmp_path: Path, name: str, make: Callable[[Path], None]) -> None:
    if name != "config.json":
        (tmp_path / "config.json").write_bytes(CONFIG)
    make(tmp_path / name)
    assert cost("local.of_path(Path(path), 'm')", tmp_path) == ("TW-M03" if name == "config.json" else "ok")


@pytest.mark.parametrize(
    ("read", "most_mb", "tokenizer"),
    [
        ("Tokenizer(path, 'm').encode('a' * 100_000, begin=False)", 300, TOKENIZER | {"pre_tokenizer": REGEX}),
        ("Tokenizer(path, 'm')", 600, None),
    ],
    ids=["a regular expression", "500 MB"],
)
def test_a_tokenizer(tmp_path: Path, read: str, most_mb: int, tokenizer: dict[str, object] | None) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(tokenizer))
    if tokenizer is None:
        os.truncate(path, 500_000_000)
    assert cost(read, tmp_path, most_mb) == "TW-C13"


def test_the_limits_are_those_of_the_child() -> None:
    """`cost` would notice both."""
    with pytest.raises(AssertionError, match="MB"):
        cost("b'a' * 400_000_000", Path("/"))
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
