"""Lines of real logs and the failure that each shows; ordinary lines that show none; hostile lines.

``failures/reported.toml`` has the lines that `profiles/failures` was written from, the other tables those that it was
not. ``failures/threads.toml`` has logs of public threads; those in ``held_out.toml`` were collected last, and no
pattern was changed for them afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from wizard.catalog.failures import failures
from wizard.serve.causes import Finding, Scan

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES = Path(__file__).parent / "failures"
LOGS = Path(__file__).parents[1] / "cases"


def cases(*names: str) -> Iterator[tuple[str, str]]:
    for name in names:
        table = tomllib.loads((CASES / f"{name}.toml").read_text(encoding="utf-8"))
        for failure, case in table.items():
            for line in case["lines"]:
                yield failure, line


def ids(*lines: str) -> list[str]:
    return [finding.id for finding in findings(*lines)]


def findings(*lines: str) -> list[Finding]:
    scan = Scan()
    scan.feed_lines(lines)
    return scan.findings()


@pytest.mark.parametrize("table", ["reported", "machine", "model", "server"])
def test_a_line_shows_its_failure_first(table: str) -> None:
    wrong = [(failure, line, ids(line)) for failure, line in cases(table) if ids(line)[:1] != [failure]]
    assert wrong == []


def test_every_failure_has_two_lines_that_its_patterns_were_not_written_from() -> None:
    unseen = [failure for failure, _ in cases("machine", "model", "server")]
    assert {name for name in failures() if unseen.count(name) < 2} == set()
    assert {line for _, line in cases("machine", "model", "server")}.isdisjoint(line for _, line in cases("reported"))


def threads(name: str) -> list[tuple[str, list[str]]]:
    """What a log of a public thread should be named, and what it is named."""
    logs = tomllib.loads((CASES / f"{name}.toml").read_text(encoding="utf-8"))["log"]
    return [(log["failure"], ids(*log["lines"])[:1]) for log in logs]


def test_logs_of_public_threads() -> None:
    assert [(failure, named) for failure, named in threads("threads") if named != [failure][: bool(failure)]] == []


def test_held_out_logs() -> None:
    """As they were named at first: 13 of 15 failures, and one warning too many."""
    logs = threads("held_out")
    assert sum([failure] == named for failure, named in logs if failure) >= 13
    assert sum(bool(named) and [failure] != named for failure, named in logs) <= 1


def ordinary() -> list[str]:
    """Lines of runs that succeeded."""
    paths = [CASES / "ordinary.log", *sorted((LOGS / "engine-logs").glob("*.log"))]
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line.strip()]


def test_ordinary_lines_show_no_failure() -> None:
    lines = ordinary()
    assert len(lines) >= 300
    assert [(line, ids(line)) for line in lines if ids(line)] == []


def test_a_warning_is_no_failure_after_a_successful_start() -> None:
    """As Triton 2.51.0 starts on a machine without a GPU; the error about a stream comes with every ensemble."""
    noise = (
        "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.",
        'W1120 pinned_memory_manager.cc:273] "Unable to allocate pinned system memory: CUDA driver version is '
        'insufficient for CUDA runtime version"',
        'E1120 ensemble_scheduler.cc:1468] "unable to create stream for ensemble: CUDA driver version is '
        'insufficient for CUDA runtime version"',
    )
    started = 'I1120 http_server.cc:4725] "Started HTTPService at 127.0.0.1:8000"'
    assert ids(*noise, started) == []
    assert ids(*noise) == ["container-sees-no-driver", "cuda-driver-insufficient"]
    assert Scan().cause() is None
    scan = Scan()
    scan.feed_lines(noise)
    assert scan.cause() is None  # a step or a server that fails has another cause
    assert ids(*noise, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB") == [
        "quantize-cuda-oom"
    ]


def test_waiting_for_a_server_is_no_failure_once_it_responds() -> None:
    refused = "curl: (7) Failed to connect to localhost port 8000 after 0 ms: Connection refused"
    assert ids(refused) == ["chat-connection-refused"]
    assert ids(refused, "< HTTP/1.1 200 OK") == []


def test_what_fails_stays_a_failure_although_the_server_starts() -> None:
    """As with ``--exit-on-error=false``."""
    failed = "E1 model_lifecycle.cc:642] \"failed to load 'a' version 1: Internal: SyntaxError: invalid syntax\""
    assert ids(failed, "I1 Started HTTPService at 0.0.0.0:8000")[0] == "model-py-syntax"


@pytest.mark.parametrize("path", sorted((LOGS / "triton-logs").glob("*.log")), ids=lambda path: path.stem)
def test_whole_logs_of_triton_name_the_root_cause(path: Path) -> None:
    expected = {
        "missing-LD_LIBRARY_PATH": "stub-library-missing",
        "model-py-import-error": "python-stub-module-missing",
        "model-py-initialize-raises": "quantize-cuda-oom",
        "model-py-syntax-error": "model-py-syntax",
        "native-no-stub": "python-stub-missing",
        "no-model-repository": "model-repository-path",
        "port-in-use-http": "server-port-in-use",
        "unfilled-instance-count": "pbtxt-placeholder-left",
        "unknown-backend-vllm": "backend-not-in-image",
    }
    assert ids(*path.read_text(encoding="utf-8").splitlines())[0] == expected[path.stem]


def test_a_symptom_ranks_behind_an_earlier_and_a_later_root_cause() -> None:
    closing = "[TRT-LLM] [E] Engine building failed, please check the error log."
    cause = "[TRT] [E] 2: Error Code 2: OutOfMemory (Requested size was 1 bytes.)"
    assert ids(closing, cause) == ids(cause, closing) == ["build-gpu-oom", "engine-build-failed"]


def test_an_index_that_is_not_reached_is_the_cause_of_nothing_being_found() -> None:
    broken = "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError': /simple/triton-cli/"
    missing = "ERROR: No matching distribution found for triton-cli"
    assert ids(broken, missing)[0] == "package-index-unreachable"
    assert ids(missing)[0] == "pip-no-matching-distribution"


def test_two_remedies_that_were_wrong() -> None:
    """Full shared memory is no full disk; a server that does not listen is no problem of DNS or a proxy."""
    shm = (
        "Unable to initialize shared memory key 'triton_python_backend_shm_region_3' to requested size (67108864 "
        "bytes). Error: No space left on device"
    )
    (full,) = findings(shm)
    assert "--shm-size" in full.fix
    assert "Free some space" not in full.fix
    (refused,) = findings("curl: (7) Failed to connect to localhost port 8000: Connection refused")
    assert "/v2/health/ready" in refused.fix
    assert "DNS" not in refused.fix


def test_line_numbers_are_those_of_other_tools() -> None:
    """A carriage return is not a new line; the last line may have no end."""
    scan = Scan()
    scan.feed(b"one\r\n 1%\r 2%\r 3%\ncurl: (7) Failed to connect to x\n\nKilled")
    assert [(finding.id, finding.line_number) for finding in scan.findings()] == [("process-killed-by-oom", 5)]


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_pieces_of_any_size_give_the_same_findings(size: int) -> None:
    log = "\n".join(line for _, line in cases("reported")).encode()
    whole, parts = Scan(), Scan()
    whole.feed(log)
    for start in range(0, len(log), size):
        parts.feed(log[start : start + size])
    assert parts.findings() == whole.findings()


def test_lines_of_a_megabyte_and_invalid_text_are_harmless() -> None:
    scan = Scan()
    scan.feed(
        b"\xff\xfe\x00" * 1000 + b"x" * (1 << 20) + b" No space left on device " + b"y" * (1 << 20) + b"\nKilled\n"
    )
    (full, killed) = scan.findings()
    assert (full.id, full.line_number) == ("disk-full", 1)
    assert len(full.line) <= 1000
    assert (killed.id, killed.line_number) == ("process-killed-by-oom", 2)


def test_a_line_is_shown_without_escapes_and_secrets() -> None:
    scan = Scan()
    scan.feed(b"\x1b]0;title\x07\x1b[31mKeyError: 'service_kind'\x1b[0m \x1b[2J hf_" + b"a" * 34 + b"\n")
    (finding,) = scan.findings()
    assert finding.line.startswith("KeyError: 'service_kind'")
    assert "\x1b" not in finding.line
    assert "hf_aaa" not in finding.line


@pytest.mark.parametrize(
    "hostile",
    [
        b"failed to load '" * (1 << 16),
        b"Error parsing text-format inference.ModelConfig: " + b"1" * (1 << 20),
        b"Repo id must " * (1 << 16) + b"'$",
        b"expected number of inputs between 1 and " * (1 << 15),
        b"\x1b[" * (1 << 19),
        b"a" * (1 << 20),
    ],
    ids=["openings", "digits", "wildcards", "numbers", "escapes", "plain"],
)
def test_hostile_lines_cost_a_bounded_number_of_searches(hostile: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns are tried once per 4 KiB of a line, however often their beginning occurs."""
    tried = 0
    examine = Scan._examine

    def counted(self: Scan, *arguments: object) -> None:
        nonlocal tried
        tried += 1
        examine(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Scan, "_examine", counted)
    scan = Scan()
    scan.feed(hostile)
    scan.findings()
    assert tried <= 2000


FALLEN = "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
GSP = "NVRM: Xid (PCI:0000:3b:00): 119, pid=430, name=nv_queue, Timeout waiting for RPC from GSP!"
ENDED = "NVRM: Xid (PCI:0000:3b:00): 45, pid=1818990, name=python3, Ch 00000001"
FAULT = "NVRM: Xid (PCI:0000:3b:00): 31, pid=1942, name=tritonserver, Ch 00000008, intr 00000000. MMU Fault: ENGINE"
ROW = "NVRM: Xid (PCI:0000:3b:00): 63, pid=1896, Row Remapper: New row marked for remapping, reset gpu to activate."
DOUBLE = "NVRM: Xid (PCI:0000:3b:00): 48, pid=1896, name=python, channel 0x00000002"


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        ((ENDED, FALLEN, GSP), "gpu-fell-off-the-bus"),
        ((FALLEN, GSP, FAULT), "gpu-fell-off-the-bus"),
        ((GSP, ENDED), "gpu-firmware-stopped"),
        ((FAULT, ENDED), "gpu-program-fault"),
        ((ROW, DOUBLE, ENDED), "gpu-memory-uncorrectable"),
        ((ROW, FAULT), "gpu-program-fault"),
    ],
)
def test_of_several_errors_in_a_kernel_log_the_cause_is_first(lines: tuple[str, ...], cause: str) -> None:
    stamped = [f"[ 1304.{number:06}] [ T{number}] {line}" for number, line in enumerate(lines)]
    assert ids("[    0.000000] Linux version 6.8.0-45-generic", *stamped)[0] == cause
    assert ids(*(f"Nov 22 14:56:44 node kernel: {line}" for line in lines))[0] == cause


def test_a_replaced_row_is_not_why_a_server_ended() -> None:
    scan = Scan()
    scan.feed_lines([ROW])
    assert scan.cause() is None
