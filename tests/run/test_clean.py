from __future__ import annotations

import mmap
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.values import plan_of
from wizard.kernel import proctable
from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_json
from wizard.plan.plan import Command, Done, Estimate, Plan, Start, Step
from wizard.plan.ports import Ports
from wizard.plan.runtimes.docker import Docker, mark
from wizard.run import clean
from wizard.serve import care, find, leftovers
from wizard.serve.care import Care
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


@pytest.fixture(autouse=True)
def shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In the place of the machine's, in which other servers may have left something."""
    folder = tmp_path / "shm"
    folder.mkdir()
    monkeypatch.setattr(leftovers, "SHARED_MEMORY", folder)
    return folder


def test_everything_is_listed_with_its_own_size(workspace: Workspace) -> None:
    listed = [(item.kind, item.name, item.bytes) for item in clean.items(workspace)]
    assert listed == [("server", "demo", 0), ("environment", "llamacpp-1", 10), ("model", "my", 0)]


def test_what_is_listed_is_removed_and_the_users_own_file_stays(workspace: Workspace, tmp_path: Path) -> None:
    clean.remove(workspace, clean.items(workspace))
    assert clean.items(workspace) == []
    assert (tmp_path / "my.gguf").stat().st_size == 1000


def test_files_count_and_links_do_not(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.environments / "llamacpp-1" / "lib").mkdir()
    (workspace.environments / "llamacpp-1" / "lib" / "more").write_bytes(b"z" * 7)
    (workspace.models / "link").symlink_to(tmp_path / "my.gguf")
    (workspace.models / "part").write_bytes(b"p" * 3)
    sizes = {item.name: item.bytes for item in clean.items(workspace)}
    assert sizes == {"demo": 0, "llamacpp-1": 17, "link": 0, "my": 0, "part": 3}
    assert clean.items(Workspace(tmp_path / "none")) == []


def test_files_and_links_to_folders_are_removed_and_what_is_gone_is_no_error(
    workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (workspace.models / "link").symlink_to(tmp_path / "mine")
    (workspace.models / "part").touch()
    items = clean.items(workspace)
    (workspace.environments / "llamacpp-1").rename(tmp_path / "moved")
    clean.remove(workspace, items)
    assert clean.items(workspace) == []
    assert (tmp_path / "mine").is_dir()


def test_nothing_is_removed_while_a_server_runs(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    me = proctable.read(os.getpid())
    assert me is not None
    (workspace.servers / "second").mkdir()
    for name in ("demo", "second"):
        find.write(workspace.server(name), Endpoint(name, name, "127.0.0.1", Ports(), me.pid, me.started, ""))
    items = clean.items(workspace)
    with pytest.raises(UsageError, match="still running: demo, second") as caught:
        clean.remove(workspace, items)
    assert caught.value.code == "TW-R05"
    assert "`triton-wizard down demo`" in caught.value.todo
    assert clean.items(workspace) == items


def native(workspace: Workspace, name: str) -> Plan:
    """A server in no container, after a command."""
    actions = (Command(("true",)), Start(("tritonserver",), (), Ports(), "m"))
    return plan_of(workspace.root, Step("start", "Start", "For a test.", actions, Done(), Estimate(1)), name=name)


@pytest.fixture
def contained(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A server in a container, and a docker, played by a script, that has one container of it left, and its image."""
    server = workspace.server("demo")
    runtime = Docker(workspace, server, "registry/image:1")
    start = Step("start", "Start", "For a test.", (runtime.start("m", Ports(), "made"),), Done(), Estimate(1))
    server.plan.write_text(to_json(plan_of(workspace.root, start, name="demo")))
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "docker"
    script.write_text(DOCKER.format(folder=tmp_path, mark=mark(server)))
    script.chmod(0o755)
    (tmp_path / "left").touch()
    for name, text in (("a-damaged", "{"), ("b-native", to_json(native(workspace, "b-native")))):
        workspace.server(name).root.mkdir()
        workspace.server(name).plan.write_text(text)
    (workspace.servers / "c-unplanned").mkdir()
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    return workspace


DOCKER = """#!/bin/sh
case "$1 $2" in
  "ps --all") [ "$4" = --filter=label=triton-wizard.server={mark} ] && [ -e {folder}/left ] && echo left-over;;
  "rm --force") [ -e {folder}/refuses ] && echo "Error: the daemon refuses" >&2 && exit 1; rm {folder}/left;;
  "image inspect") [ "$5" = registry/image:1 ] && echo 12000;;
esac
"""


def test_containers_that_were_left_go_before_the_files_that_they_use(contained: Workspace, tmp_path: Path) -> None:
    items = clean.items(contained)
    assert items[-1] == clean.Item("container", "left-over", "", 0, ("docker", "rm", "--force", "left-over"))
    (tmp_path / "refuses").touch()
    with pytest.raises(WorkspaceError, match="the daemon refuses") as caught:
        clean.remove(contained, items)
    assert caught.value.code == "TW-R06"
    assert clean.items(contained) == items
    (tmp_path / "refuses").unlink()
    clean.remove(contained, items)
    assert clean.items(contained) == []


def test_images_are_named_with_what_removes_them(contained: Workspace) -> None:
    assert clean.images(contained) == [
        clean.Image("registry/image:1", 12000, ("docker", "image", "rm", "registry/image:1"))
    ]


def test_an_engine_that_is_gone_has_nothing(contained: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert clean.images(contained) == []
    assert {item.kind for item in clean.items(contained)} == {"server", "environment", "model"}


def test_an_item_that_cannot_be_removed_is_reported(workspace: Workspace) -> None:
    item = clean.Item("model", "x", "/proc/1/status", 0)
    with pytest.raises(WorkspaceError) as caught:
        clean.remove(workspace, [item])
    assert caught.value.code == "TW-R06"


def test_records_go_too_and_conversations_and_the_users_own_files_stay(workspace: Workspace) -> None:
    for path in (workspace.journal, workspace.cpu_rates, workspace.root / "mine.txt"):
        path.write_text("12345")
    for folder in (workspace.gateway.root, workspace.chats):
        folder.mkdir()
        (folder / "file").write_bytes(b"123")
    listed = {(item.kind, item.name, item.bytes) for item in clean.items(workspace)}
    assert listed >= {
        ("record", "journal.jsonl", 5),
        ("record", "cpu.json", 5),
        ("record", "gateway", 3),
    }
    clean.remove(workspace, clean.items(workspace))
    assert clean.items(workspace) == []
    assert (workspace.root / "mine.txt").exists()
    assert (workspace.chats / "file").exists()


def test_processes_that_were_left_are_listed_and_ended(workspace: Workspace) -> None:
    """Of a server without a note, and of one whose folder is gone; not those of another workspace."""
    with ExitStack() as stack:
        left = [stack.enter_context(sleeping(workspace, name)) for name in ("demo", "vanished")]
        other = stack.enter_context(sleeping(Workspace(workspace.root.with_name("other")), "demo"))
        items = [item for item in clean.items(workspace) if item.kind == "process"]
        expected = {("demo", left[0].pid), ("vanished", left[1].pid)}
        assert {(item.name.split()[0], int(item.remove[-1].lstrip("-"))) for item in items} == expected
        clean.remove(workspace, clean.items(workspace))
        assert [process.wait() for process in left] == [-signal.SIGKILL] * 2
        assert other.poll() is None
    clean.remove(workspace, items)  # it has ended meanwhile


@contextmanager
def sleeping(workspace: Workspace, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is marked as a server is."""
    env = {**os.environ, proctable.SERVER_MARK: str(workspace.server(name).root)}
    with subprocess.Popen(["cat"], env=env, stdin=subprocess.PIPE, start_new_session=True) as cat:
        while proctable.environment(cat.pid).get(proctable.SERVER_MARK) is None:
            pass  # it has no environment while it becomes another program
        yield cat
        cat.kill()


def test_shared_memory_that_no_process_uses_is_removed(
    workspace: Workspace, shared_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, used, foreign = (shared_memory / name for name in ("triton_wizard_1_a", "triton_wizard_2_b", "others_c"))
    for path in (old, used, foreign):
        path.write_bytes(b"x" * 4096)
    assert leftovers.shared_memory() == [], "a server may be starting"
    monkeypatch.setattr(leftovers, "NEW_S", -1.0)
    with used.open("r+b") as file, mmap.mmap(file.fileno(), 0):
        assert leftovers.shared_memory() == [old]
        items = [item for item in clean.items(workspace) if item.kind == "memory"]
        assert items == [clean.Item("memory", old.name, str(old), 4096)]
        clean.remove(workspace, items)
    assert sorted(path.name for path in shared_memory.iterdir()) == [foreign.name, used.name]
    leftovers.remove_shared_memory()
    assert not used.exists()


def test_nothing_is_removed_while_a_server_is_being_restarted(workspace: Workspace) -> None:
    me = proctable.read(os.getpid())
    assert me is not None
    care.write(workspace.server("demo"), Care(me.pid, me.started, state="restarting"))
    with pytest.raises(UsageError) as caught:
        clean.remove(workspace, clean.items(workspace))
    assert caught.value.code == "TW-R05"
