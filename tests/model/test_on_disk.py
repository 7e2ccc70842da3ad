"""What is on this disk, and paths that are typed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.advise.worlds import CONFIGS
from tests.chain_model import write_chain_model
from wizard.model import cache
from wizard.model.on_disk import Entry, browse, completed, stored_models

COMMIT = "0" * 40


def cached(repo: str) -> Path:
    """A folder for a snapshot of ``repo`` in the Hugging Face cache."""
    place = cache.hub_cache() / f"models--{repo.replace('/', '--')}"
    folder = place / "snapshots" / COMMIT
    folder.mkdir(parents=True)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(COMMIT)
    return folder


def test_complete_models_of_the_cache_and_the_downloads_are_listed_newest_first(tmp_path: Path) -> None:
    write_chain_model(cached("org/small-GGUF") / "small.gguf")
    (cached("org/half") / "config.json").write_text(json.dumps(CONFIGS["Qwen/Qwen3-0.6B"]))  # no weights yet
    (tmp_path / "one-1234").mkdir()
    write_chain_model(tmp_path / "one-1234" / "one.gguf")
    (tmp_path / "two-5678").mkdir()
    (tmp_path / "two-5678" / "config.json").write_text("{}")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for age, name in enumerate(("two-5678", "one-1234", "empty")):
        os.utime(tmp_path / name, (4e9 - age, 4e9 - age))
    assert stored_models(tmp_path) == [
        str(tmp_path / "two-5678"),
        str(tmp_path / "one-1234" / "one.gguf"),
        "org/small-GGUF:small.gguf",
    ]


def test_nothing_there_and_folders_of_others_are_nothing(tmp_path: Path) -> None:
    assert stored_models(tmp_path / "none") == []
    for name in ("models--", "models--no", "models---x--y", "models--a--..", "datasets--a--b"):
        (cache.hub_cache() / name).mkdir(parents=True)
    assert stored_models(tmp_path) == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("llama-8b", "llama-70b", "other", ".hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "llama-8b" / "config.json").write_text("{}")
    (tmp_path / "llama.Q4.GGUF").write_text("")
    (tmp_path / "llama.txt").write_text("")
    return tmp_path


def test_models_come_before_folders_and_other_files_not_at_all(tree: Path) -> None:
    assert browse(f"{tree}/ll") == [
        Entry(f"{tree}/llama-8b/", "model"),
        Entry(f"{tree}/llama.Q4.GGUF", "gguf"),
        Entry(f"{tree}/llama-70b/", "folder"),
    ]
    assert [entry.path for entry in browse(f"{tree}/.")] == [f"{tree}/.hidden/"]
    assert f"{tree}/.hidden/" not in [entry.path for entry in browse(f"{tree}/")]


def test_a_path_keeps_the_form_that_it_was_typed_in(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    monkeypatch.setenv("HOME", str(tree))
    assert browse("./oth") == [Entry("./other/", "folder")]
    assert browse("~/oth") == [Entry("~/other/", "folder")]
    assert Entry("~/other/", "folder") in browse("~")


@pytest.mark.parametrize("text", ["/no/such/place/", "~nobody-of-this-name/x", "./a\0b/", "/" + "x" * 5000 + "/"])
def test_what_cannot_be_looked_at_has_no_entries(text: str) -> None:
    assert browse(text) == []


def test_completing_types_what_all_have_in_common(tree: Path) -> None:
    assert completed(f"{tree}/l", browse(f"{tree}/l")) == f"{tree}/llama"
    assert completed(f"{tree}/llama", browse(f"{tree}/llama")) == f"{tree}/llama"
    assert completed(f"{tree}/o", browse(f"{tree}/o")) == f"{tree}/other/"
    assert completed("/x", []) == "/x"
