"""Images: what is sent for a file, and what stays in the conversation."""

from __future__ import annotations

import base64
import struct
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.chat.fake_openai import FakeOpenAI
from tests.chat.fake_openai import read as answered
from tests.chat.test_rendering import SERVED
from wizard.chat import images
from wizard.chat.attachments import attached, read, references
from wizard.chat.conversation import Conversation
from wizard.chat.image_references import shown, without
from wizard.chat.openai import at
from wizard.chat.rendering import render
from wizard.kernel.errors import ServerError, UsageError


def picture(kind: str = "PNG", size: tuple[int, int] = (30, 20), **settings: Any) -> bytes:
    """Red, with a blue left half."""
    image, written = Image.new("RGB", size, "red"), BytesIO()
    image.paste((0, 0, 255), (0, 0, size[0] // 2, size[1]))
    image.save(written, kind, **settings)
    return written.getvalue()


def header(width: int, height: int) -> bytes:
    """A PNG that claims this size, with a row of zeros."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    first = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + first + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")


def decoded(url: str) -> Image.Image:
    return Image.open(BytesIO(base64.b64decode(url.partition(",")[2])))


def question(folder: Path, text: str) -> str:
    files = references(text, folder)
    return attached(text, files, read(files))


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "_known", {})


@pytest.mark.parametrize(
    ("kind", "mime"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/jpeg"), ("GIF", "image/png")]
)
def test_every_format_is_sent_as_png_or_jpeg(kind: str, mime: str) -> None:
    read = images.read("a", picture(kind))
    assert (read.format, read.width, read.height, read.mime, read.sent) == (kind, 30, 20, mime, (30, 20))
    assert decoded(read.url).size == (30, 20)


def test_it_is_upright_and_has_no_metadata() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turn it clockwise
    exif[0x010F] = "Secret camera"
    exif.get_ifd(0x8825)[2] = (52.0, 31.0, 12.0)
    data = picture("JPEG", exif=exif, comment=b"Secret comment")
    assert b"Secret camera" in data
    read = images.read("a.jpg", data)
    sent = decoded(read.url)
    assert (read.width, read.height, sent.size) == (20, 30, (20, 30))
    assert b"Secret" not in base64.b64decode(read.data)
    assert not sent.getexif()
    top, bottom = sent.getpixel((10, 2)), sent.getpixel((10, 27))
    assert isinstance(top, tuple)
    assert isinstance(bottom, tuple)
    assert (top[2] > 200, bottom[0] > 200) == (True, True)


def test_transparency_and_16_bits_are_kept_as_far_as_they_can_be() -> None:
    written = BytesIO()
    Image.new("RGBA", (4, 4), (1, 2, 3, 4)).save(written, "PNG")
    assert decoded(images.read("a", written.getvalue()).url).getpixel((0, 0)) == (1, 2, 3, 4)
    written = BytesIO()
    Image.new("I;16", (4, 4), 40_000).save(written, "PNG")
    assert decoded(images.read("a", written.getvalue()).url).getpixel((0, 0)) == (156, 156, 156)


def test_a_large_one_is_scaled_down() -> None:
    read = images.read("a", picture("JPEG", (4000, 1000)))
    assert read.sent == (2048, 512)
    assert read.described.startswith("JPEG 4,000×1,000, sent as JPEG 2,048×512, ")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (header(20_000, 20_000), "it has 20,000×20,000 pixels; at most 50 million are possible"),
        (header(7000, 7000), "it is damaged (OSError: "),
        (b"\x89PNG\r\n\x1a\n a text", "it is damaged (no image)"),
        (picture("JPEG")[:300], "it is damaged ("),
        (b"RIFF\x00\x00\x00\x00WEBPVP8X", "it is damaged ("),
    ],
    ids=["bomb", "claims", "text", "cut", "empty"],
)
def test_unusable_ones_are_refused_with_the_reason(data: bytes, why: str) -> None:
    with pytest.raises(UsageError) as error:
        images.read("a.png", data)
    assert error.value.code == "TW-C31"
    assert why in error.value.what


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MEMORY", 150 * 2**20)
    with pytest.raises(UsageError) as error:
        images.read("a", picture("PNG", (7000, 7000)))
    assert (error.value.code, "memory" in error.value.what) == ("TW-C31", True)


def test_the_content_decides_not_the_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(picture())
    (only,) = read(references("@a.txt", tmp_path))
    assert only.notes[0].startswith("a.txt: PNG 30×20, ")
    (tmp_path / "b.png").write_bytes(b"\0 no image")
    with pytest.raises(UsageError) as error:
        read(references("@b.png", tmp_path))
    assert error.value.code == "TW-C26"


def test_too_large_ones_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "big.png").open("wb") as file:
        file.write(picture())
        file.truncate(2**30)
    with pytest.raises(UsageError) as error:
        read(references("@big.png", tmp_path))
    assert error.value.code == "TW-C27"
    (tmp_path / "a.png").write_bytes(picture())
    (tmp_path / "b.png").write_bytes(picture("PNG", (31, 20)))
    monkeypatch.setattr(images, "LARGEST", 200)
    with pytest.raises(UsageError) as error:
        read(references("@a.png @b.png", tmp_path))
    assert error.value.code == "TW-C27"


def test_the_question_has_a_reference_that_readers_see_as_a_name(tmp_path: Path) -> None:
    name = "my [holiday]\x1b photo.png"
    (tmp_path / name).write_bytes(picture())
    text = question(tmp_path, f'What is @"{name}"?')
    assert "![my holiday" in text
    assert " photo.png](file:///" in text
    assert '"PNG, 30×20, sha256:' in text
    assert shown(text).endswith(" photo.png: PNG, 30×20]")
    assert "\x1b" not in shown(text).split("\n\n")[-1]
    assert str(tmp_path) not in without(text)
    assert without("![a](b.png) sha256: x") == "![a](b.png) sha256: x"
    assert Conversation().with_message("user", text).title.startswith("What is my [holiday]")


async def test_it_is_sent_in_parts_and_again_with_the_next_question(tmp_path: Path, fake: FakeOpenAI) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    talk = Conversation().with_message("user", question(tmp_path, "What is @a.png?"))
    await answered(at(fake.url), talk)
    (message,) = fake.asked[0]["messages"]
    first, image = message["content"]
    assert first == {"type": "text", "text": "What is a.png?\n\na.png:"}
    assert decoded(image["image_url"]["url"]).size == (30, 20)
    assert str(tmp_path) not in str(fake.asked)
    again = talk.with_message("assistant", talk.messages[0].content).with_message("user", "And now?")
    (tmp_path / "a.png").unlink()  # it is still known
    await answered(at(fake.url), again)
    sent = fake.asked[1]["messages"]
    assert sent[0] == message
    assert isinstance(sent[1]["content"], str)  # an answer has no images
    assert sent[2]["content"] == "And now?"


@pytest.mark.parametrize("change", ["deleted", "changed", "a pipe"])
async def test_a_file_that_is_gone_is_named_and_not_sent(tmp_path: Path, fake: FakeOpenAI, change: str) -> None:
    import os

    path = tmp_path / "a.png"
    path.write_bytes(picture())
    talk = Conversation().with_message("user", question(tmp_path, "What is @a.png?"))
    images._known.clear()  # as after a restart
    path.unlink()
    if change == "changed":
        path.write_bytes(picture("PNG", (9, 9)))
    elif change == "a pipe":
        os.mkfifo(path)
    chunks = await answered(at(fake.url), talk)
    assert "deleted or changed, or cannot be read: a.png" in str(chunks[0].note)
    (message,) = fake.asked[0]["messages"]
    assert message["content"] == "What is a.png?\n\na.png:\n\n[image: a.png]"


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "At most 0 image(s) may be provided in one prompt."),
        (400, "m is not a multimodal model"),
        (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
        (400, "this model reads text only: every part of a message must be a text"),
    ],
)
async def test_a_server_that_refuses_it_is_quoted(tmp_path: Path, fake: FakeOpenAI, status: int, text: str) -> None:
    import json

    (tmp_path / "a.png").write_bytes(picture())
    fake.status, fake.body = status, json.dumps({"error": {"message": text}}).encode()
    talk = Conversation().with_message("user", question(tmp_path, "What is @a.png?"))
    with pytest.raises(UsageError) as error:
        await answered(at(fake.url), talk)
    assert (error.value.code, text in error.value.what) == ("TW-C32", True)
    with pytest.raises(ServerError) as other:  # without an image it is another error
        await answered(at(fake.url))
    assert other.value.code == "TW-C04"


def test_a_model_on_triton_refuses_new_ones_and_reads_the_names_of_old_ones(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    with pytest.raises(UsageError) as error:
        read(references("@a.png", tmp_path), SERVED)
    assert error.value.code == "TW-C32"
    assert "vLLM" in error.value.todo
    talk = Conversation().with_message("user", question(tmp_path, "What is @a.png?"))
    prompt = render(talk.with_message("assistant", "A flag.").with_message("user", "Why?"), SERVED)
    assert "a.png:\n\n[image: a.png]<|im_end|>" in prompt


def test_without_the_extra_the_command_that_installs_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "find_spec", lambda _: None)
    with pytest.raises(UsageError) as error:
        images.read("a", picture())
    assert (error.value.code, "triton-wizard[images]" in error.value.todo) == ("TW-C30", True)
