"""The linter and the real tritonserver judge the same repositories, good and broken."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from random import Random

import pytest

from tests.repository import broken, standins
from tests.server_environment import LISTENS, running_triton
from tests.server_environment import write as write_repository
from wizard.repository.lint import lint
from wizard.repository.linting.finding import Server
from wizard.stacks.trtllm_engine.repository import repository

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300), pytest.mark.xdist_group("repository")]

SERVER = Server(frozenset({"python"}), gpus=0, name="the wheel")
NEVER_READY = {
    "empty_version": broken.python(model=None),
    "version_minus": {"config.pbtxt": broken.CONFIG, "-1/model.py": broken.MODEL},
    "a space": broken.python(),
}
"""With one of these the server waits for ever for the Python stub, so each has a server of its own."""


def ready(repository: Path, scratch: Path) -> set[str]:
    """The models that a server serves of ``repository``; it goes on after those that it refuses."""
    with running_triton(repository, scratch, ready=False, options=["--exit-on-error=false"]) as server:
        server.wait_for_log(lambda text: LISTENS in text or server.process.poll() is not None, 120)
        request = urllib.request.Request(f"{server.url}/v2/repository/index", b"{}", method="POST")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return {row["name"] for row in json.load(answer) if row.get("state") == "READY"}


def loads(repository: Path) -> set[str]:
    """The models that the linter finds no error in."""
    report = lint(repository, SERVER)
    wrong = {each.model for each in report.findings if each.severity == "error"}
    return {folder.name for folder in repository.iterdir() if folder.is_dir()} - wrong


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], set[str]]:
    root = broken.write(tmp_path_factory.mktemp("broken"))
    return ready(root, tmp_path_factory.mktemp("scratch")), loads(root)


@pytest.mark.parametrize("name", broken.MODELS)
def test_the_linter_agrees_with_the_server(name: str, judged: tuple[set[str], set[str]]) -> None:
    served, loadable = judged
    assert (name in loadable) == (name in served)


@pytest.mark.parametrize("seed", [1, 2])
def test_it_agrees_on_random_mistakes(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    members = ("good", "no_batch", "two_outputs", "decoupled", "good_ensemble")
    models = {name: broken.MODELS[name] for name in members}
    models |= {f"mistaken_{number}": broken.mistaken(random) for number in range(150)}
    root = broken.write(tmp_path / "repository", models)
    served = ready(root, tmp_path)
    assert loads(root) == served
    assert set(members) < served  # some mistakes do no harm


@pytest.mark.parametrize("name", NEVER_READY)
def test_what_keeps_the_server_waiting_is_an_error(name: str, tmp_path: Path) -> None:
    root = broken.write(tmp_path / "repository", {name: NEVER_READY[name]})
    assert loads(root) == set()
    with running_triton(root, tmp_path, ready=False) as server:
        log = server.wait_for_log(lambda text: "Failed to preinitialize" in text or "std::invalid_argument" in text)
        assert LISTENS not in log
        assert server.status("/v2/health/live") == 0


@pytest.mark.parametrize("change", ["nothing", "template", "tokenizer", "type"])
def test_the_repository_of_trtllm(change: str, tmp_path: Path) -> None:
    """The chain with the stand-ins, whole and with one mistake; what depends on the mistake is refused too."""
    plan = repository(
        "0.13.0", engine_dir=str(tmp_path), tokenizer_dir=str(tmp_path), max_batch_size=4, backend="python"
    )
    root = write_repository(plan, tmp_path / "repository")
    standins.put(root, plan.copied)
    (tmp_path / "config.json").write_text('{"pretrained_config": {}}')
    (tmp_path / "rank0.engine").touch()
    config, model = root / "preprocessing/config.pbtxt", root / "preprocessing/1/model.py"
    # The real model gives the folder to transformers, which raises; the stand-in has no tokenizer to do so.
    check = 'self.config = json.loads(args["model_config"])'
    folder = "__import__('os').listdir(self.config['parameters']['tokenizer_dir']['string_value'])"
    model.write_text(model.read_text().replace(check, f"{check}\n        {folder}"))
    text = config.read_text()
    if change == "template":
        config.write_text(broken.changed(text, "count: 1", "count: ${preprocessing_instance_count}"))
    if change == "tokenizer":
        config.write_text(broken.changed(text, f'string_value: "{tmp_path}"', 'string_value: "/nowhere/tokenizer"'))
        text = config.read_text().replace(str(tmp_path), "/nowhere/tokenizer")
        config.write_text(text)
    if change == "type":
        config.write_text(broken.changed(text, "TYPE_INT32", "TYPE_FP32"))
    served = ready(root, tmp_path)
    assert loads(root) == served
    everything = {"preprocessing", "tensorrt_llm", "postprocessing", "ensemble", "tensorrt_llm_bls"}
    wrong = {"nothing": set(), "template": {"preprocessing", "ensemble"}, "tokenizer": {"preprocessing", "ensemble"}}
    assert served == everything - wrong.get(change, {"ensemble"})


def test_the_command(tmp_path: Path) -> None:
    root = broken.write(tmp_path / "models", {"good": broken.MODELS["good"], "bad": broken.MODELS["unknown_field"]})
    command = [sys.executable, "-m", "wizard", "lint", str(root), "--json", "--backends", "python", "--hardware", "cpu"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3, done.stderr
    report = json.loads(done.stdout)
    assert report["repository"] == str(root)
    assert [
        (finding["code"], finding["file"], finding["line"], finding["column"]) for finding in report["findings"]
    ] == [("R105", "bad/config.pbtxt", 3, 1)]
