"""A bundle is made, grows, resumes, and is compared with its manifest."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.probe.programs import script
from tests.workshop.world import PYTHON, World
from wizard import journey
from wizard.catalog.wheels import Target
from wizard.kernel.errors import HostError, NetworkError, UsageError, WizardError, WorkspaceError
from wizard.workshop import gather, packages, starter
from wizard.workshop.bundle import Manifest, Order

ORDER = Order((PYTHON,), "x86_64")


def made(folder: Path, order: Order = ORDER) -> Manifest:
    outlook = journey.bundle_outlook(order, folder, offline=True)
    *_, manifest = journey.bundle(outlook, folder)
    assert isinstance(manifest, Manifest)
    return manifest


def problems(folder: Path) -> list[tuple[str, str]]:
    return [(problem.kind, problem.path) for problem in journey.bundle_verify(folder).problems]


def paths(manifest: Manifest) -> set[str]:
    return {file.path for file in manifest.files}


def test_it_has_what_the_python_needs_and_nothing_else(world: World) -> None:
    manifest = made(world.folder)
    wheels = {path.rpartition("/")[2] for path in paths(manifest) if path.startswith("wheels/")}
    assert {name.partition("-")[0] for name in wheels} == {"pip", "probe_any", "probe_compiled", "triton_wizard"}
    notebooks = {"notebooks/lab.ipynb", "notebooks/recorded/report.json"}
    assert paths(manifest) == {f"wheels/{name}" for name in wheels} | {"install.py", "pins/seat.txt"} | notebooks
    assert problems(world.folder) == []
    assert not (world.folder / ".partial").exists()


def test_the_wizard_has_notebooks() -> None:
    folder = gather.notebooks_folder()
    assert folder
    assert list(folder.glob("*.ipynb"))


def test_the_second_time_nothing_is_downloaded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first = made(world.folder)
    asked = world.calls
    monkeypatch.setenv("PIP_FIND_LINKS", str(world.folder / "nothing"))
    outlook = journey.bundle_outlook(ORDER, world.folder)
    assert (outlook.download, outlook.copied) == (0, 0)
    assert paths(made(world.folder)) == paths(first)
    assert world.calls == asked


def test_it_resumes_where_it_stopped(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "AT_ONCE", 1)
    items = journey.bundle(journey.bundle_outlook(ORDER, world.folder), world.folder)
    next(items)
    next(items)  # the first package is there
    items.close()  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="TW-B10"):
        journey.bundle_verify(world.folder)
    (half,) = (world.folder / "wheels").iterdir()
    half.write_bytes(half.read_bytes()[:100])  # killed while it was written
    made(world.folder)
    assert problems(world.folder) == []


def test_it_grows(world: World) -> None:
    made(world.downloaded().folder, Order((PYTHON,), "x86_64", ()))
    assert not list(world.folder.glob("wheels/probe_compiled*"))
    shutil.copy(world.compiled, world.folder / "wheels")
    grown = made(world.folder)
    assert grown.environments == ("seat", "llamacpp")
    again = made(world.folder, Order((PYTHON,), "x86_64", ()))
    assert paths(again) == paths(grown)


def test_what_is_no_longer_pinned_is_removed(world: World) -> None:
    made(world.downloaded().folder)
    (world.folder / "wheels" / "left_over-1.0-py3-none-any.whl").touch()
    assert problems(world.folder) == [("extra", "wheels/left_over-1.0-py3-none-any.whl")]
    made(world.folder)
    assert problems(world.folder) == []


def test_every_problem_is_named(world: World) -> None:
    made(world.downloaded().folder)
    wheels = world.folder / "wheels"
    changed = wheels / world.any.name
    data = bytearray(changed.read_bytes())
    data[10] ^= 1
    changed.write_bytes(data)
    (wheels / world.compiled.name).unlink()
    (world.folder / "slides.pdf").touch()
    (world.folder / "notebooks" / "away").symlink_to("/etc")
    os.mkfifo(world.folder / "pipe")
    pins = world.folder / "pins" / "seat.txt"
    pins.rename(world.folder.parent / "seat.txt")
    pins.symlink_to(world.folder.parent / "seat.txt")
    assert set(problems(world.folder)) == {
        ("changed", f"wheels/{world.any.name}"),
        ("missing", f"wheels/{world.compiled.name}"),
        ("link", "pins/seat.txt"),
        ("link", "notebooks/away"),
        ("extra", "slides.pdf"),
        ("special", "pipe"),
    }
    with pytest.raises(UsageError, match="TW-B11"):
        journey.bundle_install(world.folder, world.folder.parent / "to", lambda _: False)


def test_a_file_behind_a_linked_folder_is_not_read(world: World) -> None:
    made(world.downloaded().folder)
    (world.folder / "pins").rename(world.folder.parent / "pins")
    (world.folder / "pins").symlink_to(world.folder.parent / "pins")
    assert set(problems(world.folder)) == {("link", "pins/seat.txt"), ("link", "pins")}


STRANGE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "above": lambda data: data["files"][0].update(path="../../etc/passwd"),
    "absolute": lambda data: data["files"][0].update(path="/etc/passwd"),
    "backwards": lambda data: data["files"][0].update(path="wheels/../../x"),
    "control": lambda data: data["files"][0].update(path="a\x1b[2Jb"),
    "itself": lambda data: data["files"][0].update(path="bundle.json"),
    "twice": lambda data: data["files"].append(data["files"][0]),
    "not a path": lambda data: data["files"][0].update(path=["x"]),
    "not a size": lambda data: data["files"][0].update(size="x"),
    "huge": lambda data: data.update(files=[data["files"][0]] * (starter.MOST_FILES + 1)),
    "later format": lambda data: data.update(format=2),
    "no files": lambda data: data.pop("files"),
    "model elsewhere": lambda data: data.update(models=[{"ref": "a/b", "folder": "../x"}]),
    "branch elsewhere": lambda data: data.update(models=[{"ref": "a/b", "folder": "models/x", "branch": "../../x"}]),
    "image elsewhere": lambda data: data.update(images=[{"name": "a", "id": "b", "path": "/x.tar"}]),
    "wrong type": lambda data: data.update(pythons=3),
}


@pytest.mark.parametrize("change", STRANGE.values(), ids=STRANGE)
def test_a_strangers_manifest_is_refused(world: World, change: Callable[[dict[str, Any]], Any]) -> None:
    made(world.downloaded().folder)
    path = world.folder / "bundle.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    with pytest.raises(UsageError, match="TW-B10"):
        journey.bundle_verify(world.folder)
    with pytest.raises(UsageError, match="TW-B10"):
        journey.bundle_outlook(ORDER, world.folder)


@pytest.mark.parametrize("kind", ["text", "deep", "large", "link", "pipe", "folder"])
def test_what_is_no_manifest_is_refused(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bundle.json"
    if kind == "link":
        path.symlink_to("/etc/hostname")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        monkeypatch.setattr(starter, "LARGEST_MANIFEST", 300_000)
        path.write_text({"text": "{", "deep": "[" * 200_000, "large": " " * 300_001}[kind])
    with pytest.raises(UsageError, match="TW-B10"):
        journey.bundle_verify(tmp_path)


def test_a_folder_with_a_huge_number_of_files_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made(world.downloaded().folder)
    monkeypatch.setattr(starter, "MOST_FILES", 10)
    for number in range(21):
        (world.folder / f"x{number}").touch()
    with pytest.raises(UsageError, match="TW-B10"):
        journey.bundle_verify(world.folder)


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (Order(("3.13",), "x86_64"), "seat has no packages for Python 3.13"),
        (Order((PYTHON,), "riscv64"), "no packages for Python 3.11 \\(riscv64\\)"),
        (Order((PYTHON,), "x86_64", ("trtllm-llmapi",)), "trtllm-llmapi cannot be bundled"),
        (Order((PYTHON,), "x86_64", (), ("llamacpp-cuda12",)), "llamacpp-cuda12 cannot be bundled"),
    ],
)
def test_what_cannot_be_bundled_is_said_before_anything_is_done(world: World, order: Order, words: str) -> None:
    with pytest.raises(UsageError, match=f"TW-B02.*{words}"):
        journey.bundle_outlook(order, world.folder)
    assert not world.folder.exists()


def test_a_missing_wheel_is_named_when_bundling(world: World) -> None:
    with pytest.raises(NetworkError, match=r"TW-B04: probe-compiled==1.0 has no wheel for Python 3.12"):
        made(world.folder, Order((PYTHON, "3.12"), "x86_64"))


def test_a_wheel_that_vanishes_meanwhile_is_not_overlooked(world: World) -> None:
    items = journey.bundle(journey.bundle_outlook(ORDER, world.downloaded().folder), world.folder)
    next(items)
    (world.folder / "wheels" / world.any.name).unlink()
    with pytest.raises(NetworkError, match="TW-B04: probe-any has no wheel"):
        list(items)


def test_an_index_that_has_nothing_is_an_error(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONSTRAINT", str(world.folder / "nothing.txt"))
    with pytest.raises(NetworkError, match=r"TW-B04: pip could not download"):
        made(world.folder)


def test_without_pip_there_is_an_error(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(HostError, match="TW-B06"):
        packages.installer()


def test_another_folder_is_left_alone(world: World) -> None:
    world.folder.mkdir()
    (world.folder / "thesis.txt").touch()
    with pytest.raises(UsageError, match="TW-B01"):
        made(world.folder)
    assert [path.name for path in world.folder.iterdir()] == ["thesis.txt"]
    with pytest.raises(UsageError, match="TW-B01"):
        made(world.folder / "thesis.txt")


def test_a_small_disk_is_reported_before_the_download(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1, 1, 1))
    with pytest.raises(WorkspaceError, match=r"TW-B03.*has 1 B free"):
        made(world.folder)
    assert world.calls == 0


def test_a_full_disk_keeps_what_is_there(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "notebook")

    with monkeypatch.context() as patch:
        patch.setattr(gather.models, "copy", full)
        with pytest.raises(WorkspaceError, match=r"TW-B05.*No space left"):
            made(world.folder)
    asked = world.calls
    made(world.folder)
    assert world.calls == asked


def test_a_full_disk_of_pip_is_the_same_error(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What pip 23.2 prints when its folder is full."""
    program = world.folder.parent / "bin" / "pip"
    line = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
    script(program, f"echo '{line}' >&2; exit 1")
    monkeypatch.setattr(packages, "installer", lambda: [str(program)])
    with pytest.raises(WorkspaceError, match="TW-B05"):
        made(world.folder)


def test_a_place_that_cannot_be_written_is_an_error() -> None:
    with pytest.raises(WorkspaceError, match="TW-B05"):
        made(Path("/proc/class"))


def test_the_wheels_of_another_python_are_chosen_by_its_tags_and_markers(world: World) -> None:
    from wizard.catalog.environments import environment
    from wizard.catalog.wheels import complete, needed

    seat, server = environment("seat"), environment("llamacpp")
    names = [[pin.name for pin in needed(seat, Target(python, "x86_64"))] for python in ("3.10", "3.11")]
    assert names == [["pip", "probe-any", "probe-old"], ["pip", "probe-any"]]
    assert complete(server, Target("3.11", "x86_64"), world.index)
    assert not complete(server, Target("3.12", "x86_64"), world.index)
    assert not complete(server, Target("3.11", "aarch64"), world.index)


def test_an_unreadable_answer_is_not_hidden(world: World) -> None:
    with pytest.raises(WizardError):
        journey.bundle_outlook(Order((PYTHON,), "x86_64", models=("./nothing.gguf",)), world.folder)
