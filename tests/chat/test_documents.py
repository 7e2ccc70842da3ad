"""PDFs: their text by pages, and every reason why there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chat.pdf_files import bomb, encrypted, pdf, stream_of
from wizard.chat import documents
from wizard.chat.attachments import Attachment, read, references
from wizard.kernel.errors import UsageError

CYCLE = pdf("x", objects={2: b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 9999999 >>"})
SLOW = pdf("x", objects={2: b"<< /Type /Pages /Kids [" + b"4 0 R " * 100_000 + b"] /Count 100000 >>"})
"""Takes 36 s of processor time with pypdf 7.1."""


def attach(folder: Path, data: bytes, name: str = "a.pdf") -> Attachment:
    (folder / name).write_bytes(data)
    (only,) = read(references(f"@{name}", folder))
    return only


def refused(folder: Path, data: bytes) -> UsageError:
    with pytest.raises(UsageError) as error:
        attach(folder, data)
    return error.value


def test_the_text_is_marked_by_pages_and_pages_without_text_are_counted(tmp_path: Path) -> None:
    only = attach(tmp_path, pdf("Hello\nworld", "", "Third ```"))
    assert only.text == "[Page 1]\nHello\nworld\n\n[Page 3]\nThird ‘‘‘"
    assert only.block.startswith("a.pdf:\n\n```\n[Page 1]\n")
    assert only.notes == ("a.pdf: text of 3 pages", "1 page without text")


@pytest.mark.parametrize("name", ["a.txt", "a"])
def test_the_content_decides_not_the_name(tmp_path: Path, name: str) -> None:
    assert attach(tmp_path, pdf("Hello"), name).text == "[Page 1]\nHello"
    assert attach(tmp_path, b"a text", "b.pdf").text == "a text"


def test_a_file_that_everyone_may_read_is_decrypted(tmp_path: Path) -> None:
    assert attach(tmp_path, encrypted(pdf("open"), "")).text == "[Page 1]\nopen"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (encrypted(pdf("secret"), "password"), "it is protected by a password"),
        (pdf("", ""), "it has no text, only pictures of pages"),
        (b"%PDF-1.7\nnonsense", "it is damaged ("),
        (pdf(*["page"] * 50)[:3000], "it is damaged ("),
        (CYCLE, "it is damaged ("),
        (pdf("x", objects={5: b"5 0 R"}), "it has no text"),
        (bomb(1 << 30), "it is damaged (LimitReachedError"),
    ],
    ids=["password", "scanned", "nonsense", "cut", "cycle", "content that is itself", "bomb"],
)
def test_a_file_without_readable_text_is_refused_with_the_reason(tmp_path: Path, data: bytes, why: str) -> None:
    error = refused(tmp_path, data)
    assert error.code == "TW-C29"
    assert f"cannot attach a.pdf: {why}" in error.what


def test_time_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "SECONDS", 2)
    error = refused(tmp_path, SLOW)
    assert (error.code, "takes too long" in error.what) == ("TW-C29", True)


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MEMORY", 150 * 2**20)
    error = refused(tmp_path, bomb(60 * 2**20))
    assert (error.code, "memory" in error.what) == ("TW-C29", True)


def test_too_large_a_file_or_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "big.pdf").open("wb") as file:
        file.write(b"%PDF-1.7\n")
        file.truncate(2**30)
    with pytest.raises(UsageError) as error:
        read(references("@big.pdf", tmp_path))
    assert (error.value.code, "1.0 GiB" in error.value.what) == ("TW-C27", True)
    monkeypatch.setattr("wizard.chat.attachments.LARGEST", 5000)
    assert refused(tmp_path, pdf(*["x" * 1000] * 10)).code == "TW-C27"
    (tmp_path / "text").write_text("x" * 4900)
    (tmp_path / "small.pdf").write_bytes(pdf("y" * 200))
    with pytest.raises(UsageError) as error:
        read(references("@text @small.pdf", tmp_path))
    assert error.value.code == "TW-C27"


def test_control_characters_do_not_come_through(tmp_path: Path) -> None:
    content = stream_of(b"BT /F1 12 Tf 72 720 Td (a\\033[31mb\\000) Tj ET")
    assert attach(tmp_path, pdf("", objects={5: content})).text == "[Page 1]\na[31mb"


def test_without_the_extra_the_command_that_installs_it_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "find_spec", lambda _: None)
    error = refused(tmp_path, pdf("x"))
    assert (error.code, "pypdf" in error.what, "triton-wizard[pdf]" in error.todo) == ("TW-C30", True, True)


def test_what_was_read_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = pdf("once")
    first = attach(tmp_path, data)
    monkeypatch.setattr("wizard.kernel.fenced.run", lambda *_, **__: pytest.fail("read again"))
    assert attach(tmp_path, data) == first
