from __future__ import annotations

from pathlib import Path

import pytest

from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.paths import Workspace
from wizard.run import clean
from wizard.serve import find
from wizard.serve.endpoint import Endpoint


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path / "w")
    mine = tmp_path / "my.gguf"
    mine.write_bytes(b"x" * 1000)
    (workspace.models / "my").mkdir(parents=True)
    (workspace.models / "my" / "my.gguf").symlink_to(mine)
    (workspace.environments / "llamacpp-1").mkdir(parents=True)
    (workspace.environments / "llamacpp-1" / "file").write_bytes(b"y" * 10)
    workspace.server("demo").logs.mkdir(parents=True)
    return workspace


def test_everything_is_listed_with_its_own_size(workspace: Workspace) -> None:
    found = [(item.kind, item.name, item.bytes) for item in clean.items(workspace)]
    assert found == [("server", "demo", 0), ("environment", "llamacpp-1", 10), ("model", "my", 0)]


def test_what_is_listed_is_removed_and_the_users_own_file_stays(workspace: Workspace, tmp_path: Path) -> None:
    clean.remove(workspace, clean.items(workspace))
    assert clean.items(workspace) == []
    assert (tmp_path / "my.gguf").stat().st_size == 1000


def test_nothing_is_removed_while_a_server_runs(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    from wizard.kernel import proctable
    from wizard.plan.plan import Ports

    me = proctable.read(os.getpid())
    assert me is not None
    find.write(workspace.server("demo"), Endpoint("demo", "demo", "127.0.0.1", Ports(), me.pid, me.started, ""))
    with pytest.raises(UsageError) as caught:
        clean.remove(workspace, clean.items(workspace))
    assert caught.value.code == "TW-R05"
    assert len(clean.items(workspace)) == 3


def test_what_cannot_be_removed_is_said(workspace: Workspace) -> None:
    item = clean.Item("model", "x", "/proc/1/status", 0)
    with pytest.raises(WorkspaceError) as caught:
        clean.remove(workspace, [item])
    assert caught.value.code == "TW-R06"
