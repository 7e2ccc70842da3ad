from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.repository import broken
from tests.server_environment import write as write_repository
from tests.stacks.llamacpp.test_repository import CHOICE, FACTS
from tests.stacks.vllm import test_repository as test_vllm
from wizard.kernel.errors import UsageError
from wizard.repository.lint import Report, lint, report_text, server
from wizard.repository.linting.finding import Finding, Server
from wizard.repository.linting.model import LARGEST
from wizard.repository.linting.text import LARGEST_CONFIG
from wizard.stacks.llamacpp import repository as llamacpp
from wizard.stacks.trtllm_engine.lint import built_for

WHEEL = Server(frozenset({"python"}), gpus=0)


def codes(root: Path, known: Server = WHEEL) -> dict[str, set[str]]:
    """Model → codes of what was found in it."""
    by_model: dict[str, set[str]] = {}
    for each in lint(root, known).findings:
        by_model.setdefault(each.model, set()).add(each.code)
    return by_model


def only(root: Path, files: broken.Files, known: Server = WHEEL) -> list[Finding]:
    """The findings about one model that is called ``m``."""
    return list(lint(broken.write(root, {"m": files}), known).findings)


def test_our_own_repository_is_clean(tmp_path: Path) -> None:
    made = llamacpp.repository("demo", gguf_path="/x.gguf", facts=FACTS, choice=CHOICE, threads=2)
    assert lint(write_repository(made, tmp_path), WHEEL).findings == ()


@pytest.mark.parametrize("release", ["24.05", "24.12", "26.07"])
def test_our_vllm_repository_is_clean(release: str, tmp_path: Path) -> None:
    root = write_repository(test_vllm.of(release), tmp_path)
    assert lint(root, server(f"{release}-vllm-python-py3", gpus=1)).findings == ()


EXPECTED = {
    "unfilled_number": "R101",
    "unfilled_in_string": "R103",
    "unknown_enum": "R104",
    "unknown_field": "R105",
    "no_config": "R106",
    "other_name": "R201",
    "no_version": "R203",
    "version_01": "R204",
    "missing_version": "R206",
    "unknown_backend": "R301",
    "no_type": "R302",
    "input_twice": "R303",
    "kind_gpu": "R401",
    "gpus_of_cpu": "R403",
    "e_no_steps": "R501",
    "e_unknown_model": "R502",
    "e_unknown_input": "R503",
    "e_input_missing": "R504",
    "e_type": "R505",
    "e_dims": "R506",
    "e_unused_input": "R507",
    "e_batch": "R508",
    "e_needs_broken": "R509",
    "e_circle_one": "R510",
    "e_writes_input": "R511",
    "syntax_error": "R601",
    "no_class": "R602",
}


def test_each_mistake_has_its_code(tmp_path: Path) -> None:
    reported = codes(broken.write(tmp_path))
    assert {name: code for name, code in EXPECTED.items() if code not in reported[name]} == {}


def test_where_it_is(tmp_path: Path) -> None:
    """As the server says it: `Error parsing text-format inference.ModelConfig: 3:17`."""
    places = {each.model: (each.line, each.column) for each in lint(broken.write(tmp_path), WHEEL).findings}
    assert places["unfilled_number"] == (3, 17)
    assert places["unfilled_bool"] == (8, 39)
    assert places["unknown_field"] == (3, 1)
    assert places["syntax_error"][0] == 5


@pytest.mark.parametrize(
    ("key", "code", "severity"),
    [("tokenizer_dir", "R102", "error"), ("gpt_model_path", "R102", "error"), ("max_beam_width", "R103", "warning")],
)
def test_templates_in_strings(key: str, code: str, severity: str, tmp_path: Path) -> None:
    text = broken.CONFIG + f'parameters {{ key: "{key}" value {{ string_value: "${{x}}" }} }}\n'
    (finding,) = only(tmp_path, broken.python(text))
    assert (finding.code, finding.severity) == (code, severity)


def test_names_and_folders(tmp_path: Path) -> None:
    models = {"a b": broken.python(), "é": broken.python(), "empty": broken.python(model=None)}
    reported = codes(broken.write(tmp_path / "models", models))
    assert reported == {"a b": {"R202"}, "é": {"R208"}, "empty": {"R205"}}
    (tmp_path / "nothing").mkdir()
    assert codes(tmp_path / "nothing") == {"": {"R207"}}
    assert codes(broken.write(tmp_path / "with space", {"m": broken.python()})) == {"": {"R209"}}


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (broken.write(tmp_path, {"m": broken.python()}) / "m/config.pbtxt").write_bytes(b"\xff\xfe")
    assert codes(tmp_path) == {"m": {"R107"}}


@pytest.mark.parametrize("there", [False, True])
def test_no_repository(there: bool, tmp_path: Path) -> None:
    if there:
        (tmp_path / "x").write_text("a file")
    with pytest.raises(UsageError) as error:
        lint(tmp_path / "x")
    assert error.value.code == "TW-L62"


VLLM = 'name: "NAME"\nbackend: "vllm"\ninstance_group { count: 1 kind: KIND_MODEL }\n'


@pytest.mark.parametrize(
    ("config", "arguments", "expected"),
    [
        (VLLM, '{"model": "x", "tensor_parallel_size": 4}', set()),
        (VLLM.replace("KIND_MODEL", "KIND_GPU"), '{"model": "x", "tensor_parallel_size": 4}', {"R404"}),
        (VLLM.replace("KIND_MODEL", "KIND_GPU"), '{"model": "x", "pipeline_parallel_size": 2}', {"R404"}),
        (VLLM.replace("KIND_MODEL", "KIND_GPU"), '{"model": "x", "data_parallel_size": 2}', {"R404"}),
        (VLLM.replace("KIND_MODEL", "KIND_GPU"), '{"model": "x"}', set()),
        (VLLM, '{"model": "x",}', {"R801"}),
        (VLLM, "[]", {"R801"}),
        (VLLM, '{"model": "x", "gpu_memory_utilisation": 0.9}', {"R802"}),
        (VLLM, "{}", {"R803"}),
        (VLLM + "model_transaction_policy { decoupled: false }\n", '{"model": "x"}', {"R901"}),
        (VLLM + "model_transaction_policy { decoupled: true }\n", '{"model": "x"}', set()),
    ],
)
def test_models_of_vllm(config: str, arguments: str, expected: set[str], tmp_path: Path) -> None:
    findings = only(tmp_path, {"config.pbtxt": config, "1/model.json": arguments}, Server(frozenset({"vllm"}), gpus=4))
    assert {each.code for each in findings} == expected


def engine(
    tmp_path: Path, *, tp: int = 1, pp: int = 1, ranks: int = 1, version: str = "0.13.0", batch: int = 8
) -> Path:
    folder = tmp_path / "engine"
    folder.mkdir()
    config = {
        "version": version,
        "pretrained_config": {"mapping": {"tp_size": tp, "pp_size": pp, "world_size": tp * pp}},
        "build_config": {"max_batch_size": batch},
    }
    (folder / "config.json").write_text(json.dumps(config))
    for rank in range(ranks):
        (folder / f"rank{rank}.engine").touch()
    return folder


def trtllm(folder: str, strategy: str = "inflight_fused_batching") -> broken.Files:
    text = broken.CONFIG.replace('"python"', '"tensorrtllm"')
    for key, value in (("gpt_model_path", folder), ("gpt_model_type", strategy)):
        text += f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'
    return {"config.pbtxt": text, "1/": ""}


L4 = Server(frozenset({"tensorrtllm"}), {"trtllm": "0.13.0"}, gpus=2)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, set()),
        ({"tp": 2, "ranks": 2}, set()),
        ({"tp": 2, "ranks": 1}, {"R704"}),
        ({"ranks": 0}, {"R704"}),
        ({"tp": 2, "pp": 2, "ranks": 4}, {"R402"}),
        ({"version": "0.12.0"}, {"R705"}),
        ({"batch": 1}, {"R706"}),
    ],
)
def test_an_engine(more: dict[str, int], expected: set[str], tmp_path: Path) -> None:
    folder = engine(tmp_path, **more)  # type: ignore[arg-type]
    assert {each.code for each in only(tmp_path / "models", trtllm(str(folder)), L4)} == expected


@pytest.mark.parametrize(
    ("note", "capabilities", "expected"),
    [
        ('{"8.9": "NVIDIA L4"}', {"8.9"}, set()),
        ('{"8.9": "NVIDIA L4"}', {"8.0"}, {"R708"}),
        ('{"8.9": "NVIDIA L4"}', None, set()),
        ("{}", {"8.0"}, set()),
        ("[", {"8.0"}, set()),
        (None, {"8.0"}, set()),
    ],
)
def test_an_engine_for_another_gpu(
    note: str | None, capabilities: set[str] | None, expected: set[str], tmp_path: Path
) -> None:
    folder = engine(tmp_path)
    if note is not None:
        built_for(folder).write_text(note)
    here = replace(L4, capabilities=frozenset(capabilities) if capabilities else None)
    findings = only(tmp_path / "models", trtllm(str(folder)), here)
    assert {each.code for each in findings} == expected
    assert all("NVIDIA L4 (8.9)" in each.what and "8.0" in each.what for each in findings)


def test_an_engine_of_build_py(tmp_path: Path) -> None:
    folder = engine(tmp_path, ranks=0)
    (folder / "config.json").write_text('{"builder_config": {"tensor_parallel": 2, "max_batch_size": 8}}')
    for rank in range(2):
        (folder / f"llama_float16_tp2_rank{rank}.engine").touch()
    assert only(tmp_path / "models", trtllm(str(folder)), L4) == []


NO_ENGINES = [
    *("", "[]", "{}", "null", '{"pretrained_config": 1}', '{"builder_config": {}}'),
    '{"pretrained_config": {"mapping": {"tp_size": 1e400}}}',
    '{"pretrained_config": {"mapping": {"pp_size": NaN}}}',
    '{"builder_config": {"tensor_parallel": 1, "max_batch_size": 1e400}}',
    pytest.param("[" * 200_000, id="deep"),
]


@pytest.mark.parametrize("text", NO_ENGINES)
def test_no_engine(text: str, tmp_path: Path) -> None:
    folder = engine(tmp_path)
    (folder / "config.json").write_text(text)
    assert [each.code for each in only(tmp_path / "models", trtllm(str(folder)), L4)] == ["R703"]


def test_folders_that_the_server_sees_elsewhere(tmp_path: Path) -> None:
    engine(tmp_path)
    root, there = tmp_path / "models", "/engines/engine"
    assert [each.code for each in only(root, trtllm(there), L4)] == ["R702"]
    assert only(root, trtllm(there), replace(L4, mounts=((str(tmp_path), "/engines"),))) == []


def test_batching_strategy(tmp_path: Path) -> None:
    folder = engine(tmp_path)
    assert [each.code for each in only(tmp_path / "models", trtllm(str(folder), "static"), L4)] == ["R707"]


@pytest.mark.parametrize(
    ("tokenizer", "expected"),
    [("/nowhere", {"R701"}), ("./nowhere", {"R701"}), ("meta-llama/Llama-2-7b-hf", set()), ("gpt2", set())],
)
def test_tokenizers(tokenizer: str, expected: set[str], tmp_path: Path) -> None:
    text = broken.CONFIG + f'parameters {{ key: "tokenizer_dir" value {{ string_value: "{tokenizer}" }} }}\n'
    assert {each.code for each in only(tmp_path, broken.python(text))} == expected


def test_streams_of_what_is_not_decoupled(tmp_path: Path) -> None:
    text = broken.CONFIG.replace('"MAYBE" data_type: TYPE_FP32', '"streaming" data_type: TYPE_BOOL')
    assert [each.code for each in only(tmp_path / "a", broken.python(text))] == ["R901"]
    decoupled = text + "model_transaction_policy { decoupled: true }\n"
    assert only(tmp_path / "b", broken.python(decoupled)) == []
    llmapi = broken.python() | {"1/model.yaml": "triton_config:\n  decoupled: True\n"}
    assert [each.code for each in only(tmp_path / "c", llmapi)] == ["R901"]


@pytest.mark.parametrize("name", ["1/model.json", "1/model.yaml", "engine/config.json", "engine.gpus.json"])
def test_files_that_are_no_files(name: str, tmp_path: Path) -> None:
    """One that is too large, and one that cannot be read: findings about it, and of the rest what there is to say."""
    folder = engine(tmp_path)
    files = {"1/model.json": {"config.pbtxt": VLLM, name: ""}, "1/model.yaml": broken.python() | {name: ""}}
    root = broken.write(tmp_path / "models", {"m": files.get(name, trtllm(str(folder)))})
    path = root / "m" / name if name in files else tmp_path / name
    known = replace(L4, backends=frozenset({"python", "vllm", "tensorrtllm"}))
    path.touch()
    os.truncate(path, LARGEST + 1)
    large = lint(root, known).findings
    path.unlink()
    path.symlink_to("/proc/self/mem")  # opens, and cannot be read at its beginning
    unread = lint(root, known).findings
    expected = {"1/model.json": ["R801"], "1/model.yaml": ["R107"], "engine/config.json": ["R703"]}.get(name, [])
    assert [each.code for each in large] == [each.code for each in unread] == expected


def test_a_configuration_that_would_take_much_memory_to_parse(tmp_path: Path) -> None:
    root = broken.write(tmp_path, {"m": broken.python()})
    config = root / "m/config.pbtxt"
    config.write_text(config.read_text() + "# " + "x" * LARGEST_CONFIG + "\n")
    assert [each.code for each in lint(root).findings] == ["R107"]


def test_one_model_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"bad": trtllm("/" + "x" * 300), "good": broken.python()}  # a name that no file system takes
    root = broken.write(tmp_path / "long", names)
    assert codes(root, replace(L4, backends=None)) == {"bad": {"R107"}}
    closed = broken.write(tmp_path / "closed", {"bad": broken.python(), "good": broken.python()})
    closed.chmod(0o755)
    monkeypatch.chdir(closed)
    for rights in (0, 0o444, 0o111):
        Path("bad").chmod(rights)
        with as_nobody():
            reported = codes(Path())
        assert reported == {"bad": {"R107"}}
    Path("bad").chmod(0o755)


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Without root's rights, for which a folder that nobody may read would be no obstacle."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(was)


def test_gpus_that_there_are_not(tmp_path: Path) -> None:
    files = broken.in_config("kind: KIND_CPU count: 1", "kind: KIND_GPU count: 1 gpus: [ 0, 3 ]")
    assert [each.code for each in only(tmp_path / "a", files, replace(WHEEL, gpus=2))] == ["R402"]
    assert only(tmp_path / "b", files, replace(WHEEL, gpus=None)) == []


def test_what_is_known_of_an_image() -> None:
    known = server("24.09-trtllm-python-py3", gpus=1, mounts=("a:/b",))
    assert known.backends == {"python", "tensorrtllm"}
    assert (known.engines, known.gpus, known.mounts) == ({"trtllm": "0.13.0"}, 1, (("a", "/b"),))
    assert server("24.09").backends is None
    assert server("nvcr.io/nvidia/tritonserver:24.09-vllm-python-py3").backends == {"python", "vllm"}
    assert server(None, backends="python,mine").backends == {"python", "mine"}
    for version in ("99.99", "24.09-nonsense"):
        with pytest.raises(UsageError) as error:
            server(version)
        assert error.value.code == "TW-L63"
    for mount in ("a", "a:b", ":/b"):
        with pytest.raises(UsageError) as error:
            server(None, mounts=(mount,))
        assert error.value.code == "TW-L64"


def test_a_backend_of_no_image(tmp_path: Path) -> None:
    (finding,) = only(tmp_path, broken.in_config('"python"', '"mine"'), Server())
    assert "tensorrtllm" in finding.what
    assert "vllm-python-py3" in finding.what


def test_the_text_for_people(tmp_path: Path) -> None:
    report = report_text(lint(broken.write(tmp_path, {"m": broken.MODELS["unknown_field"]}), WHEEL))
    assert report.startswith("m/config.pbtxt:3:1: error R105: ")
    assert report.endswith("1 error, 0 warnings")


@given(data=st.data())
def test_no_text_makes_it_stumble(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A configuration cut short, or with something put into it, gives findings and no exception."""
    text = data.draw(st.sampled_from([broken.CONFIG, broken.ENSEMBLE, VLLM]))
    at = data.draw(st.integers(0, len(text)))
    more = data.draw(st.text(max_size=5) | st.sampled_from(["${x}", '"', "}", "dims: [0]", "\\", "'", "#", "-1"]))
    end = data.draw(st.integers(at, len(text)))
    root = tmp_path_factory.mktemp("any")
    (root / "m/1").mkdir(parents=True)
    (root / "m/config.pbtxt").write_bytes((text[:at] + more + text[end:]).encode("utf-8", "surrogatepass"))
    assert isinstance(lint(root, WHEEL), Report)


def test_every_code_is_explained() -> None:
    checkout = Path(__file__).resolve().parent.parent.parent
    folders = [checkout / "wizard/repository", checkout / "wizard/stacks"]
    sources = [path for folder in folders for path in folder.rglob("*.py")]
    made = {code for path in sources for code in re.findall(r'"(R\d{3})"', path.read_text(encoding="utf-8"))}
    text = (checkout / "docs/repositories.md").read_text(encoding="utf-8")
    assert made == set(re.findall(r"\bR\d{3}\b", text))
    assert len(made) > 30
