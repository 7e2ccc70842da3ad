"""`bundle` and `workshop` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_cli import wizard
from tests.workshop.world import World
from wizard.cli import main
from wizard.workshop.bundle import WHEELS


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as status:
        main(list(words))
    return int(status.value.code or 0)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch).downloaded()


def test_bundle_verify_install(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(world.folder)
    assert run("bundle", "--out", out, "--python", "3.11", "--yes") == 0
    made = capsys.readouterr()
    assert made.out.startswith(f"{out}: ")
    assert "llamacpp, Python 3.11 (x86_64): complete" in made.err
    assert f"Seats without a wizard: python3 {out}/install.py" in made.err
    assert run("bundle", "verify", out) == 0
    assert "problems: 0\nbundle.json: sha256 " in capsys.readouterr().out
    assert run("bundle", "install", out, "--to", "class", "--json") == 0
    assert json.loads(capsys.readouterr().out)["folder"] == out
    (Path("class") / "notebooks" / "lab.ipynb").write_text("mine")
    assert run("bundle", "install", out, "--to", "class") == 0, "without a terminal nothing is asked or replaced"
    assert "Kept yours: " in capsys.readouterr().out
    (world.folder / WHEELS / world.any.name).write_bytes(b"")
    assert run("bundle", "verify", out) == 2
    assert f"changed: wheels/{world.any.name}" in capsys.readouterr().out
    assert run("bundle", "install", out) == 2
    assert "TW-B11" in capsys.readouterr().err


def test_a_seat_has_joined_when_its_bundle_is_installed(
    world: World, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "share").mkdir()
    assert run("bundle", "--out", str(world.folder), "--python", "3.11", "--yes") == 0
    monkeypatch.setenv("TRITON_WIZARD_WORKSHOP", f"{tmp_path / 'share'}/")
    monkeypatch.setenv("TRITON_WIZARD_SEAT", "4")
    assert run("bundle", "install", str(world.folder), "--to", str(tmp_path / "class")) == 0
    (world.folder / WHEELS / world.any.name).write_bytes(b"")
    monkeypatch.setenv("TRITON_WIZARD_SEAT", "5")
    assert run("bundle", "install", str(world.folder), "--to", str(tmp_path / "class")) == 2
    capsys.readouterr()
    assert run("workshop", "status", str(tmp_path / "share")) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1][:3] == ["seat-4", "join", "done"]
    assert lines[2][:4] == ["seat-5", "join", "failed", "TW-B11"]


def test_ctrl_c_keeps_what_is_complete(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: Path) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr("wizard.workshop.packages.own_wheel", interrupted)
    assert run("bundle", "--out", str(world.folder), "--python", "3.11", "--yes") == 130
    assert "Run the same command to continue." in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        "bundle",
        "bundle verify",
        "bundle install",
        "bundle verify x --out y",
        "bundle --out x --stack nothing",
        "bundle --out x --python three",
        "bundle --out x --python 2.7",
        "bundle --out x --notebooks nowhere",
    ],
)
def test_wrong_words_are_explained(words: str) -> None:
    done = wizard(*words.split())
    assert done.returncode == 2
    assert "TW-B09" in done.stderr


@pytest.mark.parametrize("words", ["workshop status", "workshop join"])
def test_a_workshop_needs_its_folder(words: str) -> None:
    done = wizard(*words.split())
    assert done.returncode == 2
    assert "TW-B15" in done.stderr


def test_the_download_needs_a_confirmation(tmp_path: Path) -> None:
    done = wizard("bundle", "--out", str(tmp_path / "class"))
    assert done.returncode == 2
    assert "TW-U03" in done.stderr
    assert "up to " in done.stderr


def test_a_seat_that_leaves_hears_of_the_variable_that_makes_it_report_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("workshop", "join", str(tmp_path)) == 0
    assert run("workshop", "leave") == 0
    assert "Unset" not in capsys.readouterr().err
    monkeypatch.setenv("TRITON_WIZARD_WORKSHOP", f"{tmp_path}/")
    assert run("workshop", "leave") == 0
    assert "Unset TRITON_WIZARD_WORKSHOP, too" in capsys.readouterr().err


def test_workshop_status(tmp_path: Path) -> None:
    assert wizard("workshop", "status", str(tmp_path)).stdout.startswith("No seat has joined yet.")
    joined = wizard("workshop", "join", str(tmp_path), "--name", "Anna")
    assert "Seat Anna reports its stage, time and error codes in " in joined.stderr
    wizard("model", "nothing/there", "--offline")
    (tmp_path / "notes.txt").touch()
    rows = [line.split() for line in wizard("workshop", "status", str(tmp_path)).stdout.splitlines()]
    assert rows[0] == ["Seat", "Stage", "State", "Code", "Since"]
    assert rows[1][:4] == ["Anna", "model", "failed", "TW-M15"]
    assert rows[2] == ["1", "seat:", "1", "failed"]
    assert rows[3] == ["Not", "a", "seat's", "file", "(1):", "notes.txt"]
    data = json.loads(wizard("workshop", "status", str(tmp_path), "--json").stdout)
    assert data["seats"][0]["progress"]["code"] == "TW-M15"
    assert "no longer reports" in wizard("workshop", "leave").stderr
    assert "did not report" in wizard("workshop", "leave").stderr
