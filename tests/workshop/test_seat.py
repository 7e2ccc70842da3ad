"""A bundle is installed on a seat by the real pip, without a network; what is the user's stays."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.model.fake_hub import COMMIT, FakeHub, FakeRepo
from tests.model.gguf_bytes import LLAMA_CONFIG, safetensors, tiny
from tests.probe.programs import script
from tests.run.runs import events_of, outcomes
from tests.values import plan_of
from tests.workshop.test_bundle import made, problems
from tests.workshop.world import PYTHON, World
from wizard import journey
from wizard.catalog.environments import environment
from wizard.kernel import settings
from wizard.kernel.errors import HostError, NetworkError, UsageError, WorkspaceError
from wizard.model.cache import hub_cache
from wizard.plan.plan import Done, Estimate, Step
from wizard.plan.runtimes.venv import Venv
from wizard.probe.host import Interpreter
from wizard.workshop import images, models
from wizard.workshop.bundle import Order
from wizard.workshop.seat import Installed

HERE = "{}.{}".format(*sys.version_info[:2])
WEIGHTS = safetensors({"a": {"dtype": "BF16", "shape": [10, 7], "data_offsets": [0, 140]}})
REPO = {
    "config.json": json.dumps(LLAMA_CONFIG).encode(),
    "model.safetensors": WEIGHTS,
    "pytorch_model.bin": b"\x80\x04.",
    ".gitattributes": b"*.bin filter=lfs",
}


def keep(_: tuple[str, ...]) -> bool:
    return False


def install(world: World, to: Path) -> Installed:
    return journey.bundle_install(world.folder, to, keep)


def tree(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in sorted(folder.rglob("*"))}


def test_install_py_makes_an_environment_from_the_wheels(world: World, tmp_path: Path) -> None:
    made(world.downloaded().folder, Order((HERE,), "x86_64", ()))
    before, to = tree(world.folder), tmp_path / "a seat"
    command = [sys.executable, str(world.folder / "install.py"), "--to", str(to), "--yes"]
    for _ in range(2):  # the second time nothing is installed
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"bundle install {world.folder} --to {to} --yes\n"
    assert "Installing" not in done.stderr
    code = "import probe_any, pip; print(pip.__file__)"
    own = subprocess.run([to / "venv" / "bin" / "python", "-c", code], capture_output=True, text=True, check=True)
    assert own.stdout.startswith(str(to))
    assert tree(world.folder) == before, "the medium may be read-only"


@pytest.mark.parametrize("wrong", ["changed", "foreign", "python", "manifest", "machine"])
def test_install_py_refuses(world: World, tmp_path: Path, wrong: str) -> None:
    made(world.downloaded().folder, Order((HERE,), "x86_64", ()))
    to, status = tmp_path / "to", 3
    data = json.loads((world.folder / "bundle.json").read_text())
    if wrong == "changed":
        (world.folder / "wheels" / world.any.name).write_bytes(b"x")
    elif wrong == "foreign":
        (to / "venv").mkdir(parents=True)
        (to / "venv" / "mine").touch()
    elif wrong == "manifest":
        data["files"][0]["path"], status = "../x", 2
    else:
        data |= {"pythons": ["3.4"]} if wrong == "python" else {"machine": "s390x"}
    (world.folder / "bundle.json").write_text(json.dumps(data))
    command = [sys.executable, str(world.folder / "install.py"), "--to", str(to)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert "Setup failed: " in done.stderr
    assert "  → " in done.stderr
    assert [path.name for path in to.rglob("*")] == (["venv", "mine"] if wrong == "foreign" else [])


@pytest.mark.parametrize(
    ("python", "status", "words"),
    [
        ("echo '[Errno 28] No space left on device'; exit 1", 6, "Setup failed: No space left on device: "),
        ("echo broken; exit 1", 3, "    broken\n\nSetup failed: a command failed with status 1"),
        (None, 3, "Setup failed: there is no program "),
    ],
)
def test_install_py_names_the_cause(world: World, tmp_path: Path, python: str | None, status: int, words: str) -> None:
    """Stands for Python: what pip 26 prints on a full disk (a tmpfs of 120 MiB), another failure, a wrong path."""
    made(world.downloaded().folder, Order((HERE,), "x86_64", ()))
    path = tmp_path / "bin" / "python"
    if python:
        script(path, python)
    command = [sys.executable, str(world.folder / "install.py"), "--to", str(tmp_path / "to"), "--python", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert words in done.stderr
    assert ("Free some space" in done.stderr) == (status == 6)


async def test_a_seat_installs_servers_from_the_wheels(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.folder = tmp_path / "a class, with spaces"
    manifest = made(world.downloaded().folder)
    assert manifest.pythons == (PYTHON,)
    install(world, tmp_path / "to")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nothing"))
    python = Interpreter(sys.executable, sys.version_info[:3], None, has_venv=True, usable=True)
    venv = Venv(tmp_path / "w" / "environments", environment("llamacpp"), python)
    step = Step("environment", "Make it", "", venv.install(), Done(files=(venv.python,)), Estimate(1))
    if HERE == PYTHON:  # one of the wheels is for it
        events, error = await events_of(plan_of(tmp_path / "w", step))
        assert outcomes(events) == {"environment": "done"}, error
    shutil.rmtree(world.folder)
    gone = Venv(tmp_path / "w" / "environments", environment("llamacpp"), python).install()
    assert all(not command.env for command in gone), "without the medium the index is asked again"
    assert venv.root == Venv(tmp_path / "w" / "environments", environment("llamacpp"), python).root


def test_a_model_of_the_hub_goes_into_the_bundle_and_into_the_cache(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeHub({"org/llama": FakeRepo(dict(REPO))}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        order = Order((PYTHON,), "x86_64", (), models=("org/llama",))
        outlook = journey.bundle_outlook(order, world.downloaded().folder)
        list(journey.bundle(outlook, world.folder))
    place = world.folder / "models" / "models--org--llama"
    assert sorted(path.name for path in (place / "snapshots" / COMMIT).iterdir()) == [
        ".gitattributes",
        "config.json",
        "model.safetensors",
    ]
    assert (place / "refs" / "main").read_text() == COMMIT
    assert problems(world.folder) == []
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another home"))
    for _ in range(2):
        installed = install(world, tmp_path / "to")
    assert (installed.models, installed.kept) == (("org/llama",), ())
    assert journey.model("org/llama", offline=True).local


def test_a_download_that_fails_is_an_error_and_resumes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    order = Order((PYTHON,), "x86_64", (), models=("org/llama",))
    with FakeHub({"org/llama": FakeRepo(dict(REPO))}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        outlook = journey.bundle_outlook(order, world.downloaded().folder)
        hub.trouble = 403
        with pytest.raises(NetworkError, match="TW-B07"):
            list(journey.bundle(outlook, world.folder))
        hub.trouble = None
        list(journey.bundle(outlook, world.folder))
    assert problems(world.folder) == []


def cached(revision: str, branch: str = "main") -> None:
    repo = hub_cache() / "models--org--llama"
    folder = repo / "snapshots" / revision
    folder.mkdir(parents=True)
    for name, data in REPO.items():
        (folder / name).write_bytes(data)
    (repo / "refs").mkdir(exist_ok=True)
    (repo / "refs" / branch).write_text(revision)


def test_a_cached_model_is_copied_without_the_network(world: World) -> None:
    cached(COMMIT)
    manifest = made(world.downloaded().folder, Order((PYTHON,), "x86_64", (), models=("org/llama",)))
    names = {file.path.rpartition("/")[2] for file in manifest.files if file.path.startswith("models/")}
    assert names == {"config.json", "model.safetensors", "main"}
    assert manifest.models[0].revision == COMMIT


def test_the_users_own_revision_stays_and_is_reported(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached(COMMIT)
    made(world.downloaded().folder, Order((PYTHON,), "x86_64", (), models=("org/llama",)))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another home"))
    cached("f" * 40)
    installed = install(world, tmp_path / "to")
    main = hub_cache() / "models--org--llama" / "refs" / "main"
    assert installed.kept == (str(main),)
    assert main.read_text() == "f" * 40
    assert journey.model(f"org/llama@{COMMIT}", offline=True).local


def test_a_file_of_the_facilitator_goes_beside_the_notebooks(world: World, tmp_path: Path) -> None:
    (tmp_path / "mine.gguf").write_bytes(tiny().bytes())
    manifest = made(
        world.downloaded().folder, Order((PYTHON,), "x86_64", (), models=("demo", str(tmp_path / "mine.gguf")))
    )
    assert len(manifest.models) == 1, "the demo model comes with the wizard"
    assert str(tmp_path) not in (world.folder / "bundle.json").read_text()
    (path,) = install(world, tmp_path / "to").models
    assert path.startswith(str(tmp_path / "to" / "models"))
    assert journey.model(path).local


def test_changed_notebooks_are_kept_unless_asked(world: World, tmp_path: Path) -> None:
    made(world.downloaded().folder)
    to = tmp_path / "to"
    assert install(world, to).kept == ()
    mine = to / "notebooks" / "lab.ipynb"
    assert mine.read_bytes() == (world.folder / "notebooks" / mine.name).read_bytes()
    mine.write_text("my notes")
    assert install(world, to).kept == (str(mine),)
    assert mine.read_text() == "my notes"
    asked: list[tuple[str, ...]] = []
    journey.bundle_install(world.folder, to, lambda names: not asked.append(names))
    assert asked == [(str(mine),)]
    assert mine.read_text() != "my notes"
    assert settings.load().bundle == str(world.folder)


def test_a_seat_that_cannot_be_written_is_an_error(world: World) -> None:
    made(world.downloaded().folder)
    with pytest.raises(WorkspaceError, match="TW-B05"):
        install(world, Path("/proc/seat"))


FAKE_DOCKER = """
case "$1 $2" in
  "image ls") echo "nvcr.io/nvidia/tritonserver:26.07-vllm-python-py3 sha256:abc"; echo "python:3.11 sha256:def";;
  "image inspect") case "$*" in *Size*) echo 7;; *) test -e "{state}";; esac;;
  "info --format") echo '{{}}';;
  "save -o") echo image > "$3";;
  "load -i") test "$(cat "$3")" = image && touch "{state}" || {{ echo "open $3: no space left" >&2; exit 1; }};;
  *) exit 9;;
esac
"""
"""The calls of docker's command line that a bundle needs (docs.docker.com/reference/cli/docker); it has no engine."""


def test_images_are_saved_and_loaded(world: World, tmp_path: Path) -> None:
    script(tmp_path / "bin" / "docker", FAKE_DOCKER.format(state=tmp_path / "loaded"))
    outlook = journey.bundle_outlook(Order((PYTHON,), "x86_64", ()), world.downloaded().folder)
    assert outlook.images == (), "no stack, no image"
    (wanted,) = images.wanted(("vllm",))
    assert (wanted.image.name, wanted.size) == ("nvcr.io/nvidia/tritonserver:26.07-vllm-python-py3", 7)
    images.save(wanted, world.folder)
    assert images.load(wanted.image, world.folder) is True
    assert images.load(wanted.image, world.folder) is False
    (tmp_path / "loaded").unlink()
    (world.folder / wanted.image.path).write_text("broken")
    with pytest.raises(HostError, match=r"TW-B08: docker load failed: open .*no space left"):
        images.load(wanted.image, world.folder)
    script(tmp_path / "bin" / "docker", "exit 1")
    assert images.load(wanted.image, world.folder) is None


def test_only_files_that_the_manifest_names_are_copied(world: World, tmp_path: Path) -> None:
    cached(COMMIT)
    made(world.downloaded().folder, Order((PYTHON,), "x86_64", (), models=("org/llama",)))
    (world.folder / "models" / "models--org--llama" / "snapshots" / COMMIT / "more.py").touch()
    shutil.rmtree(hub_cache())
    install(world, tmp_path / "to")
    assert not list(hub_cache().rglob("more.py"))
    assert models.SNAPSHOT.fullmatch("models/models--a--b/snapshots/../x") is None


def test_a_bundle_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="TW-B10"):
        journey.bundle_install(tmp_path, tmp_path / "to", keep)
