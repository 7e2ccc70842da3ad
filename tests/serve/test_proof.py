"""What `status` and the last screen say of the served files."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.values import GGUF, plan_of
from wizard.cli import main
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_document
from wizard.model import verify
from wizard.plan.fetch import fetch
from wizard.plan.ports import Ports
from wizard.serve import find, proof
from wizard.serve.endpoint import Endpoint


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with a server whose plan was run: its file is linked and hashed."""
    workspace = Workspace(tmp_path / "w")
    file = tmp_path / "demo.gguf"
    file.write_bytes(b"GGUF" * 1000)
    fetched = fetch(replace(GGUF, location=str(file)), workspace)
    fetched.path.parent.mkdir(parents=True)
    fetched.path.symlink_to(file)
    verify.verify(fetched.path.parent, [file.name], None, None, cached=False)
    server = workspace.server("test")
    server.root.mkdir(parents=True)
    server.plan.write_text(to_document(plan_of(workspace.root, fetched.step)))
    return workspace


def command(workspace: Workspace, *words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["--workspace", str(workspace.root), *words])
    return int(ended.value.code or 0)


def test_it_says_what_is_known(workspace: Workspace) -> None:
    server = workspace.server("test")
    assert proof.proof(server) == "hash of 1 local file recorded"
    (workspace.root.parent / "demo.gguf").write_bytes(b"GGUF")
    assert "demo.gguf has changed since it was checked: run" in proof.proof(server)
    assert proof.proof(workspace.server("other")) == ""


def test_a_container_has_its_image(workspace: Workspace) -> None:
    server = workspace.server("test")
    digest = f"sha256:{64 * 'a'}"
    endpoint = Endpoint("test", "test", "127.0.0.1", Ports(), 1, "", "", image="a/b:1", image_id=f"sha256:{64 * 'b'}")
    find.write(server, endpoint)
    assert proof.proof(server).endswith("; local image a/b:1, ID sha256:bbbbbbbbbbbb")
    find.write(server, replace(endpoint, image=f"a/b:1@{digest}"))
    assert proof.proof(server).endswith("; image a/b:1 at digest sha256:aaaaaaaaaaaa")


def test_status_reads_all_files_if_asked(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    file = workspace.root.parent / "demo.gguf"
    assert command(workspace, "status", "--verify", "--json") == 0
    assert '"proof": "hash of 1 local file recorded"' in capsys.readouterr().out
    stat = file.stat()
    file.write_bytes(b"GGUX" * 1000)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert command(workspace, "status") == 0  # size, date and inode are the same
    assert command(workspace, "status", "--verify") == 4
    assert "TW-M60" in capsys.readouterr().err
