from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wizard.kernel import lock, paths
from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.lock import writing
from wizard.kernel.paths import Workspace, server_name, suggest_name


@pytest.mark.parametrize("name", ["", ";rm -rf ~", "../x", "a/b", "a\nb", "'", "${x}", "A", "-a", "a..b", "x" * 64])
def test_odd_server_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        server_name(name)
    assert caught.value.code == "TW-U01"


@given(st.text(max_size=200))
def test_a_suggested_name_is_always_usable(text: str) -> None:
    assert server_name(suggest_name(text))


@pytest.mark.parametrize(
    ("ref", "name"),
    [("HuggingFaceTB/SmolLM2-360M-Instruct-GGUF", "smollm2-360m-instruct-gguf"), ("./my model.gguf", "my-model")],
)
def test_a_suggested_name_can_be_recognised(ref: str, name: str) -> None:
    assert suggest_name(ref) == name


def test_the_default_workspace_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRITON_WIZARD_HOME", str(tmp_path / "mine"))
    assert Workspace.at(None).root == tmp_path / "mine"
    monkeypatch.delenv("TRITON_WIZARD_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert Workspace.at(None).root == tmp_path / "data" / "triton-wizard"
    monkeypatch.setenv("XDG_DATA_HOME", "relative/is/ignored")
    assert Workspace.at(None).root == Path.home() / ".local" / "share" / "triton-wizard"


@pytest.mark.parametrize("home", ["a b", "it's", "a:b"])
def test_a_home_that_triton_cannot_be_given_has_its_workspace_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str
) -> None:
    monkeypatch.delenv("TRITON_WIZARD_HOME", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / home))
    assert Workspace.at(None).root == Path(f"/var/tmp/triton-wizard-{os.getuid()}")


def test_a_workspace_that_another_user_has_made_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is noted in it would be run."""
    monkeypatch.delenv("TRITON_WIZARD_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "a b"))
    monkeypatch.setattr(paths, "SHARED", tmp_path)
    (tmp_path / f"triton-wizard-{os.getuid()}").mkdir()
    assert Workspace.at(None).root.parent == tmp_path
    mine = os.getuid()
    (tmp_path / f"triton-wizard-{mine + 1}").mkdir()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    with pytest.raises(WorkspaceError, match="belongs to another user") as caught:
        Workspace.at(None)
    assert caught.value.code == "TW-K03"


def test_a_workspace_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(WorkspaceError) as caught:
        Workspace.at(tmp_path / "file" / "workspace").make()
    assert caught.value.code == "TW-K03"


def test_the_second_writer_gets_an_error_that_names_the_first(tmp_path: Path) -> None:
    workspace = Workspace.at(tmp_path)
    with writing(workspace), pytest.raises(WorkspaceError, match=str(os.getpid())) as caught, writing(workspace):
        pass
    assert caught.value.code == "TW-K04"
    workspace.lock.write_text("1\n")  # as if the holder had not written its own yet
    with writing(workspace):
        workspace.lock.write_text("1\n")
        with pytest.raises(WorkspaceError, match=rf"process {os.getpid()}\b"), writing(workspace):
            pass
    with writing(workspace):  # and it is free again afterwards
        pass


def test_a_writer_that_cannot_be_named_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another name space, before it has written its pid."""
    workspace = Workspace.at(tmp_path)
    monkeypatch.setattr(lock, "_holder", lambda _: "")
    with writing(workspace), pytest.raises(WorkspaceError) as caught, writing(workspace):
        pass
    assert caught.value.code == "TW-K04"
    assert caught.value.what == f"another wizard is using {tmp_path}"


def test_a_full_disk_is_an_error_but_the_workspace_can_still_be_locked(tmp_path: Path) -> None:
    workspace, probe = Workspace.at(tmp_path), tmp_path / f".write-test-{os.getpid()}"
    for path in (workspace.lock, probe):
        path.symlink_to("/dev/full")  # every write to it fails as on a full disk
    with writing(workspace):  # to stop a server, to remove things
        held = workspace.lock.is_char_device()
    assert held
    with pytest.raises(WorkspaceError, match="No space left") as caught:
        workspace.make()
    assert caught.value.code == "TW-K03"
    assert not probe.is_symlink()


def test_one_folder_is_one_workspace_however_it_is_spelled(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    spelled = {
        Workspace.at(tmp_path / "link"),
        Workspace.at(tmp_path / "x" / ".." / "real"),
        Workspace.at(tmp_path / "real"),
    }
    assert len(spelled) == 1


def test_a_path_that_is_not_text_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        Workspace.at(os.fsdecode(b"/tmp/\xff"))
    assert caught.value.code == "TW-K05"


def test_a_folder_that_cannot_be_locked_says_so(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    with pytest.raises(WorkspaceError) as caught, writing(Workspace.at(tmp_path)):
        pass
    assert caught.value.code == "TW-K03"
