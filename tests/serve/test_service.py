"""A server that starts with the machine: the unit, and what systemd is told, by a stand-in for its programs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plan.golden import compared
from tests.probe.programs import script
from wizard.cli import main
from wizard.kernel.errors import HostError, UsageError
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.serve import service

FAKE_SYSTEMCTL = """
echo "$@" >> "$0.log"
case "$*" in
  "--user show-environment") echo HOME=/root;;
  "--user daemon-reload") ;;
  "--user enable "*) touch "$0.enabled";;
  "--user disable "*) rm "$0.enabled";;
  "--user is-enabled "*) if test -e "$0.enabled"; then echo enabled; else echo disabled; exit 1; fi;;
  *) exit 64;;
esac
"""
"""As systemctl of systemd 252 answers (its manual; ``is-enabled`` fails for a disabled unit)."""
NO_BUS = 'echo "Failed to connect to bus: No medium found" >&2; exit 1'
"""Of systemd 252 in a container."""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServerFolder:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    server = Workspace(tmp_path / "w").server("demo")
    server.root.mkdir(parents=True)
    server.plan.write_text("{}")
    return server


@pytest.fixture
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-in, and one for loginctl, whose user does not linger."""
    script(tmp_path / "bin" / "loginctl", "echo no")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return script(tmp_path / "bin" / "systemctl", FAKE_SYSTEMCTL)


def test_the_unit_is_as_agreed() -> None:
    server = Workspace(Path("/home/ann/.local/share/triton-wizard")).server("demo")
    compared("service", "demo", service.unit_text(server, "/home/ann/wizard env/bin/python"))


def test_it_is_tried_again_until_the_workspace_is_free_and_leaves_what_others_use() -> None:
    """Two services of a workspace: the second is refused while the first is being started (TW-R100 or TW-K04)."""
    lines = service.unit_text(Workspace(Path("/w")).server("demo"), "python").splitlines()
    assert {"StartLimitIntervalSec=0", "Restart=on-failure", "RestartSec=30", "KillMode=process"} <= set(lines)


def test_odd_paths_are_quoted_as_systemd_reads_them() -> None:
    text = service.unit_text(Workspace(Path('/a b/100%/$HOME/"x"\\y')).server("demo"), "python")
    assert r'"--workspace" "/a b/100%%/$$HOME/\"x\"\\y" "run"' in text


@pytest.mark.parametrize("folder", ["/home/ann/w", "/a b/100%/$HOME/x"])
def test_systemd_understands_the_unit(tmp_path: Path, folder: str) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    unit = tmp_path / "triton-wizard-demo.service"
    unit.write_text(service.unit_text(Workspace(Path(folder)).server("demo"), sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(unit)],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if "triton-wizard" in line]
    assert (done.returncode, ours) == (0, []), done.stderr


def test_install_look_and_remove(server: ServerFolder, systemctl: Path) -> None:
    before = service.service(server)
    unit = before.unit
    assert (before.installed, before.enabled, before.lingers) == (False, None, False)
    now = service.install(server)
    assert (now.unit, now.installed, now.enabled) == (unit, True, True)
    assert Path(now.path).read_text() == service.unit_text(server)
    assert service.install(server) == now, "again"
    assert service.remove(server)
    assert not service.remove(server)
    assert service.service(server) == before
    asked = systemctl.with_name("systemctl.log").read_text().splitlines()
    expected = ("show-environment", "daemon-reload", f"enable {unit}", f"is-enabled {unit}")
    assert asked[:4] == [f"--user {words}" for words in expected]
    assert not any("start" in words for words in asked), "nothing is started unasked"


def test_servers_of_the_same_name_have_their_own_units(
    server: ServerFolder, systemctl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    usual = Workspace(tmp_path / ".local" / "share" / "triton-wizard").server("demo")
    usual.root.mkdir(parents=True)
    usual.plan.write_text("{}")
    first, second = service.install(usual), service.install(server)
    assert first.unit == "triton-wizard-demo.service"
    assert re.fullmatch(r"triton-wizard-demo-[0-9a-f]{8}\.service", second.unit)
    assert service.remove(usual)
    assert service.service(server).installed
    assert Path(second.path).read_text() == service.unit_text(server)


def test_a_unit_is_found_and_removed_without_the_servers_folder(
    server: ServerFolder, systemctl: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    where = ["--workspace", str(server.workspace.root)]
    other = Workspace(tmp_path / "other").server("demo")
    other.root.mkdir(parents=True)
    other.plan.write_text("{}")
    for each in (server, other):
        service.install(each)
    shutil.rmtree(server.root)
    assert service.installed(server.workspace) == [server]
    assert run("service", "status", *where) == 0
    assert run("service", "status", "demo", *where) == 0
    assert run("service", "remove", "demo", "--json", *where) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["installed"] is False
    assert service.installed(server.workspace) == []
    assert run("service", "remove", "demo", *where) == 2
    assert "TW-S09" in capsys.readouterr().err
    assert service.installed(other.workspace) == [other]


def test_clean_lists_and_removes_units(
    server: ServerFolder, systemctl: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--workspace", str(server.workspace.root)]
    path = service.install(server).path
    (Path(path).parent / "triton-wizard-mine.service").write_text("[Unit]\n")
    shutil.rmtree(server.root)
    assert run("clean", *where) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if path in line)
    assert "demo" in line
    assert run("clean", "--yes", *where) == 0
    assert not Path(path).exists()
    asked = systemctl.with_name("systemctl.log").read_text().splitlines()
    assert f"--user disable {Path(path).name}" in asked


def test_without_systemd_it_says_what_to_do_instead(server: ServerFolder, systemctl: Path) -> None:
    script(systemctl, NO_BUS)
    with pytest.raises(HostError) as caught:
        service.install(server)
    assert caught.value.code == "TW-S31"
    assert "No medium found" in caught.value.what
    assert f"@reboot {Path(sys.executable).with_name('triton-wizard')}" in caught.value.todo
    assert f"run {server.plan} --yes --keep`" in caught.value.todo
    assert not service.service(server).installed
    systemctl.unlink()
    systemctl.with_name("loginctl").unlink()


def test_a_unit_that_cannot_be_enabled_is_not_left_behind(server: ServerFolder, systemctl: Path) -> None:
    script(systemctl, 'case "$*" in *enable*) echo "Access denied" >&2; exit 1;; esac')
    with pytest.raises(HostError, match="Access denied") as caught:
        service.install(server)
    assert caught.value.code == "TW-S31"
    assert not service.service(server).installed


def test_a_server_that_was_never_set_up_has_nothing_to_start(server: ServerFolder, systemctl: Path) -> None:
    server.plan.unlink()
    with pytest.raises(UsageError) as caught:
        service.install(server)
    assert caught.value.code == "TW-S32"
    assert not systemctl.with_name("systemctl.log").exists()


def run(*argv: str) -> int:
    """The exit status of a command."""
    with pytest.raises(SystemExit) as caught:
        main(argv)
    return int(caught.value.code or 0)


def test_the_command(server: ServerFolder, systemctl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--workspace", str(server.workspace.root)]
    assert run("service", "install", *where) == 0
    shown = capsys.readouterr()
    assert f"systemctl --user start {service.service(server).unit}" in shown.err
    assert "loginctl enable-linger" in shown.err
    assert run("service", "status", "demo", "--json", *where) == 0
    assert json.loads(capsys.readouterr().out)["enabled"] is True
    assert run("service", "remove", "demo", *where) == 0
    assert "a running server keeps running" in capsys.readouterr().err
    assert run("service", "remove", "demo", *where) == 0
    assert "demo has no service" in capsys.readouterr().err
    assert run("service", "status", "nobody", *where) == 2
    assert "TW-S09" in capsys.readouterr().err
