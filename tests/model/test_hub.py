"""The real client of huggingface_hub against a hub of our own on the loopback interface."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.model.fake_hub import COMMIT, FakeHub, FakeRepo
from tests.model.gguf_bytes import LLAMA_CONFIG, TEMPLATE, safetensors, tiny
from wizard.catalog import profiles
from wizard.kernel.errors import ModelError, NetworkError, WizardError, WorkspaceError
from wizard.model.cache import endpoint, hub_cache
from wizard.model.hub import access, errors, lookup
from wizard.model.source import find

WEIGHTS = safetensors({"a": {"dtype": "BF16", "shape": [10, 7], "data_offsets": [0, 140]}})
TOKENIZER = json.dumps({"chat_template": TEMPLATE, "eos_token": "<|im_end|>"}).encode()
LLAMA = {
    "config.json": json.dumps(LLAMA_CONFIG).encode(),
    "tokenizer_config.json": TOKENIZER,
    "model.safetensors": WEIGHTS,
    "pytorch_model.bin": b"\x80\x04.",
    "README.md": b"# Card",
}


def repos() -> dict[str, FakeRepo]:
    return {
        "org/llama": FakeRepo(dict(LLAMA), {"cardData": {"license": "apache-2.0"}}),
        "org/counted": FakeRepo(dict(LLAMA), {"safetensors": {"parameters": {"F16": 80448}, "total": 80448}}),
        "org/named-licence": FakeRepo(dict(LLAMA), {"cardData": {"license": "other", "license_name": "llama3"}}),
        "org/tagged-licence": FakeRepo(dict(LLAMA), {"tags": ["license:mit"]}),
        "org/gguf": FakeRepo({"m-Q8_0.gguf": tiny().bytes(), "m-Q2_K.gguf": tiny().bytes(), "README.md": b""}),
        "org/many": FakeRepo({"m-Q2_K.gguf": tiny().bytes(), "m-Q3_K_S.gguf": tiny().bytes()}),
        "org/gated": FakeRepo(dict(LLAMA), {"gated": "manual"}, gated_files=True),
        "org/pickle": FakeRepo({"config.json": LLAMA["config.json"], "pytorch_model.bin": b"\x80\x04."}),
        "org/empty": FakeRepo({"README.md": b""}),
        "org/large-config": FakeRepo({**LLAMA, "config.json": b" " * 10_000_001}),
        "org/bad-config": FakeRepo({**LLAMA, "config.json": b'{"num_hidden_layers": -1}'}),
        "org/shards": FakeRepo(
            {
                **{k: v for k, v in LLAMA.items() if k != "model.safetensors"},
                "model-00001-of-00002.safetensors": WEIGHTS,
                "model-00002-of-00002.safetensors": WEIGHTS,
            }
        ),
    }


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with FakeHub(repos()) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


def troubled(trouble: int | str, monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    running = FakeHub(repos(), trouble)
    monkeypatch.setenv("HF_ENDPOINT", running.url)
    return running


def test_a_safetensors_repository(fake: FakeHub) -> None:
    facts = find("org/llama")
    assert (facts.ref, facts.source, facts.location, facts.name) == ("org/llama", "hub", "org/llama", "llama")
    assert (facts.layers, facts.kv_heads, facts.licence, facts.gated) == (2, 2, "apache-2.0", False)
    assert (facts.revision, facts.local) == (COMMIT, False)
    assert (facts.parameters, facts.dtype, facts.weight_bytes) == (70, "bfloat16", len(WEIGHTS))
    assert [(w.name, w.bytes, w.format) for w in facts.weights] == [("model.safetensors", len(WEIGHTS), "safetensors")]
    assert facts.chat is not None
    assert facts.chat.stop == ("<|im_end|>",)


def test_weights_are_read_by_range_only_and_pickle_never(fake: FakeHub) -> None:
    find("org/llama")
    asked = [(path, head.get("range")) for method, path, head in fake.requests if method == "GET" and "/cdn/" in path]
    assert asked == [("/cdn/org/llama/model.safetensors", "bytes=0-100000")]
    assert not [path for _, path, _ in fake.requests if path.endswith(".bin")]


def test_the_hubs_own_count_saves_the_headers(fake: FakeHub) -> None:
    facts = find("org/counted")
    assert (facts.parameters, facts.dtype) == (80448, "float16")
    assert not [path for path in fake.paths("GET") if "safetensors" in path]


AWQ = safetensors(
    {
        "model.layers.0.mlp.up_proj.qweight": {"dtype": "I32", "shape": [64, 16], "data_offsets": [0, 4096]},
        "model.layers.0.mlp.up_proj.scales": {"dtype": "F16", "shape": [1, 128], "data_offsets": [4096, 4352]},
        "model.layers.2.mlp.up_proj.scales": {"dtype": "F16", "shape": [1, 128], "data_offsets": [4352, 4608]},
        "model.layers.1.input_layernorm.weight": {"dtype": "F16", "shape": [64], "data_offsets": [4608, 4736]},
    }
)


def quantised(fake: FakeHub) -> str:
    config = {**LLAMA_CONFIG, "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 64}}
    files = {"config.json": json.dumps(config).encode(), "model.safetensors": AWQ}
    fake.repos["org/awq"] = FakeRepo(files, {"safetensors": {"parameters": {"I32": 1024, "F16": 256}, "total": 1280}})
    return "org/awq"


def test_headers_of_quantised_weights_are_read_whatever_the_hub_counts(fake: FakeHub) -> None:
    facts = find(quantised(fake))
    assert facts.stored is not None
    assert (facts.stored.mlp, facts.stored.total) == (4352, 4480)
    assert facts.weight_bytes == len(AWQ) - 256  # the layer after the last is for multi-token prediction
    assert facts.parameters == 80448


def test_a_diffusion_pipeline_is_named(fake: FakeHub) -> None:
    fake.repos["org/pipeline"] = FakeRepo({"model_index.json": b"{}", "unet/diffusion_pytorch_model.bin": b""})
    assert find("org/pipeline").task == "diffusion"


def test_the_files_of_sentence_transformers_are_read(fake: FakeHub) -> None:
    modules = b'[{"type": "sentence_transformers.models.Pooling"}]'
    files = {"config.json": json.dumps(LLAMA_CONFIG).encode(), "model.safetensors": AWQ, "modules.json": modules}
    fake.repos["org/embedder"] = FakeRepo(files)
    assert find("org/embedder").task == "embedding"


def test_headers_that_come_too_late_are_done_without(fake: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "HEADER_SECONDS", 0.0)
    fake.half = True
    facts = find(quantised(fake))
    assert (facts.stored, facts.parameters, facts.weight_bytes) == (None, 80448, len(AWQ))
    assert "did not arrive within 0 s" in facts.unknown["stored"]


def test_shards_are_added_up(fake: FakeHub) -> None:
    facts = find("org/shards")
    assert (facts.parameters, facts.weight_bytes, len(facts.weights)) == (140, 2 * len(WEIGHTS), 2)


@pytest.mark.parametrize(("repo", "licence"), [("org/named-licence", "llama3"), ("org/tagged-licence", "mit")])
def test_the_licence(fake: FakeHub, repo: str, licence: str) -> None:
    assert find(repo).licence == licence


@pytest.mark.parametrize(("ref", "file"), [("org/gguf", "m-Q8_0.gguf"), ("org/gguf@v1:m-Q2_K.gguf", "m-Q2_K.gguf")])
def test_a_gguf_repository(fake: FakeHub, ref: str, file: str) -> None:
    facts = find(ref)
    assert (facts.ref, facts.location, facts.source, facts.local) == (ref, "org/gguf", "hub", False)
    assert [(w.name, w.bytes) for w in facts.weights] == [(file, len(tiny().bytes()))]
    assert (facts.layers, facts.parameters, facts.weight_bytes, facts.dtype) == (2, 320, 528, "Q8_0")
    assert facts.chat is not None


def test_what_the_hub_read_in_a_gguf_fills_what_did_not_come(fake: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = tiny().bytes()
    cut = raw.index(b"tokenizer.ggml.tokens")
    fake.repos["org/gguf"].files = {"m-Q8_0.gguf": raw}
    fake.repos["org/gguf"].info = {"gguf": {"total": 320, "chat_template": TEMPLATE, "eos_token": "</s>"}}
    monkeypatch.setattr(lookup, "LARGEST_BEGINNING", cut)
    facts = find("org/gguf")
    assert (facts.layers, facts.parameters, facts.weight_bytes) == (2, 320, len(raw))
    assert facts.chat is not None
    assert facts.chat.stop == ("</s>",)
    assert "parameters" not in facts.unknown


@pytest.mark.parametrize("ref", ["org/llama", "org/gguf", "org/gguf@v1:m-Q2_K.gguf"])
def test_a_second_look_up_works_without_the_hub(fake: FakeHub, ref: str) -> None:
    first = find(ref)
    fake.stop()
    for again in (find(ref), find(ref, offline=True)):
        assert again.unknown.pop("hub")
        assert again == first


def download(ref_repo: str, file: str | None = None) -> Path:
    """Really download, as a plan's step does, into the Hugging Face cache."""
    from huggingface_hub import HfApi

    api = HfApi(endpoint=endpoint())
    if file:
        return Path(api.hf_hub_download(ref_repo, file, cache_dir=str(hub_cache()))).parent
    return Path(api.snapshot_download(ref_repo, cache_dir=str(hub_cache())))


@pytest.mark.parametrize(("ref", "file"), [("org/llama", None), ("org/gguf:m-Q2_K.gguf", "m-Q2_K.gguf")])
def test_a_downloaded_model_needs_no_hub(fake: FakeHub, ref: str, file: str | None) -> None:
    folder = download(ref.partition(":")[0], file)
    fake.requests.clear()
    facts = find(ref)
    assert fake.requests == []
    assert (facts.source, facts.ref, facts.local, facts.revision) == ("hub", ref, True, COMMIT)
    assert facts.location == str(folder / file if file else folder)


def test_a_model_cached_in_part_is_described_offline(fake: FakeHub) -> None:
    download("org/llama", "config.json")
    facts = find("org/llama", offline=True)
    assert (facts.layers, facts.local, facts.weight_bytes) == (2, False, None)
    assert "offline" in facts.unknown["hub"]
    assert facts.location == "org/llama"  # a plan still downloads it from there


def test_a_lookups_config_in_the_cache_keeps_the_bundled_facts(fake: FakeHub) -> None:
    bundled = find("Qwen/Qwen3-8B", offline=True)
    config = Path(profiles.find("configs/Qwen--Qwen3-8B.json")).read_text()
    fake.repos["Qwen/Qwen3-8B"] = FakeRepo({"config.json": json.dumps(json.loads(config)["config"]).encode()})
    download("Qwen/Qwen3-8B", "config.json")
    facts = find("Qwen/Qwen3-8B", offline=True)
    assert facts.revision == COMMIT
    for name in ("location", "local", "parameters", "weight_bytes", "licence", "gated"):
        assert getattr(facts, name) == getattr(bundled, name), name
    assert (facts.location, "weight_bytes" in facts.unknown) == ("Qwen/Qwen3-8B", False)


def test_a_damaged_note_is_no_note(fake: FakeHub, isolated: Path) -> None:
    find("org/gguf")
    (note,) = (isolated / "cache" / "triton-wizard" / "hub").iterdir()
    note.write_text("{")
    with pytest.raises(ModelError) as caught:
        find("org/gguf", offline=True)
    assert caught.value.code == "TW-M15"


@pytest.mark.parametrize("how", ["argument", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_offline_never_asks(fake: FakeHub, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how != "argument":
        monkeypatch.setenv(how, "1")
    with pytest.raises(ModelError) as caught:
        find("org/llama", offline=how == "argument")
    assert caught.value.code == "TW-M15"
    assert "demo" in caught.value.todo
    asked = "--offline" if how == "argument" else how
    assert f"({asked})" in caught.value.what
    assert asked in caught.value.todo
    assert fake.requests == []
    assert access.reachable() is (how == "argument")


@pytest.mark.parametrize(
    ("ref", "code", "says"),
    [
        ("org/nothing", "TW-M11", "./PATH"),
        ("org/llama@nothing", "TW-M11", "spelling"),
        ("org/gated", "TW-M12", "hf auth login"),
        ("org/gguf:other.gguf", "TW-M16", "org/gguf:m-Q8_0.gguf"),
        ("org/many", "TW-M16", "org/many:m-Q2_K.gguf"),
        ("org/empty", "TW-M16", "another"),
        ("org/pickle", "TW-M06", "safetensors"),
        ("org/large-config", "TW-M04", "another"),
        ("org/bad-config", "TW-M05", "num_hidden_layers"),
    ],
)
def test_refusals(fake: FakeHub, ref: str, code: str, says: str) -> None:
    with pytest.raises(ModelError) as caught:
        find(ref)
    assert caught.value.code == code
    assert says in str(caught.value)


def test_a_gated_repository_opens_with_a_token(fake: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_wrongwrongwrongwrong")
    with pytest.raises(ModelError) as caught:
        find("org/gated")
    assert f"{fake.url}/org/gated" in caught.value.todo
    assert "your token's account has not accepted it" in caught.value.what
    assert "hf_wrong" not in str(caught.value)
    monkeypatch.setenv("HF_TOKEN", "right")
    assert find("org/gated").gated is True
    at_storage = [head for _, path, head in fake.requests if path.startswith("/cdn/")]
    assert at_storage
    assert all("authorization" not in head for head in at_storage)


@pytest.mark.parametrize("place", ["file", "nowhere"])
def test_a_cache_that_cannot_be_written_is_not_the_hubs_silence(
    fake: FakeHub, place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("where HF_HOME should be a folder")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "file") if place == "file" else "/proc/nowhere")
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    with pytest.raises(WorkspaceError) as caught:
        find("org/llama")
    assert caught.value.code == "TW-M18"
    assert "HF_HOME" in caught.value.todo
    assert find("org/gguf").parameters  # of a GGUF file only the beginning is read, and nothing is kept of it


def test_a_full_disk_under_the_cache() -> None:
    error = errors.translated(OSError(errno.ENOSPC, "No space left on device"), None)
    assert (error.code, error.exit_code) == ("TW-M18", WorkspaceError.exit_code)


@pytest.mark.parametrize(
    ("trouble", "code"),
    [(401, "TW-M12"), (403, "TW-M12"), (429, "TW-M14"), (500, "TW-M14"), (503, "TW-M14"), ("foreign", "TW-M14")],
)
def test_errors_of_the_hub(trouble: int | str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with troubled(trouble, monkeypatch), pytest.raises(WizardError) as caught:
        find("org/llama")
    assert caught.value.code == code


@pytest.mark.parametrize("trouble", ["silent", "drip"])
def test_a_hub_that_never_ends_its_answer(trouble: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "DEADLINE", 1.0)
    with troubled(trouble, monkeypatch), pytest.raises(NetworkError) as caught:
        find("org/llama")
    assert caught.value.code == "TW-M13"
    assert "triton-wizard up demo" in caught.value.todo


def test_a_name_look_up_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def fake_resolver(*_: object, **__: object) -> Any:
        released.wait()
        raise OSError("released")

    monkeypatch.setattr("socket.getaddrinfo", fake_resolver)
    monkeypatch.setattr(lookup, "DEADLINE", 1.0)
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    try:
        with pytest.raises(NetworkError) as caught:
            find("org/llama")
        assert caught.value.code == "TW-M13"
        assert access.reachable(0.2) is False
    finally:
        released.set()


def test_the_deadline_keeps_the_promise_of_ten_seconds() -> None:
    assert access.DEADLINE < 10


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:9", "http://name.invalid", "no-url"])
def test_nothing_there(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(NetworkError) as caught:
        find("org/llama")
    assert caught.value.code == "TW-M13"
    assert access.reachable() is False


def test_reachable(fake: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    assert access.reachable() is True
    with troubled(503, monkeypatch):
        assert access.reachable() is False


def answers(**changes: Any) -> Callable[[FakeRepo], None]:
    return lambda repo: repo.info.update(changes)


@pytest.mark.parametrize(
    "change",
    [
        answers(siblings=None),
        answers(siblings=[{"size": 3}]),
        answers(siblings=[{"rfilename": "config.json", "size": "big"}, {"rfilename": "model.safetensors", "size": -4}]),
        answers(safetensors={"parameters": "many", "total": 1}),
        answers(id=None, sha=["x"], gated={"a": 1}, tags="license", cardData=[1]),
    ],
)
def test_a_hub_that_answers_nonsense(fake: FakeHub, change: Callable[[FakeRepo], None]) -> None:
    change(fake.repos["org/llama"])
    try:
        facts = find("org/llama")
    except WizardError as error:
        assert error.code in ("TW-M14", "TW-M16")  # noqa: PT017
    else:
        assert facts.layers == 2


def test_the_download_command_really_downloads(fake: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "right")
    monkeypatch.setenv("HF_HUB_DISABLE_UPDATE_CHECK", "1")
    single = access.download_command("org/gguf", ["m-Q8_0.gguf"], "v1", str(tmp_path / "one"))
    everything = access.download_command("org/gated", (), None, str(tmp_path / "all"))
    assert single[0] == sys.executable
    assert "right" not in " ".join(single + everything)
    for command in (single, everything):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "one" / "m-Q8_0.gguf").read_bytes() == tiny().bytes()
    got = {path.name for path in (tmp_path / "all").iterdir() if path.is_file()}
    assert got == set(LLAMA) - {"pytorch_model.bin"}
