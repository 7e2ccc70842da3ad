"""`up --gateway-host`: checked before anything starts; the key is shown once, and only on the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from wizard.cli import parser
from wizard.cli.exposure import exposure_of, from_elsewhere
from wizard.kernel.errors import UsageError
from wizard.kernel.paths import Workspace
from wizard.serve.exposure import Exposure


def given(*options: str, workspace: Path) -> Exposure | None:
    return exposure_of(parser().parse_args(["up", "demo", *options]), Workspace(workspace))


def test_nothing_given_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert given(workspace=tmp_path) is None
    assert [*tmp_path.iterdir()] == []
    assert capsys.readouterr() == ("", "")


def test_a_key_is_shown_once_with_the_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exposure = given("--gateway-host", "0.0.0.0", workspace=tmp_path)
    assert exposure == Exposure("0.0.0.0")
    output, errors = capsys.readouterr()
    key = (tmp_path / "gateway" / "key").read_text().strip()
    assert output == ""  # standard output is data
    assert key in errors
    assert "Warning: other machines that reach this one" in errors
    assert "not encrypted" in errors
    given("--gateway-host", "0.0.0.0", workspace=tmp_path)
    errors = capsys.readouterr().err
    assert key not in errors
    assert "Warning" in errors
    assert str(tmp_path / "gateway" / "key") in errors


def test_on_this_machine_no_key_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    origins = ("https://a.example", "http://localhost:3000")
    options = [word for origin in origins for word in ("--cors-origin", origin)]
    assert given(*options, workspace=tmp_path) == Exposure(cors_origins=origins)
    assert [*tmp_path.iterdir()] == []
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--gateway-host", "example.org"), "TW-S13"),
        (("--tls-cert", "none.pem"), "TW-S14"),
        (("--tls-cert", "none.pem", "--tls-key", "none.pem"), "TW-S14"),
        (("--cors-origin", "*"), "TW-S15"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_made(tmp_path: Path, options: tuple[str, ...], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        given(*options, workspace=tmp_path)
    assert caught.value.code == code
    assert [*tmp_path.iterdir()] == []


def test_a_damaged_key_is_said(tmp_path: Path) -> None:
    (tmp_path / "gateway").mkdir()
    (tmp_path / "gateway" / "key").write_text("a key\nin two lines")
    with pytest.raises(UsageError, match="TW-S16"):
        given("--gateway-host", "0.0.0.0", workspace=tmp_path)


def test_the_address_for_other_machines_has_their_name_for_this_one() -> None:
    url = from_elsewhere(Exposure("0.0.0.0"), "https://127.0.0.1:9000/v1")
    assert url.startswith("https://")
    assert url.endswith(":9000/v1")
    assert "127.0.0.1" not in url
    assert from_elsewhere(Exposure(), "http://127.0.0.1:9000/v1") == from_elsewhere(None, "") == ""
