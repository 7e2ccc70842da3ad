from __future__ import annotations

from pathlib import Path

import pytest

from wizard.kernel import settings
from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.settings import Settings, change, load


def write(text: str | bytes) -> Path:
    path = settings.path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_without_a_file_there_are_the_defaults() -> None:
    assert load() == Settings()
    assert not settings.path().exists()


def test_the_file_lies_where_xdg_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert settings.path().parent.parent.name == "config"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert settings.path() == tmp_path / ".config" / "triton-wizard" / "settings.toml"


def test_what_is_changed_is_read_again_and_the_rest_stays() -> None:
    change(theme='odd "name"\x7f', keys={"machine.look": "l,ctrl+l"})
    changed, aside = change(language="ko", explain=True, keep_chats=False)
    assert aside is None
    assert changed == load() == Settings("ko", 'odd "name"\x7f', {"machine.look": "l,ctrl+l"}, True, False)
    assert [each.name for each in settings.path().parent.iterdir()] == ["settings.toml"]
    change(language=None)
    assert load().language is None


def test_ids_may_be_written_with_and_without_quotes() -> None:
    write('[keys]\nmachine.look = "l"\n"build.stop" = "s"\n')
    assert load().keys == {"machine.look": "l", "build.stop": "s"}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("x = 1\ntheme = ?", "line 2"),
        (b"theme = '\xff'", "UTF-8"),
        ("a = " + "[" * 20_000, ""),
        ("themes = 'x'", "themes"),
        ("theme = 3", "theme"),
        ("explain = 1", "explain"),
        ("language = 'xx'", "xx"),
        ("language = true", "language"),
        ("keys = 'x'", "keys must be a table"),
        ("[keys]\nbuild.stop = 3", "keys.build.stop must be a string, not 3"),
    ],
)
def test_a_damaged_file_is_an_error_and_is_kept_when_something_is_changed(text: str | bytes, word: str) -> None:
    path = write(text)
    before = path.read_bytes()
    for number in (1, 2):
        with pytest.raises(UsageError) as caught:
            load()
        assert caught.value.code == "TW-K06"
        assert str(path) in caught.value.what
        assert word in caught.value.what
        changed, aside = change(explain=True)
        assert changed == load() == Settings(explain=True)
        assert aside == path.with_suffix(".damaged" if number == 1 else ".damaged-2")
        assert aside.read_bytes() == before
        write(text)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("explain = true\n")
    path = settings.path()
    path.parent.mkdir(parents=True)
    path.symlink_to(real)
    change(theme="nord")
    assert path.is_symlink()
    assert "nord" in real.read_text()
    assert load().explain


def test_a_folder_that_cannot_be_written_is_an_error_and_nothing_is_left_behind() -> None:
    blocked = settings.path().parent
    blocked.parent.mkdir(parents=True, exist_ok=True)
    blocked.write_text("a file where a folder should be")
    with pytest.raises(WorkspaceError) as caught:
        change(explain=True)
    assert caught.value.code == "TW-K07"
    assert blocked.read_text() == "a file where a folder should be"
