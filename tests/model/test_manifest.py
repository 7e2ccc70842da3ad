"""Manifests: what is read again, what is refused, and what survives a damaged one."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from tests.model.fake_hub import git_blob
from wizard.kernel.errors import ModelError, WorkspaceError
from wizard.model import manifest
from wizard.model.manifest import Manifest, Published
from wizard.model.verify import verify

TEXT = b"some weights" * 1000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(TEXT)
    (folder / "tokenizer.json").write_bytes(b"{}")
    (folder / "notes.md").write_text("not of the model")
    return folder


def local(folder: Path, *, full: bool = False) -> Manifest:
    return verify(folder, (), None, None, cached=False, full=full)


def rot(path: Path) -> None:
    """Other bytes with the same size, date and inode, as a defective disk returns them."""
    stat = path.stat()
    with path.open("r+b") as file:
        file.write(b"S")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def test_git_computes_the_same_id(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(TEXT)
    done = subprocess.run(["git", "hash-object", tmp_path / "file"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == git_blob(TEXT)
    assert manifest.check(tmp_path, ["file"], {"file": Published("git", git_blob(TEXT), len(TEXT))})


def test_local_files_get_a_manifest_at_first_sight(folder: Path) -> None:
    made = local(folder)
    assert manifest.read(manifest.path_of(folder)) == made
    assert sorted(made.files) == ["model.safetensors", "tokenizer.json"]
    assert made.files["model.safetensors"].sha256 == hashlib.sha256(TEXT).hexdigest()
    assert made.summary() == "hashes of 2 local files recorded"
    assert sorted(path.name for path in folder.parent.iterdir()) == ["model", "model.manifest.json"]


def test_unchanged_files_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = local(folder)
    monkeypatch.setattr(manifest, "_read", lambda *_: pytest.fail("read again"))
    assert local(folder).files == first.files


def test_own_files_may_change_but_not_with_the_same_date(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    local(folder)
    (folder / "model.safetensors").write_bytes(TEXT[::-1])
    assert local(folder).files["model.safetensors"].sha256 == hashlib.sha256(TEXT[::-1]).hexdigest()
    assert "model.safetensors has changed" in capsys.readouterr().out
    rot(folder / "model.safetensors")
    local(folder)  # nothing says that it has to be read
    with pytest.raises(ModelError, match=r"model\.safetensors is damaged.*with the same date") as refused:
        local(folder, full=True)
    assert refused.value.code == "TW-M60"
    with pytest.raises(ModelError, match="is damaged"):
        manifest.recheck(manifest.path_of(folder))


@pytest.mark.parametrize("wanted", [Published("sha256", "0" * 64), Published("git", "0" * 40), Published("git", "", 3)])
def test_what_is_published_is_compared(folder: Path, wanted: Published) -> None:
    with pytest.raises(ModelError, match=r"tokenizer\.json is damaged: expected") as refused:
        manifest.check(folder, ["tokenizer.json"], {"tokenizer.json": wanted})
    assert refused.value.code == "TW-M60"
    assert f"`rm {folder}/tokenizer.json`" in refused.value.todo


def test_a_missing_file_is_refused(folder: Path) -> None:
    with pytest.raises(ModelError, match=r"b\.safetensors is missing") as refused:
        manifest.check(folder, ["model.safetensors", "b.safetensors"], {})
    assert refused.value.code == "TW-M61"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"files": 1}', '{"files": {"a": {}}}', "[" * 100_000])
def test_a_damaged_manifest_counts_as_none(folder: Path, text: str) -> None:
    manifest.path_of(folder).write_text(text)
    assert manifest.read(manifest.path_of(folder)) is None
    assert len(local(folder).files) == 2


def test_files_of_the_cache_are_compared_with_their_names(tmp_path: Path) -> None:
    """Without the network: huggingface_hub names blobs by the hash that the Hub published."""
    repo = tmp_path / "models--org--name"
    snapshot = repo / "snapshots" / ("a" * 40)
    (repo / "blobs").mkdir(parents=True)
    snapshot.mkdir(parents=True)
    weights, config = hashlib.sha256(TEXT).hexdigest(), git_blob(b"{}")
    for name, raw, blob in (("model.safetensors", TEXT, weights), ("config.json", b"{}", config)):
        (repo / "blobs" / blob).write_bytes(raw)
        (snapshot / name).symlink_to(f"../../blobs/{blob}")
    link = tmp_path / "w"
    link.symlink_to(snapshot)
    made = verify(link, (), "org/name", "a" * 40, cached=True)
    assert made.summary() == "2 files verified against org/name at revision aaaaaaaaaaaa"
    (snapshot / "config.json").write_bytes(b"[]")
    with pytest.raises(ModelError, match=r"config\.json is damaged"):
        verify(link, (), "org/name", "a" * 40, cached=True)


def test_a_manifest_says_what_is_not_published() -> None:
    proof = manifest.FileProof(1, 1, 1, "0" * 64)
    known = manifest.FileProof(1, 1, 1, "0" * 64, Published("git", "0" * 40))
    words = Manifest({"a": known, "b": proof}, "org/name", "abc").summary()
    assert words == "1 file verified against org/name at revision abc; no published hash for b"
    assert Manifest({"b": proof}, "org/name", None).summary().startswith("not verified")


def test_a_manifest_that_cannot_be_written(folder: Path) -> None:
    manifest.path_of(folder).mkdir()
    with pytest.raises(WorkspaceError, match="cannot write") as refused:
        local(folder)
    assert refused.value.code == "TW-M62"
    assert sorted(path.name for path in folder.parent.iterdir()) == ["model", "model.manifest.json"]
