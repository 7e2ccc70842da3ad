"""The cause of a failed start, from logs that the real Triton 2.51.0 wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from wizard.kernel.errors import UsageError
from wizard.kernel.paths import Workspace
from wizard.serve import log

LOGS = Path(__file__).parents[1] / "cases" / "triton-logs"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing-LD_LIBRARY_PATH", "error while loading shared libraries: libcudart"),
        ("model-py-import-error", "No module named"),
        ("model-py-syntax-error", "SyntaxError"),
        ("native-no-stub", "triton_python_backend_stub"),
        ("no-model-repository", "failed to stat file /does/not/exist"),
        ("port-in-use-http", "already in use"),
        ("unfilled-instance-count", "failed to read text proto"),
        ("unknown-backend-vllm", "unable to find backend library for backend 'vllm'"),
    ],
)
def test_the_first_cause_is_named_not_its_consequence(name: str, words: str) -> None:
    cause = log.cause((LOGS / f"{name}.log").read_text().splitlines())
    assert cause is not None
    assert words in cause
    assert "failed to load all models" not in cause
    assert "At:" not in cause  # where in Python is for whoever reads the whole log


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (
            'docker: Error response from daemon: Conflict. The container name "/a" is already in use by container "1".',
            "Conflict.",
        ),
        ("docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock.", "Cannot connect"),
        ("Error: unresolvable CDI devices nvidia.com/gpu=0", "unresolvable CDI devices"),
        (
            "RuntimeError: tritonserver process(es) already found with PID(s): [7].",
            "RuntimeError: tritonserver process(es)",
        ),
    ],
)
def test_what_keeps_the_server_from_being_started_at_all(line: str, cause: str) -> None:
    reported = log.cause(
        ["Traceback (most recent call last):", line, "", "Run 'docker run --help' for more information"]
    )
    assert reported
    assert reported.startswith(cause)


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (["Signal (11) received.", " 0# 0x0 in tritonserver"], "Signal (11) received"),
        (["terminate called after throwing an instance of 'X'", "Signal (6) received."], "terminate called after"),
    ],
)
def test_what_a_crash_of_triton_says(lines: list[str], cause: str) -> None:
    reported = log.cause(["I1121 server.cc:1] all is well", *lines])
    assert reported
    assert reported.startswith(cause)


def test_a_log_without_a_cause_names_none() -> None:
    assert log.cause(["I1121 server.cc:1] all is well"]) is None


def test_what_always_stands_there_without_a_gpu_is_noise() -> None:
    lines = (LOGS / "missing-LD_LIBRARY_PATH.log").read_text().splitlines()
    assert [bool(log.NOISE.search(line)) for line in lines] == [True, False, True, False, False]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    logs = workspace.server("demo").logs
    logs.mkdir(parents=True)
    (logs / "triton.log").write_text(
        "one\nCudaDriverHelper has not been initialized.\n\x1b[31mtwo hf_" + "a" * 20 + "\n"
    )
    (logs / "model.log").write_text("$ ln -s\n")
    return workspace


def test_the_view_leaves_out_noise_colours_and_secrets(workspace: Workspace) -> None:
    assert log.view(workspace, None, lines=10, step=None, raw=False) == ["one", "two •••"]
    assert len(log.view(workspace, "demo", lines=10, step=None, raw=True)) == 3
    assert log.view(workspace, "demo", lines=1, step="model", raw=False) == ["$ ln -s"]


@pytest.mark.parametrize("step", ["nonsense", "../../secret", "/etc/passwd"])
def test_a_log_that_is_not_there_says_which_are(workspace: Workspace, step: str) -> None:
    with pytest.raises(UsageError, match="demo") as caught:
        log.view(workspace, "demo", lines=10, step=step, raw=False)
    assert caught.value.code == "TW-S08"
    assert "model, triton" in caught.value.todo


def test_with_several_servers_one_must_be_named(workspace: Workspace) -> None:
    workspace.server("other").logs.mkdir(parents=True)
    with pytest.raises(UsageError, match="demo, other"):
        log.view(workspace, None, lines=10, step=None, raw=False)


def test_without_a_server_there_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"no server in {tmp_path}"):
        log.view(Workspace(tmp_path), None, lines=10, step=None, raw=False)


def test_before_anything_was_logged_there_is_none(tmp_path: Path) -> None:
    Workspace(tmp_path).server("demo").logs.mkdir(parents=True)
    with pytest.raises(UsageError, match="no log 'triton' for demo") as caught:
        log.view(Workspace(tmp_path), None, lines=10, step=None, raw=False)
    assert caught.value.todo == "Logs of demo: none yet."


def test_the_end_has_room_for_lines_of_400_bytes(tmp_path: Path) -> None:
    path = tmp_path / "wide.log"
    lines = [f"{number:03}" + "x" * 396 for number in range(50)]
    path.write_text("\n".join((*lines, "")))
    assert log.tail(path, 10) == lines[-10:]
    path.write_text("y" * 1000 + "\n")
    assert log.tail(path, 1) == ["y" * 399]  # a longer one is cut at its beginning


def test_only_the_end_of_a_large_log_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.log"
    path.write_text("".join(f"line {number}\n" for number in range(100_000)))
    assert log.tail(path, 2) == ["line 99998", "line 99999"]
    assert log.tail(tmp_path / "none.log", 2) == []


def test_of_a_large_log_both_ends_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "END_BYTES", 10)
    path = tmp_path / "log"
    path.write_text("".join(f"{number:04}\n" for number in range(100)))
    assert log.ends(path) == ["0000", "0001", "0098", "0099"]
    path.write_text("0000\n0001\n0002\n")
    assert log.ends(path) == ["0000", "0001", "0002"]
