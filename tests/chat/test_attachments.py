"""Files that a question names: recognized, read within bounds, and counted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wizard.chat.attachments import LARGEST, attached, check, mentions, note, outside, read, references
from wizard.chat.conversation import Conversation
from wizard.chat.meter import Meter
from wizard.chat.paths import completions
from wizard.kernel.errors import UsageError


def whole(question: str, folder: Path) -> str:
    """The question as it is sent."""
    files = [each for each in references(question, folder) if each.exists]
    return attached(question, files, read(files))


def refused(question: str, folder: Path) -> UsageError:
    """Why the only file in it is not read."""
    with pytest.raises(UsageError) as error:
        read(references(question, folder))
    return error.value


def test_a_file_becomes_a_fenced_block_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    assert whole("Sum up @a.csv, please", tmp_path) == "Sum up a.csv, please\n\na.csv:\n\n```csv\nx,y\n1,2\n```"


def test_the_fence_is_longer_than_any_in_the_file_and_nothing_is_attached_twice(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("```py\n@b.md\n```\n")
    sent = whole("@b.md", tmp_path)
    assert sent == "b.md\n\nb.md:\n\n````md\n```py\n@b.md\n```\n````"
    assert references(sent, tmp_path) == []


@pytest.mark.parametrize("question", ['see @"my notes.txt" now', '@"my notes.txt"'])
def test_a_name_with_spaces_is_quoted(tmp_path: Path, question: str) -> None:
    (tmp_path / "my notes.txt").write_text("hello")
    assert whole(question, tmp_path).endswith("my notes.txt:\n\n```txt\nhello\n```")


def test_what_is_no_file_stays_as_it_is(tmp_path: Path) -> None:
    question = "me@home.org @property @app.route('/x') @reprot.csv @"
    named = references(question, tmp_path)
    assert not any(each.exists for each in named)
    assert [each.name for each in named if each.mistyped] == ["reprot.csv"]
    assert mentions("a@b.org") == mentions("no files") == []
    assert whole(question, tmp_path) == question


def test_punctuation_after_a_name_is_not_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("")
    (tmp_path / "why?").write_text("")
    assert [each.name for each in references("(see @a.py?), @why? @a.py", tmp_path)] == ["a.py", "why?"]


def test_text_that_is_not_utf_8_is_decoded_and_reported(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("déjà vu, \ufffd kept".encode().replace(b"\xc3\xa9", b"\xe9"))
    files = references("@latin.txt", tmp_path)
    (only,) = read(files)
    assert only.text == "d\ufffdjà vu, \ufffd kept"
    meter = Meter(100)
    usage = meter.usage(Conversation(), attached("@latin.txt", files, [only]))
    line = note([only], usage, meter.usage(Conversation()))
    assert line == (
        f"attached: latin.txt · ≈ {usage.tokens} tokens · {100 - usage.tokens} left in the context · "
        "latin.txt is not UTF-8: 1 character replaced"
    )


def test_a_byte_order_mark_and_windows_line_ends_are_dropped(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    assert read(references("@w.csv", tmp_path))[0].text == "a\nb\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_with_a_byte_order_mark_is_read_as_windows_programs_write_it(tmp_path: Path, encoding: str) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"
    (tmp_path / "a.csv").write_bytes(f"{mark}naïve,日本,🙂\r\n1,2,3\r\n".encode(encoding))
    (attachment,) = read(references("@a.csv", tmp_path))
    assert (attachment.text, attachment.notes) == ("naïve,日本,🙂\n1,2,3\n", ())


@pytest.mark.parametrize(
    "data",
    [b"\x7fELF\0\0", bytes(range(128, 256)), b"\xff\xfea\0\0\xd8b\0", b"\xff\xfe\0\0a\0\0\0", b"\xfe\xff\0"],
    ids=["ELF", "other bytes", "UTF-16 with half a pair", "UTF-32", "UTF-16 cut off"],
)
def test_a_binary_file_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "b.bin").write_bytes(data)
    assert refused("@b.bin", tmp_path).code == "TW-C26"


def test_a_gigabyte_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "big.txt").open("wb") as file:
        file.truncate(2**30)
    error = refused("@big.txt", tmp_path)
    assert (error.code, "1.0 GiB" in error.what) == ("TW-C27", True)


def test_the_bound_holds_for_all_files_together(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"x" * (LARGEST // 2 + 1))
    assert len(read(references("@a", tmp_path))[0].text) == LARGEST // 2 + 1
    assert refused("@a @b", tmp_path).code == "TW-C27"


def test_a_file_that_has_no_size_is_read_within_the_bound() -> None:
    (only,) = read(references("@/proc/self/status", Path("/")))
    assert only.text.startswith("Name:")


def test_folders_pipes_devices_broken_links_and_unreadable_files_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("pipe", "folder", "broken", "loop", "/dev/zero", "/proc/self/mem"):
        error = refused(f"@{name}", tmp_path)
        assert error.code == "TW-C25", name
        assert name in error.what


def test_a_file_outside_of_the_folder_is_known_by_its_real_place(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    (tmp_path / "secret").write_text("x")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "inner").symlink_to("link2")
    (folder / "link2").write_text("x")
    real = {each.name: outside(each, folder) for each in references("@link @../secret @inner", folder)}
    assert real == {"link": tmp_path / "secret", "../secret": tmp_path / "secret", "inner": None}


def test_a_current_folder_that_was_deleted_has_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    (only,) = references("@../x.txt", Path())
    assert only.mistyped
    assert outside(only, Path()) is None
    assert completions("", Path()) == []


def test_more_than_the_context_is_refused_with_both_counts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("word " * 3000)
    meter = Meter(1000, lambda text: [0] * len(text.split()))
    conversation = Conversation().with_message("user", "one two")
    before, usage = meter.usage(conversation), meter.usage(conversation, whole("@a.txt", tmp_path), exact=True)
    assert usage.counted
    with pytest.raises(UsageError) as error:
        check(usage, before)
    assert error.value.code == "TW-C28"
    assert "3,012 tokens; 990 are left" in error.value.what
    check(meter.usage(conversation, "small", exact=True), before)


def test_a_file_that_becomes_a_pipe_before_it_is_opened_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    before = (tmp_path / "file").stat()
    named = references("@pipe", tmp_path)
    monkeypatch.setattr(Path, "stat", lambda *_, **__: before)
    with pytest.raises(UsageError) as error:
        read(named)
    assert error.value.code == "TW-C25"


def test_more_than_a_files_size_is_read_within_the_bound() -> None:
    assert refused("@/proc/self/pagemap", Path("/")).code == "TW-C27"


def test_control_characters_of_a_name_are_not_sent(tmp_path: Path) -> None:
    (tmp_path / "evil\x1b[31m.txt").write_text("x")
    (only,) = read(references("@evil\x1b[31m.txt", tmp_path))
    assert only.block == "evil.txt:\n\n```txt\nx\n```"
