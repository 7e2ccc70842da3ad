"""What engines say that they took, read from real logs (`tests/cases/engine-logs` names the source of each)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.values import CHOICE
from wizard.advise import memory
from wizard.advise.advice import Offload, Share
from wizard.advise.calibration import Measured, Measurement, actual, difference
from wizard.advise.devices import devices
from wizard.advise.setup import Setup
from wizard.catalog import plugins
from wizard.kernel import proctable
from wizard.kernel.errors import ServerError
from wizard.kernel.units import GIB, MIB
from wizard.model.config import describe
from wizard.model.facts import ModelFacts
from wizard.plan.ports import Ports
from wizard.probe.shorthand import host as shorthand
from wizard.serve.endpoint import Endpoint
from wizard.serve.measured import BYTES, NUMBER, Log, StackLog, check, last, measure, read, single

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HOLDS = """
import os, sys
held = b"x" * (64 << 20)
os.fork()
print("here", flush=True)
sys.stdin.read()
"""
READERS = plugins.ports("serve", StackLog)
LOGS = Path(__file__).parents[1] / "cases" / "engine-logs"


def amount(text: str) -> float:
    """Bytes of ``1.2 GiB``, or of a sum of such."""
    units = {"MiB": MIB, "GiB": GIB}
    return sum(float(number) * units[unit] for number, unit in (part.split() for part in text.split(" + ")))


def known() -> Iterator[tuple[str, str, dict[str, float]]]:
    """Log, stack and figures of everything that `LOGS` says of its logs."""
    for path in sorted(LOGS.glob("*.toml")):
        for name, row in tomllib.loads(path.read_text(encoding="utf-8")).items():
            figures = {key: amount(value) if isinstance(value, str) else value for key, value in row.items()}
            yield name, path.stem, figures


KNOWN = list(known())


def lines(name: str) -> list[str]:
    return (LOGS / f"{name}.log").read_text(encoding="utf-8").splitlines()


def figures(measured: Measured) -> dict[str, Any]:
    names = ("weights_bytes", "kv_capacity_tokens", "kv_bytes", "activation_bytes", "graphs_bytes", "runtime_bytes")
    return {name: value for name in names if (value := getattr(measured, name)) is not None}


@pytest.mark.parametrize(("name", "stack", "expected"), KNOWN, ids=[name for name, _, _ in KNOWN])
def test_a_real_log_is_read(name: str, stack: str, expected: dict[str, float]) -> None:
    measured = read(stack, lines(name))
    assert figures(measured) == {name: pytest.approx(value, abs=2) for name, value in expected.items()}
    assert {line.strip()[:300] for line in lines(name)} >= set(measured.lines)
    assert measured.lines or not expected


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("3 bytes", 3), ("3 KB", 3 << 10), ("3KiB", 3 << 10), ("3 MB", 3 << 20), ("3 MiB", 3 << 20)),
        *(("1.5 GB", 3 << 29), ("1.5 GiB", 3 << 29), ("-0.5 GiB", -1 << 29)),
    ],
)
def test_every_unit_is_a_power_of_1024(text: str, size: int) -> None:
    assert Log([f"it took {text} of memory"]).all(f"took {BYTES}") == [size]


def test_the_first_wording_that_is_there_counts_and_its_lines_are_kept() -> None:
    log = Log(["b: 1,024", "a: 7", "nothing", "  a: 9" + "x" * 400])
    assert log.all(f"none: {NUMBER}", f"a: {NUMBER}", f"b: {NUMBER}") == [7, 9]
    assert log.used() == ("a: 7", ("a: 9" + "x" * 400)[:300])
    assert log.all(f"b: {NUMBER}") == [1024]
    assert [single([1, 3, 2], which) for which in (max, min, sum, last)] == [3, 1, 6, 2]
    assert single([]) is None


def test_every_log_that_is_kept_is_read() -> None:
    assert {path.stem for path in LOGS.glob("*.log")} == {name for name, _, _ in KNOWN}
    assert {stack for _, stack, _ in KNOWN} == set(READERS)


def test_tokens_are_blocks_times_their_size_where_the_log_says_both() -> None:
    without = [line for line in lines("trtllm-0.12-engine") if "for max tokens" not in line]
    assert read("trtllm-engine", without).kv_capacity_tokens == 294_848


def test_blocks_of_unknown_size_are_not_guessed() -> None:
    without = [line for line in lines("vllm-0.6") if "concurrency" not in line]
    assert read("vllm", without).kv_capacity_tokens is None


def test_at_the_usual_log_level_only_the_last_line_says_most() -> None:
    usual = [line for line in lines("vllm-0.26") if "DEBUG" not in line]
    assert figures(read("vllm", usual)) == figures(read("vllm", lines("vllm-0.26")))


def test_a_stack_that_logs_no_memory_and_a_foreign_log_give_nothing() -> None:
    assert read("transformers", lines("vllm-0.26")) == Measured()
    for stack in READERS:
        assert (
            read(stack, (LOGS.parent / "triton-logs" / "port-in-use-http.log").read_text().splitlines()) == Measured()
        )


@given(
    st.sampled_from(sorted(READERS)),
    st.lists(
        st.sampled_from([line for path in sorted(LOGS.glob("*.log")) for line in path.read_text().splitlines()])
        | st.text(max_size=80)
    ),
)
def test_no_mixture_of_lines_is_an_error(stack: str, mixed: list[str]) -> None:
    assert isinstance(read(stack, mixed), Measured)


@pytest.mark.parametrize("number", ["1.2.3", "-", ".", "..", "-.5", "1-2"])
def test_a_number_that_is_none_is_not_a_figure(number: str) -> None:
    assert isinstance(read("vllm", [f"Model loading took {number} GiB memory"]), Measured)


def test_a_secret_in_a_line_is_not_kept() -> None:
    (line,) = read("vllm", ["hf_" + "a" * 20 + " Available KV cache memory: 1.5 GiB"]).lines
    assert line == "••• Available KV cache memory: 1.5 GiB"


def test_on_the_cpu_what_the_processes_hold_beside_the_cache_is_the_server() -> None:
    """A process that holds 64 MiB and its child stand for the server's."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as server:
        assert server.stdout
        assert server.stdout.readline() + server.stdout.readline() == b"here\nhere\n"
        endpoint = Endpoint("demo", "demo", "127.0.0.1", Ports(), server.pid, "", "")
        measured = measure(endpoint, "llamacpp", lines("llamacpp-2026"))
        held = [proctable.memory(row.pid) or 0 for row in proctable.group_members(server.pid)]
        server.communicate()
    assert len(held) == 2
    assert sum(held) > 64 * MIB
    assert measured.runtime_bytes == pytest.approx(sum(held) - 10 * MIB, rel=0.1)
    assert measure(endpoint, "llamacpp", []).runtime_bytes is None
    assert measure(endpoint, "vllm", lines("vllm-0.26")) == read("vllm", lines("vllm-0.26"))


@pytest.mark.parametrize(("name", "tp", "users"), [("vllm-0.26", 1, 64), ("vllm-0.26-tp2", 2, 0)])
def test_what_an_h200_took_is_close_to_what_is_predicted_for_it(name: str, tp: int, users: int) -> None:
    """The log of Llama 3.1 8B with the predictions for the same settings; ``--enforce-eager`` captures no graphs."""
    llama = "meta-llama/Llama-3.1-8B"
    config = json.loads((LOGS.parents[1] / "model" / "configs" / "public.json").read_text())[llama]["config"]
    facts = describe(ModelFacts(llama, "folder", llama, llama, None, None), config)
    device, setup = devices(shorthand(f"{tp}xH200"))[0], Setup("vllm", "bfloat16", "none", tp=tp)
    assert facts.anatomy
    predicted = memory.bill(facts, facts.anatomy, device, setup, users or 64, 8192, int(0.85 * device.total_bytes))
    if not users:  # the graphs that were not captured
        captured = memory.graphs(facts.anatomy, 64)
        predicted = replace(predicted, overhead_bytes=predicted.overhead_bytes - captured)
    choice = replace(CHOICE, stack="vllm", tp=tp, memory=predicted)
    measurement = Measurement("2026-11-21", "s", "NVIDIA H200", "26.08", 1, llama, choice, read("vllm", lines(name)))
    assert abs(difference(measurement)) < 0.01 * predicted.total_bytes
    assert actual(measurement).weights_bytes == pytest.approx(predicted.weights_bytes, rel=0.01)
    assert actual(measurement).kv_bytes_per_token == pytest.approx(predicted.kv_bytes_per_token, rel=0.001)


ON_GPU = replace(CHOICE, offload=Offload(21, 33, 0, CHOICE.memory))
OFFLOADED = "load_tensors: offloaded 21/33 layers to GPU"
BUFFER = "load_tensors:        CUDA0 model buffer size =  4403.49 MiB"
"""Stand-ins for lines of llama.cpp with a GPU, from the format strings of ``llama_model_base::load_tensors``
(``%s: offloaded %d/%d layers to GPU``, ``%s: %12s model buffer size = %8.2f MiB``; xllamacpp 2026.10.11549).
"""


def test_layers_on_the_gpu_are_checked() -> None:
    check(ON_GPU, [OFFLOADED, BUFFER])
    check(CHOICE, [])
    check(replace(CHOICE, stack="vllm"), [])


@pytest.mark.parametrize(
    ("logged", "sentence"),
    [
        ([], "loaded no layer on a GPU; 21 were planned"),
        (lines("llamacpp-2026"), "loaded no layer on a GPU; 21 were planned"),  # the log of a build for the CPU
        ([OFFLOADED], "loaded no layer on a GPU"),
        ([OFFLOADED.replace("21", "7"), BUFFER], "loaded 7 layers on the GPU; 21 were planned"),
    ],
)
def test_a_silent_fallback_to_the_cpu_is_an_error(logged: list[str], sentence: str) -> None:
    with pytest.raises(ServerError, match=sentence) as caught:
        check(ON_GPU, logged)
    assert caught.value.code == "TW-S11"


def test_a_gpu_without_layers_is_an_error_and_the_figures_are_the_first_ones() -> None:
    share = Share(11, CHOICE.memory)
    two = replace(ON_GPU, devices=(0, 1), offload=Offload(21, 33, 0, CHOICE.memory, (share, share)))
    second = BUFFER.replace("CUDA0", "CUDA1").replace("4403", "4100")
    check(two, [OFFLOADED, BUFFER, second])
    assert read("llamacpp", [OFFLOADED, BUFFER, second]).weights_bytes == round(4403.49 * MIB)
    with pytest.raises(ServerError, match="uses 1 GPUs; 2 were planned"):
        check(two, [OFFLOADED, BUFFER])


def test_on_a_gpu_only_its_own_buffers_count() -> None:
    logged = [OFFLOADED, "load_tensors:   CPU_Mapped model buffer size =   281.81 MiB", BUFFER]
    assert read("llamacpp", logged).weights_bytes == round(4403.49 * MIB)
    assert measure(Endpoint("s", "m", "h", Ports(), 0, "", ""), "llamacpp", logged).runtime_bytes is None
