"""Each rule of the linter at its border: one repository with the fault beside one without it."""

from __future__ import annotations

import ast
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.plan.golden import compared
from tests.repository import broken
from tests.repository.broken import ENSEMBLE, MODEL, Files, in_config, python, without
from wizard.kernel.errors import UsageError
from wizard.repository.lint import lint, report_text, server
from wizard.repository.linting.finding import Finding, Server
from wizard.repository.linting.model import contents, place

PYTHON = Server(frozenset({"python"}), gpus=0, name="this server")
EITHER_WAY = re.compile(r"(not valid Python|Parsed as Python|not a valid Triton configuration)[^;\n]*")
"""Words of the Python and the protobuf library that run the tests."""


def findings(root: Path, models: dict[str, Files], known: Server = PYTHON) -> tuple[Finding, ...]:
    return lint(broken.write(root, models), known).findings


def test_every_mistake_in_words_in_its_place_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``UPDATE_GOLDEN=1`` writes it anew; a real server judges the same models in ``tests/e2e/test_lint.py``."""
    monkeypatch.chdir(tmp_path)
    report = report_text(lint(broken.write(Path("models")), PYTHON))
    compared("lint", "broken", EITHER_WAY.sub(r"\1 …", report) + "\n")


BATCHED = 'name: "NAME" backend: "python" max_batch_size: 4 '
TENSOR = 'input {{ name: "A" data_type: TYPE_INT8 dims: {} }}'
RESHAPED = 'input {{ name: "A" data_type: TYPE_INT8 dims: {} reshape {{ shape: {} }} }}'
GROUP = 'name: "NAME" backend: "python" instance_group {{ kind: {} gpus: {} }}'
GROUPS = (
    'name: "NAME" backend: "python" instance_group { kind: KIND_GPU } instance_group { kind: KIND_CPU gpus: [ 0 ] }'
)
BATCHES = "max_batch_size: 4 dynamic_batching {{ preferred_batch_size: {} }}"
CACHE, DECOUPLED = "response_cache { enable: true } ", "model_transaction_policy { decoupled: true } "
PLAIN = 'name: "NAME" backend: "python" '
ONE_GPU, THREE_GPUS = replace(PYTHON, gpus=1), replace(PYTHON, gpus=3)
UNKNOWN = replace(PYTHON, gpus=None)


@pytest.mark.parametrize(
    ("config", "known", "codes"),
    [
        # dimensions
        (BATCHED + TENSOR.format("[ 1 ]"), PYTHON, []),
        (BATCHED + TENSOR.format("[ -1 ]"), PYTHON, []),
        (BATCHED + TENSOR.format("[ 0 ]"), PYTHON, ["R302"]),
        (BATCHED + TENSOR.format("[ 2, 0 ]"), PYTHON, ["R302"]),
        (BATCHED + TENSOR.format("[ -2 ]"), PYTHON, ["R302"]),
        (BATCHED + TENSOR.format("[ ]"), PYTHON, ["R302"]),
        (BATCHED + RESHAPED.format("[ 2, 3 ]", "[ 6 ]"), PYTHON, []),
        (BATCHED + RESHAPED.format("[ 2, 3 ]", "[ 5 ]"), PYTHON, ["R302"]),
        (BATCHED + RESHAPED.format("[ -1 ]", "[ -1, 1 ]"), PYTHON, []),
        (BATCHED + RESHAPED.format("[ -1 ]", "[ 1 ]"), PYTHON, ["R302"]),
        (BATCHED + RESHAPED.format("[ 1 ]", "[ -1 ]"), PYTHON, ["R302"]),
        (BATCHED + RESHAPED.format("[ -1, -1 ]", "[ -1 ]"), PYTHON, ["R302"]),
        (BATCHED + RESHAPED.format("[ 0 ]", "[ 1 ]"), PYTHON, ["R302"]),
        # batches
        (PLAIN + "max_batch_size: -1", PYTHON, ["R302"]),
        (PLAIN + "max_batch_size: 0", PYTHON, []),
        (PLAIN + BATCHES.format("[ 1, 4 ]"), PYTHON, []),
        (PLAIN + BATCHES.format("[ 5 ]"), PYTHON, ["R302"]),
        (PLAIN + BATCHES.format("[ 0 ]"), PYTHON, ["R302"]),
        (PLAIN + CACHE, PYTHON, []),
        (PLAIN + DECOUPLED, PYTHON, []),
        (PLAIN + CACHE + DECOUPLED, PYTHON, ["R302"]),
        # instances
        (GROUP.format("KIND_CPU", "[ ]"), ONE_GPU, []),
        (GROUP.format("KIND_CPU", "[ 0 ]"), ONE_GPU, ["R403"]),
        (GROUP.format("KIND_GPU", "[ ]"), ONE_GPU, []),
        (GROUP.format("KIND_GPU", "[ ]"), PYTHON, ["R401"]),
        (GROUP.format("KIND_GPU", "[ 0 ]"), PYTHON, ["R401"]),
        (GROUP.format("KIND_GPU", "[ 0 ]"), ONE_GPU, []),
        (GROUP.format("KIND_GPU", "[ 1 ]"), ONE_GPU, ["R402"]),
        (GROUP.format("KIND_AUTO", "[ 1 ]"), ONE_GPU, ["R402"]),
        (GROUP.format("KIND_AUTO", "[ 1 ]"), PYTHON, []),
        (GROUP.format("KIND_MODEL", "[ 1 ]"), ONE_GPU, []),
        (GROUP.format("KIND_GPU", "[ 1 ]"), UNKNOWN, []),
        (GROUPS, UNKNOWN, ["R403"]),
        # versions
        (PLAIN + "version_policy { latest { num_versions: 2 } }", PYTHON, []),
        (PLAIN + "version_policy { specific { versions: [ 1 ] } }", PYTHON, []),
        (PLAIN + "version_policy { specific { versions: [ 1, 2 ] } }", PYTHON, ["R206"]),
        (PLAIN + "version_policy { specific { } }", PYTHON, ["R206"]),
        (PLAIN + "version_policy { all { } }", PYTHON, []),
    ],
)
def test_values(config: str, known: Server, codes: list[str], tmp_path: Path) -> None:
    assert [each.code for each in findings(tmp_path, {"m": python(config)}, known)] == codes


def test_the_first_value_is_named(tmp_path: Path) -> None:
    groups = GROUP.format("KIND_GPU", "[ 0, 4, 3 ]")
    (gpu,) = findings(tmp_path / "a", {"m": python(groups)}, THREE_GPUS)
    assert gpu.what == "the instance group requires GPU 4, but there are only 3 GPUs, numbered from 0"
    (batch,) = findings(tmp_path / "b", {"m": python(PLAIN + BATCHES.format("[ 4, 8, 16 ]"))})
    assert batch.what == "preferred_batch_size 8 exceeds max_batch_size 4"


LATEST = PLAIN + "version_policy {{ latest {{ num_versions: {} }} }}"


@pytest.mark.parametrize(
    ("policy", "checked"),
    [
        (PLAIN, ["10"]),
        (LATEST.format(0), ["10"]),
        (LATEST.format(1), ["10"]),
        (LATEST.format(2), ["3", "10"]),
        (LATEST.format(9), ["1", "3", "10"]),
        (PLAIN + "version_policy { specific { versions: [ 10, 1 ] } }", ["1", "10"]),
        (PLAIN + "version_policy { all { } }", ["1", "3", "10"]),
    ],
)
def test_only_versions_that_are_loaded_need_their_file(policy: str, checked: list[str], tmp_path: Path) -> None:
    reported = findings(tmp_path, {"m": {"config.pbtxt": policy, "1/": "", "3/": "", "10/": ""}})
    assert {each.file for each in reported} == {f"m/{version}/model.py" for version in checked}
    assert {each.code for each in reported} == {"R205"}


@pytest.mark.parametrize(
    ("files", "codes"),
    [
        ({"1/model.onnx": ""}, [("R106", "warning")]),
        ({"1/model.plan": ""}, [("R106", "warning")]),
        ({"2/model.xml": ""}, [("R106", "warning")]),
        ({"1/model.pt": ""}, [("R106", "error")]),
        ({"1/model.py": MODEL}, [("R106", "error")]),
        ({"x/model.onnx": ""}, [("R106", "error")]),
        ({"config.pbtxt/": "", "1/model.py": MODEL}, [("R106", "error")]),
    ],
)
def test_without_a_configuration(files: Files, codes: list[tuple[str, str]], tmp_path: Path) -> None:
    assert [(each.code, each.severity) for each in findings(tmp_path, {"m": files})] == codes


@pytest.mark.parametrize(
    ("folder", "codes"),
    [
        ("01", [("R204", "warning")]),
        ("-1", [("R204", "error")]),
        ("-01", [("R204", "error")]),
        ("x1", []),
        ("1x", []),
        ("20", []),
    ],
)
def test_folders_beside_a_version(folder: str, codes: list[tuple[str, str]], tmp_path: Path) -> None:
    files = {**python(), f"{folder}/model.py": MODEL}
    assert [(each.code, each.severity) for each in findings(tmp_path, {"m": files})] == codes


@pytest.mark.parametrize(
    ("name", "codes"),
    [("m-1_a.b~", []), ("a b", ["R202"]), ("a\tb", ["R202"]), ("a+b", ["R208"]), ("é", ["R208"]), ("é b", ["R202"])],
)
def test_names(name: str, codes: list[str], tmp_path: Path) -> None:
    assert [each.code for each in findings(tmp_path, {name: python()})] == codes


NO_BACKEND = 'name: "NAME"\n'


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"config.pbtxt": NO_BACKEND, "1/model.py": MODEL}, None),
        ({"config.pbtxt": NO_BACKEND, "1/": ""}, "no backend is set to run the model"),
        ({"config.pbtxt": NO_BACKEND + 'platform: "x"', "1/": ""}, "unknown Triton platform: 'x'"),
        ({"config.pbtxt": NO_BACKEND + 'backend: "mine"', "1/libtriton_mine.so": ""}, None),
        (
            {"config.pbtxt": NO_BACKEND + 'backend: "mine"', "2/libtriton_mine.so": ""},
            "this server has no backend 'mine'; available: dali, python",
        ),
        (
            {"config.pbtxt": NO_BACKEND + 'platform: "onnxruntime_onnx"', "1/model.onnx": ""},
            "this server has no backend 'onnxruntime'; available: dali, python",
        ),
        ({"config.pbtxt": NO_BACKEND + 'backend: "dali"', "1/": ""}, None),
    ],
)
def test_backends(files: Files, message: str | None, tmp_path: Path) -> None:
    reported = findings(tmp_path, {"m": files}, replace(PYTHON, backends=frozenset({"python", "dali"})))
    assert [(each.code, each.what) for each in reported] == ([("R301", message)] if message else [])


def test_no_backend_of_any_image(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, {"m": in_config('"python"', '"mine"')}, Server())
    assert "; trtllm-python-py3 (python, tensorrtllm); " in finding.what
    assert finding.what.endswith("repeat, square, tensorflow, tensorrt)")
    assert finding.line == 2


BODIES = [
    ("class TritonPythonModel: pass", []),
    ("from x import TritonPythonModel", []),
    ("import x as TritonPythonModel", []),
    ("from x import y as TritonPythonModel", []),
    ("from x import *", []),
    ("TritonPythonModel = make()", []),
    ("if x:\n    class TritonPythonModel: pass", []),
    ("x = TritonPythonModel()", ["R602"]),
    ("from x import TritonPythonModel as y", ["R602"]),
    ("x.TritonPythonModel = 1", ["R602"]),
    ("class Other: TritonPythonModels = 1", ["R602"]),
    ("", ["R602"]),
    ("def", ["R601"]),
    ("# coding: nonsense", ["R601"]),
    ("x = 1\0", ["R601"]),
    ("-" * 100_000 + "1", ["R601"]),
]


@pytest.mark.parametrize(("body", "codes"), BODIES, ids=range(len(BODIES)))
def test_python_models(body: str, codes: list[str], tmp_path: Path) -> None:
    assert [each.code for each in findings(tmp_path / "a", {"m": python(model=body)})] == codes
    renamed = {"config.pbtxt": PLAIN + 'default_model_filename: "other.py"', "1/other.py": body}
    assert [(each.code, each.file) for each in findings(tmp_path / "b", {"m": renamed})] == [
        (code, "m/1/other.py") for code in codes
    ]


def test_where_python_is_not_python(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path / "a", {"m": python(model="x = 1\ny = = 2\n")})
    assert (finding.file, finding.line, finding.column) == ("m/1/model.py", 2, 5)
    version = ".".join(map(str, sys.version_info[:2]))
    assert finding.fix == f"Fix the syntax error. (The file was parsed as Python {version}, not run.)"
    (finding,) = findings(tmp_path / "b", {"m": python(model="# coding: nonsense")})
    assert (finding.what, finding.line) == ("not valid Python: unknown encoding: nonsense", None)


@pytest.mark.parametrize("error", [RecursionError("deep"), MemoryError("deep"), ValueError("deep"), OSError("deep")])
def test_python_that_no_parser_takes(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of these it is differs between versions of Python."""

    def parse(_: bytes) -> None:
        raise error

    monkeypatch.setattr(ast, "parse", parse)
    (finding,) = findings(tmp_path, {"m": python()})
    assert (finding.code, finding.what, finding.line) == ("R601", "not valid Python: deep", None)


@pytest.mark.parametrize(
    ("text", "code", "at", "fix"),
    [
        ("data_type: ${x}", "R101", (1, 12), "Set the tensor's type"),
        ("x: 1 data_type:  ${x", "R101", (1, 18), "Set the tensor's type"),
        ("data_types: ${x}", "R101", (1, 13), "Fill it in"),
        ("${x}", "R101", (1, 1), "Fill it in"),
        ("\nx: ${x}", "R101", (2, 4), "Fill it in"),
        ('"\n${x}', "R101", (2, 1), "Fill it in"),
        ('name: "m" x: 1', "R105", (1, 11), "Correct the field name"),
        ('name: "m', "R104", (1, 7), "Correct the configuration"),
    ],
)
def test_text(text: str, code: str, at: tuple[int, int], fix: str, tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, {"m": python(text)})
    assert (finding.code, (finding.line, finding.column)) == (code, at)
    assert finding.fix.startswith(fix)


def test_templates_in_comments_and_strings_are_nobodys(tmp_path: Path) -> None:
    text = 'name: "m" # ${x}\nbackend: "python" parameters { key: \'a"${b}\' value { string_value: "\\"${c}" } }'
    assert "R101" not in {each.code for each in findings(tmp_path, {"m": python(text)})}


@pytest.mark.parametrize(
    ("text", "index", "expected"),
    [
        ("", 0, (1, 1)),
        ("ab", 1, (1, 2)),
        ("\nab", 0, (1, 1)),
        ("\nab", 1, (2, 1)),
        ("a\n\nb", 3, (3, 1)),
        ("a\nbc\n", 3, (2, 2)),
    ],
)
def test_places(text: str, index: int, expected: tuple[int, int]) -> None:
    assert place(text, index) == expected


def test_a_place_is_that_of_the_text_if_it_is_there(tmp_path: Path) -> None:
    (first,) = findings(tmp_path / "a", {"m": {"config.pbtxt": 'backend: "x" platform: "ensemble"', "1/": ""}})
    assert (first.code, first.line, first.column) == ("R501", 1, 1)
    (unquoted,) = findings(tmp_path / "b", {"m": python("name: 'x' backend: 'python'")})
    assert (unquoted.code, unquoted.line, unquoted.column) == ("R201", None, None)


def test_files_up_to_sixteen_mebibytes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.touch()
    os.truncate(path, 16_777_216)
    assert len(contents(path)) == 16_777_216
    os.truncate(path, 16_777_217)
    with pytest.raises(ValueError, match=r"^it is larger than 16\.0 MiB$"):
        contents(path)


def test_the_order_is_by_model_severity_code_and_place(tmp_path: Path) -> None:
    """On one line the later tensor's mistake is looked for first."""
    line = 'name: "b" max_batch_size: -1 input { name: "A" dims: [ 1 ] } output { name: "B" dims: [ 0 ] }'
    models = {
        "b": python(line + '\nbackend: "python"\ninput { name: "A" data_type: TYPE_INT8 dims: [ 1 ] }'),
        "a": in_config("max_batch_size: 4", "max_batch_size: ${x}\nname: ${y}"),
    }
    reported = [(each.model, each.severity, each.code, each.line, each.column) for each in findings(tmp_path, models)]
    assert reported == [
        ("a", "error", "R101", 3, 17),
        ("a", "error", "R101", 4, 7),
        ("b", "error", "R302", 1, line.index("max_batch_size") + 1),
        ("b", "error", "R302", 1, line.index('"A"') + 1),
        ("b", "error", "R302", 1, line.index('"B"') + 1),
        ("b", "error", "R302", 1, line.index('"B"') + 1),
        ("b", "warning", "R303", 1, line.index('"A"') + 1),
    ]


def test_the_same_mistake_is_reported_once(tmp_path: Path) -> None:
    text = ENSEMBLE.replace("max_batch_size: 4", "max_batch_size: 5")
    assert [each.code for each in findings(tmp_path, {"good": python(), "e": broken.ensemble(text)})] == ["R508"]


@pytest.mark.parametrize(
    ("models", "codes"),
    [
        ({"m": python()}, ["R209"]),
        ({"m": python(model="def")}, ["R601"]),
        ({"m": python(model="def"), "n": python()}, ["R601", "R209"]),
        ({"m": without(python(), "config.pbtxt")}, ["R106"]),
        ({"m": {"config.pbtxt": PLAIN.replace("python", "dali"), "1/": ""}}, []),
    ],
)
def test_a_space_in_the_path(models: dict[str, Files], codes: list[str], tmp_path: Path) -> None:
    reported = findings(tmp_path / "with space", models, replace(PYTHON, backends=frozenset({"python", "dali"})))
    assert sorted(each.code for each in reported) == sorted(codes)
    assert findings(tmp_path / "without", {"m": python()}) == ()


def test_a_repository_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        lint(tmp_path / "none")
    assert error.value.what == f"cannot read the model repository {tmp_path / 'none'}: No such file or directory"


def test_the_report_counts_and_names_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    assert report_text(lint(Path("empty"))).splitlines() == [
        "empty: warning R207: the repository contains no models; a server would start but serve nothing",
        "    Pass the folder that contains the models' folders.",
        "empty: 0 errors, 1 warning",
    ]
    models = {"good": python(), "a b": python(), "x": python(model=None), "+": python()}
    text = report_text(lint(broken.write(Path("some"), models), PYTHON))
    assert text.endswith("\nsome: 2 errors, 1 warning")


def test_servers() -> None:
    plain, py3, vllm = (server(tag) for tag in ("24.09", "24.09-py3", "24.09-vllm-python-py3"))
    assert [each.name for each in (plain, py3)] == ["Triton 24.09", "Triton 24.09-py3"]
    assert plain.backends is None
    assert set(plain.engines) == {"trtllm", "vllm"}
    assert py3.backends is not None
    assert {"python", "tensorflow", "tensorrt", "dali"} < py3.backends
    assert py3.engines == {}
    assert set(vllm.engines) == {"vllm"}
    assert server("24.09-py3", backends="mine").backends == {"mine"}
    assert server("24.09", mounts=("a:/b", "c:/d")).mounts == (("a", "/b"), ("c", "/d"))
    unknown = server(None, backends="a,b", gpus=3, mounts=("a:/b",))
    assert unknown == Server(frozenset({"a", "b"}), {}, 3, (("a", "/b"),))
    assert server(None).backends is None


@pytest.mark.parametrize("mount", ["a", "a:", "a:b", ":/b", ":b", ""])
def test_mounts_that_are_none(mount: str) -> None:
    with pytest.raises(UsageError, match="is not a valid mount"):
        server(None, mounts=(mount,))


def test_an_unknown_image_comes_with_the_newest_ones() -> None:
    with pytest.raises(UsageError) as error:
        server("99.99")
    tags = re.findall(r"\d\d\.\d\d", error.value.todo)
    assert (len(tags), tags) == (4, sorted(tags, reverse=True))
    assert tags[0] > "25"
