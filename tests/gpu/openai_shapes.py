"""The wizard's OpenAI-compatible address against vLLM's own OpenAI server: same requests, same shapes of answers.

    python tests/gpu/openai_shapes.py --out OUT --engine-python /opt/venv/bin/python

An ordinary script for a machine with an NVIDIA GPU and without a network; what runs it, and ``PIP_FIND_LINKS``, are as
for ``journey.py``. Both serve the demo model with a chat template that has functions. It compares status, keys and
types of values, finish reasons and the ends of streams, prints a table of the differences and exits with 1 if one is
not in `EXPECTED` or a case's ``why``. Texts are compared too, but only counted: two vLLMs may round differently.
Everything ends at ``--limit`` seconds. Answers, logs and the table are kept under OUT.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).parent)]

from journey import DEMO, Journey, tail  # noqa: E402
from openai_cases import EXPECTED, TEMPLATE, Case, cases  # noqa: E402
from tool_parsers import READ, SAMPLES  # noqa: E402

NAME, CONTEXT, AT_ONCE = "shapes", 1024, 8
ENV = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_USE_FLASHINFER_SAMPLER": "0"}
SERVE = ["-m", "vllm.entrypoints.openai.api_server", "--host", "127.0.0.1", "--served-model-name", NAME]
SETTINGS = [
    "--max-model-len",
    str(CONTEXT),
    "--gpu-memory-utilization",
    "0.05",
    "--enforce-eager",
    "--max-num-seqs",
    "64",
]
TOOLS = ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"]
PARSERS = Path(__file__).with_name("tool_parsers.py")


class Clock:
    """The time that is left."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def left(self, kept: float = 0) -> float:
        """Seconds, of which ``kept`` are for what comes after.

        Raises:
            TimeoutError: There are none.
        """
        seconds = self._until - kept - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("out of time")
        return seconds


def main(given: argparse.Namespace) -> int:
    journey, clock = Journey(given), Clock(given.limit)
    demo_with_tools(Path(journey.model))
    asked = cases()
    answers: dict[str, list[Any]] = {}
    failed = ""
    try:
        with vllm_serve(journey, clock) as port:
            ours = threading.Thread(target=up, args=(journey, clock, answers, asked), daemon=True)
            ours.start()
            answers["vllm"] = ask_all(port, asked, clock)
            ours.join(clock.left(20))
    except Exception as error:
        failed = f"{type(error).__name__}: {error}"
    finally:
        with contextlib.suppress(Exception):
            journey.given.limit = 20
            journey.wizard("down", NAME, name="shapes-down")
    print(failed or f"{len(asked)} requests to each", flush=True)
    parsers = read_calls(journey, given.engine_python)
    (journey.out / "shapes.json").write_text(json.dumps(answers, indent=1))
    if failed or set(answers) != {"vllm", "ours"}:
        print(f"only {sorted(answers)} answered; see {journey.out}")
        return 1
    return compared(journey, asked, answers) or parsers


def demo_with_tools(folder: Path) -> None:
    """The demo model, with functions in its template, and without its confidence gate, which only free answers pass."""
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(DEMO, folder, ignore=shutil.ignore_patterns("gate.json", "*.gguf"))
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, "chat_template": TEMPLATE}))


@contextlib.contextmanager
def vllm_serve(journey: Journey, clock: Clock) -> Iterator[int]:
    """vLLM's own server, until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    python = journey.given.engine_python or sys.executable
    words = [python, *SERVE, "--model", journey.model, "--port", str(port), *SETTINGS, *TOOLS]
    log = journey.out / "vllm-serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            words, stdout=output, stderr=output, env={**os.environ, **ENV}, start_new_session=True
        )
    try:
        while not healthy(port):
            if process.poll() is not None:
                raise RuntimeError(f"vllm serve ended with {process.returncode}: {tail(log)}")
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(min(0.25, clock.left(30)))
        print(f"vllm serve is ready, {clock.left():.0f} s are left", flush=True)
        yield port
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def healthy(port: int) -> bool:
    try:
        return ask(port, "GET", "/health", None, 5)["status"] == 200
    except (OSError, http.client.HTTPException):
        return False


def up(journey: Journey, clock: Clock, answers: dict[str, list[Any]], asked: list[Case]) -> None:
    """Serve the same model with the wizard, and ask it too."""
    try:
        journey.given.limit = clock.left(25)
        wanted = ("--tp", "1", "--replicas", "1", "--users", "16", "--max-len", str(CONTEXT))
        endpoint = journey.up(NAME, journey.model, "vllm", *wanted)["endpoint"]
        print(f"the wizard is ready at {endpoint['openai']}, {clock.left():.0f} s are left", flush=True)
        answers["ours"] = ask_all(int(endpoint["openai"].rsplit(":", 1)[1].split("/")[0]), asked, clock)
    except Exception as error:
        print(f"the wizard: {type(error).__name__}: {error}", flush=True)


def ask_all(port: int, asked: list[Case], clock: Clock) -> list[Any]:
    def answered(case: Case) -> Any:
        try:
            return ask(port, case.method, case.path, case.body, clock.left(20))
        except (OSError, ValueError, http.client.HTTPException, TimeoutError) as error:
            return {"status": 0, "events": [], "error": repr(error)}

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(answered, asked))


def ask(port: int, method: str, path: str, body: bytes | None, seconds: float) -> dict[str, Any]:
    """Status, and the JSON of the answer or of all its events."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=min(seconds, 30))
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"} if body is not None else {})
        response = connection.getresponse()
        text = response.read().decode(errors="replace")
        kind = (response.headers.get("content-type") or "").split(";")[0]
        if kind == "text/event-stream":
            lines = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")]
            done = lines[-1:] == ["[DONE]"]
            return {
                "status": response.status,
                "kind": kind,
                "done": done,
                "events": [json.loads(line) for line in lines if line != "[DONE]"],
            }
        whole = json.loads(text) if kind == "application/json" and text else None
        return {"status": response.status, "kind": kind, "done": True, "events": [whole] if whole is not None else []}
    finally:
        connection.close()


def leaves(value: Any, path: str = "") -> set[str]:
    """Every place in ``value`` with its type; what is null or empty is like what is not there."""
    if isinstance(value, dict):
        return {leaf for key, each in value.items() for leaf in leaves(each, f"{path}.{key}")}
    if isinstance(value, list):
        return {leaf for each in value for leaf in leaves(each, f"{path}[]")}
    if value is None or value == "":
        return set()
    name = "bool" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "text"
    return {f"{path}: {name}"}


def finishes(answer: dict[str, Any]) -> list[tuple[int, str]]:
    choices = [choice for event in answer["events"] if isinstance(event, dict) for choice in event.get("choices") or ()]
    return sorted((each["index"], each["finish_reason"]) for each in choices if each.get("finish_reason"))


def text(answer: dict[str, Any]) -> list[tuple[int, str]]:
    """What each choice says, calls included."""
    words: dict[int, str] = {}
    for event in answer["events"]:
        for choice in event.get("choices") or () if isinstance(event, dict) else ():
            part = choice.get("message") or choice.get("delta") or {"content": choice.get("text")}
            calls = [call["function"] for call in part.get("tool_calls") or ()]
            called = "".join(f"{call.get('name') or ''}{call.get('arguments') or ''}" for call in calls)
            words[choice["index"]] = words.get(choice["index"], "") + (part.get("content") or "") + called
    return sorted(words.items())


def differences(case: Case, theirs: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    """What differs in the answers to a case, each as a short text that is the same for all cases."""
    if theirs["status"] != ours["status"]:
        return [f"status {theirs['status']} by vLLM, {ours['status']} here" + (f": {case.why}" if case.why else "")]
    rows = [f"{name} differs" for name in ("kind", "done") if theirs.get(name) != ours.get(name)]
    if len(finishes(theirs)) != len(finishes(ours)):
        rows.append("number of finish reasons differs")
    if case.greedy and finishes(theirs) != finishes(ours):
        vllms, here = ({reason for _, reason in finishes(each)} for each in (theirs, ours))
        rows.append(f"finish reasons {sorted(vllms)} by vLLM, {sorted(here)} here")
    both = [{leaf for event in each["events"] for leaf in leaves(event)} for each in (theirs, ours)]
    return [*rows, *(f"only vLLM: {each}" for each in sorted(both[0] - both[1]))] + [
        f"only here: {each}" for each in sorted(both[1] - both[0])
    ]


def compared(journey: Journey, asked: list[Case], answers: dict[str, list[Any]]) -> int:
    """Print the table; 1 if a difference is not expected."""
    rows: dict[str, list[str]] = {}
    same = comparable = 0
    for case, theirs, ours in zip(asked, answers["vllm"], answers["ours"], strict=True):
        for each in differences(case, theirs, ours):
            rows.setdefault(each, []).append(case.name)
        if case.greedy and theirs["status"] == ours["status"] == 200:
            comparable += 1
            same += text(theirs) == text(ours)
    unexpected = 0
    lines = []
    for row, names in sorted(rows.items(), key=lambda item: -len(item[1])):
        why = next((why for part, why in EXPECTED.items() if part in row), "")
        if not why and all(case.why for case in asked if case.name in names):
            why = next(case.why for case in asked if case.name in names)
        unexpected += not why
        lines.append(f"{'     ' if why else 'FAIL '}{len(names):4}  {row}  [{why or ', '.join(names[:6])}]")
    lines.append(f"{len(asked)} requests, {len(rows)} kinds of differences, {unexpected} unexpected")
    lines.append(f"{same} of {comparable} greedy answers have the same text")
    (journey.out / "table.txt").write_text("\n".join(lines) + "\n")
    print("\n".join(lines), flush=True)
    return int(bool(unexpected))


def read_calls(journey: Journey, python: str | None) -> int:
    """The engine program's use of vLLM's own parsers, on answers of each way of writing calls."""
    log = journey.out / "parsers.log"
    words = [python or sys.executable, str(PARSERS), journey.model]
    with log.open("wb") as errors:
        try:
            run = subprocess.run(
                words, stdout=subprocess.PIPE, stderr=errors, env={**os.environ, **ENV}, timeout=45, check=False
            )
        except subprocess.TimeoutExpired:
            print("FAIL reading calls took too long", flush=True)
            return 1
    if run.returncode:
        print(f"FAIL reading calls: {tail(log)}", flush=True)
        return 1
    read = json.loads(run.stdout.splitlines()[-1])
    wrong = [name for name in SAMPLES if read[name] != ["", [READ]]]
    for name in SAMPLES:
        print(f"{'FAIL ' if name in wrong else '     '}vLLM's {name} reads {read[name]}", flush=True)
    return int(bool(wrong))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="where everything is kept")
    parser.add_argument("--workspace", help="the wizard's workspace (OUT/workspace)")
    parser.add_argument("--engine-python", help="an interpreter that has vLLM")
    parser.add_argument("--limit", type=float, default=150, help="seconds for all of it")
    parser.set_defaults(model=None, shape="demo-with-tools")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(arguments()))
