"""Every test runs in a home, a working directory and an environment of its own."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.probe.fake_driver import FakeDriver
from wizard.catalog.profiles import user_folder
from wizard.kernel import language

KEEP = {
    "PATH",
    "TMPDIR",
    "VIRTUAL_ENV",
    "PYTEST_XDIST_WORKER",
    "PYTEST_CURRENT_TEST",
    "TEXTUAL_SNAPSHOT_TEMPDIR",
}
KEEP_PREFIXES = ("PIP_", "UV_", "SSL_", "REQUESTS_", "PYTEST_", "COV_", "PYENV_", "GRPC_")
COUNT = itertools.count()
AGAIN = {"e2e", "prompts", "tui"}
"""Folders of tests that wait for what is not ours: servers, container engines, browsers, terminals, screens at rest."""
# A deadline measures the machine, not the code; our fixtures are the same for every example.
settings.register_profile(
    "ci",
    deadline=None,
    max_examples=60,  # others in every run; `--hypothesis-profile=thorough` takes more
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("thorough", settings.get_profile("ci"), max_examples=1000)
settings.register_profile("mutation", settings.get_profile("ci"), derandomize=True, max_examples=25)
settings.load_profile("ci")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background: the programs of the tests inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # started with nohup, which builds would obey
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"  # a program in a pty is forked: grpc's own handlers would end it at times


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let a test of `AGAIN` run once more after a failure, three in a whole run (``--max-suite-reruns``), and say so.

    Triton 2.51.0 and its stubs abort by themselves now and then (see `tests.processes`). The report shows how every
    first try ended; ``--fail-on-flaky`` takes no second one for a pass; a debugger gets the first.
    """
    if not config.option.usepdb:
        for item in items:
            if item.get_closest_marker("e2e") or AGAIN & {*item.nodeid.split("/")}:
                item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_collection() -> None:
    """Looking for garbage took 1 s of 5 s while ten thousand tests were collected."""
    gc.disable()


def pytest_collection_finish() -> None:
    """The modules and the tests themselves stay: what looks for garbage from now on passes them over."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all the tests' homes."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def isolated(homes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty HOME, XDG folders and cwd; only the variables that tools need to find the package index survive."""
    # Not one by one in pytest's own folder, which `mktemp` and `tmp_path` list to find the next free number
    home = homes / str(next(COUNT))
    home.mkdir()
    for name in list(os.environ):
        if name not in KEEP and not name.startswith(KEEP_PREFIXES):
            monkeypatch.delenv(name)
    for name in ("COLUMNS", "LINES"):  # readline sets them for all children of a process in which it is imported
        os.unsetenv(name)
    monkeypatch.setenv("HOME", str(home))
    for variable, folder in (
        ("XDG_DATA_HOME", "data"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_STATE_HOME", "state"),
    ):
        monkeypatch.setenv(variable, str(home / folder))
    monkeypatch.setenv("TRITON_WIZARD_HOME", str(home / "workspace"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # the discard port: nothing listens there
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("LANG", "C.UTF-8")
    language.use("en")
    cwd = home / "cwd"
    cwd.mkdir()
    monkeypatch.chdir(cwd)
    return home


@pytest.fixture
def driver(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """A place for an NVIDIA driver; there is none before the test says what it says."""
    return FakeDriver(tmp_path_factory.mktemp("driver"), monkeypatch)


@pytest.fixture
def roomy_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk with room for NVIDIA's images, which plans name and the tests never pull."""
    real = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: real(folder)._replace(free=10**12))


@pytest.fixture
def no_local_servers(isolated: Path) -> None:
    """The wizard looks for no servers of other programs: those of other tests run on the usual ports."""
    table = user_folder() / "local_servers.toml"
    table.parent.mkdir(parents=True)
    table.write_text("servers = []\n")
