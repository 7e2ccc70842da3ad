"""``requirements/trtllm.py`` on a real git repository with release tags."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.scripts import load

MODE = """
class QuantAlgo(StrEnum):
    FP8 = auto()
    {more}

class QuantMode(IntFlag):
    INT4_WEIGHTS = auto()
"""
LLAMA = """
@register_auto_model("LlamaForCausalLM")
class Llama: ...
"""
GEMMA = """
@register_auto_model("Gemma3ForCausalLM")
class Gemma: ...
"""
MAP = "MODEL_MAP = {'LlamaForCausalLM': A, 'DiT': B}"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load("requirements/trtllm.py")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Releases 0.19.0 and 0.20.0, and a pre-release."""

    def git(*words: str) -> None:
        author = ("-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false")
        subprocess.run(["git", "-C", str(tmp_path), *author, *words], check=True, capture_output=True)

    git("init", "--quiet")
    package = tmp_path / "tensorrt_llm"
    releases = {
        "v0.19.0": {"_torch/models/modeling_llama.py": LLAMA, "quantization/mode.py": MODE.format(more="pass")},
        "v0.20.0rc1": {"_torch/models/modeling_early.py": LLAMA.replace("Llama", "Early")},
        "v0.20.0": {
            "_torch/models/modeling_early.py": "",
            "_torch/models/modeling_gemma3.py": GEMMA,
            "models/__init__.py": MAP,
            "quantization/mode.py": MODE.format(more="NVFP4 = auto()"),
        },
    }
    for tag, files in releases.items():
        for name, text in files.items():
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            (package / name).write_text(text, encoding="utf-8")
        git("add", "--all")
        git("commit", "--quiet", "--message", tag)
        git("tag", tag)
    return tmp_path


def printed(script: ModuleType, clone: Path) -> list[str]:
    return [
        line for source in script.LISTS for line in script.lines(source, script.history(script.Clone(clone), source))
    ]


def test_each_release_names_what_its_files_name(script: ModuleType, clone: Path) -> None:
    assert printed(script, clone) == [
        "trtllm LlamaForCausalLM 0.20.0 -",
        "llm_api Gemma3ForCausalLM 0.20.0 -",
        "llm_api LlamaForCausalLM 0.19.0 -",
        "algorithm FP8 0.19.0 -",
        "algorithm NVFP4 0.20.0 -",
    ]


def test_a_clone_without_the_releases_in_use_writes_nothing(
    script: ModuleType, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = script.TABLE.read_bytes()
    monkeypatch.setattr(sys, "argv", ["trtllm.py", str(clone), "--write"])
    with pytest.raises(SystemExit, match=r"no list of .*1\.2\.1: nothing was written"):
        script.main()
    assert script.TABLE.read_bytes() == before
    assert "0.19.0" in script.in_use()


def test_a_whole_clone_replaces_one_column(
    script: ModuleType, clone: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    target = tmp_path / "architectures.toml"
    target.write_bytes(script.TABLE.read_bytes())
    monkeypatch.setattr(script, "TABLE", target)
    monkeypatch.setattr(script, "in_use", lambda: ["0.19.0", "0.20.0"])
    monkeypatch.setattr(sys, "argv", ["trtllm.py", str(clone), "--write"])
    old = {
        model["name"]: model["first"] for model in script.tomllib.loads(target.read_text(encoding="utf-8"))["models"]
    }
    script.main()
    written = script.tomllib.loads(target.read_text(encoding="utf-8"))
    new = {model["name"]: model["first"] for model in written["models"]}
    assert (new["Gemma3ForCausalLM"]["llm_api"], new["OPTForCausalLM"]["llm_api"]) == ("0.20.0", "none")
    assert written["read"]["llm_api"] == "0.20.0"
    assert all({**new[name], "llm_api": ""} == {**first, "llm_api": ""} for name, first in old.items())
