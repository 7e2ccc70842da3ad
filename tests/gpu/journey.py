"""The whole wizard on a real GPU machine, by its own commands: probe, advise, plan, up, chat, load, down.

    python tests/gpu/journey.py --out OUT --engine-python /opt/venv/bin/python --tp 1

An ordinary script for any machine with NVIDIA GPUs; no hub is asked. The Python that runs it has the wizard installed;
``--engine-python`` has vLLM, SGLang, or torch and transformers (a stage that needs what it lacks fails and says so).
Where no package index answers, ``PIP_FIND_LINKS`` and ``UV_FIND_LINKS`` name a folder with the wheels of
``profiles/environments/front.txt``. Every stage ends by itself or at ``--limit`` and stops what it started. Pictures,
logs, plans and ``results.json`` are kept under OUT; the table at the end has what was expected and what was seen, and
the exit status is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT), str(Path(__file__).parent)]

import data_parallel  # noqa: E402
import first_tokens  # noqa: E402
import guided_answers  # noqa: E402
import several_gpus  # noqa: E402
from machine_parts import MIB, SLACK_BYTES, gone, marked, smi, state  # noqa: E402
from stack_parts import prompts, summary  # noqa: E402

PARTS = Path(__file__).with_name("stack_parts.py")
DEMO = CHECKOUT / "profiles" / "models" / "triton-wizard-demo"
STREAMS, CLIENTS, PROMPT, ANSWER = 64, 4, 100, 128
"""Streams at once, processes that ask for them, tokens of a prompt and of an answer."""
START_RATIO = 1.15
"""At most, of the time from a command to Ready over the time that vLLM alone takes."""
LOSS, PAIRS, LONG = 0.03, 3, 512
"""At most, of Triton's throughput, by the OpenAI-compatible address; pairs of loads that are compared; and tokens of
their answers. Of shorter ones, the address's work at the start of 64 requests in the same moment is a larger part."""
MEMORY_RATIO = 0.03
"""By how much measured memory may differ from the predicted."""
STAGES = (
    *("probe", "screens", "vllm", "first_tokens", "sglang", "start", "transformers"),
    *("copies", "replicas", "data_parallel"),
)
ALONE = ("--replicas", "1")
"""For the stages that compare the figures of one engine, whatever GPUs there are beside it."""


class Journey:
    """The options, the results and the failed checks."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.out = Path(given.out).absolute()
        self.out.mkdir(parents=True, exist_ok=True)
        self.workspace = Path(given.workspace).absolute() if given.workspace else self.out / "workspace"
        self.model = str(Path(given.model).absolute()) if given.model else str(self.out / f"model-{given.shape}")
        self.results: dict[str, dict[str, Any]] = {}
        self.wrong: list[str] = []
        self.rows: list[tuple[str, str]] = []
        self.engine = ("--engine-python", given.engine_python) if given.engine_python else ()

    def wizard(self, *words: str, name: str, ok: tuple[int, ...] = (0,)) -> str:
        """Run one of the wizard's commands to its end and return what it printed."""
        output_path, log = self.out / f"{name}.out", self.out / f"{name}.err"
        command = [sys.executable, "-m", "wizard", *words, "--workspace", str(self.workspace)]
        with output_path.open("wb") as output, log.open("wb") as errors:
            process = subprocess.Popen(command, stdout=output, stderr=errors, cwd=self.out, start_new_session=True)
            try:
                status = process.wait(self.given.limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGINT)
                process.wait(60)
                raise RuntimeError(f"{' '.join(words)} took more than {self.given.limit} s; {tail(log)}") from None
        if status not in ok:
            raise RuntimeError(f"{' '.join(words)} ended with {status}: {tail(output_path)} {tail(log)}")
        return output_path.read_text(errors="replace")

    def json(self, *words: str, name: str) -> Any:
        return json.loads(self.wizard(*words, "--json", name=name))

    def check(self, label: str, holds: bool, detail: object = "") -> None:
        """Note one thing that has to be so."""
        self.rows.append((f"{'ok  ' if holds else 'FAIL'}  {label}", str(detail)))
        print("  ".join(self.rows[-1]), flush=True)
        if not holds:
            self.wrong.append(label)

    def note(self, label: str, value: object) -> None:
        """Note a figure."""
        self.rows.append((f"      {label}", str(value)))
        print("  ".join(self.rows[-1]), flush=True)

    def free(self, name: str) -> dict[int, int]:
        """Bytes that are free on each GPU now."""
        return {gpu["index"]: gpu["memory_free_bytes"] for gpu in self.json("probe", name=name)["gpus"]}

    def up(self, name: str, model: str, stack: str, *more: str) -> dict[str, Any]:
        """The way to a served model; seconds until it was ready, and of every step."""
        began = time.time()
        words = ("up", model, "--stack", stack, "--name", name, "--offline", "--yes", "--json", *self.engine, *more)
        try:
            printed = self.wizard(*words, name=f"{name}-up")
        except RuntimeError:
            self.wizard("down", name, name=f"{name}-failed-down")  # what still loads would be in the way of the rest
            raise
        events = [json.loads(line) for line in printed.splitlines()]
        ended = {event["step"]: event for event in events if event["event"] == "StepFinished"}
        ready = next(event for event in events if event["event"] == "Ready")
        plan = json.loads((self.workspace / "servers" / name / "plan.json").read_text())
        return {
            "seconds": ended["ready"]["at"] - began,
            "steps": {step: (step_end["outcome"], round(step_end["seconds"], 1)) for step, step_end in ended.items()},
            "endpoint": ready["endpoint"],
            "choice": plan["choice"],
        }

    def down(self, name: str, before: dict[int, int]) -> None:
        """Stop it; nothing may be left the moment that the command ends."""
        pids = marked(self.workspace / "servers" / name)
        began = time.monotonic()
        self.wizard("down", name, name=f"{name}-down")
        seconds = time.monotonic() - began
        left = [pid for pid in pids if Path(f"/proc/{pid}").exists() and state(pid) not in "ZX"]
        holders = {
            process["pid"] for gpu in self.json("probe", name=f"{name}-after")["gpus"] for process in gpu["processes"]
        }
        now = self.free(f"{name}-free")
        kept = {index: (bytes_ - now[index]) // MIB for index, bytes_ in before.items()}
        self.check(f"{name}: down leaves no process", not left, f"{len(pids)} ended in {seconds:.1f} s")
        self.check(f"{name}: and no GPU memory", not holders & set(pids) and gone(kept), f"MiB kept: {kept}")

    def load(
        self, endpoint: dict[str, Any], run: int, over: str = "client", answer: int | None = None
    ) -> dict[str, float]:
        """`STREAMS` answers at once from several client processes that begin together; ``over``: their part, gRPC or
        the OpenAI-compatible address; ``answer``: tokens of each answer, `ANSWER` if not given.
        """
        grpc = f"{endpoint['host']}:{endpoint['ports']['grpc']}"
        address = grpc if over == "client" else urlsplit(endpoint["openai"]).netloc
        begin, texts = time.monotonic() + 5.0, prompts(STREAMS, PROMPT, run)
        command = [sys.executable, str(PARTS), over]
        running = []
        with (self.out / "clients.log").open("ab") as errors:
            for share in (texts[n::CLIENTS] for n in range(CLIENTS)):
                argument = {"address": address, "load": share, "stream": True, "begin": begin}
                argument |= {"answer": answer or ANSWER, "model": endpoint["model"]}
                words = [*command, json.dumps(argument)]
                running.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors))
            try:
                ended = [process.communicate(timeout=self.given.limit)[0] for process in running]
            finally:
                for process in running:
                    process.kill()
        if any(process.returncode for process in running):
            raise RuntimeError(f"a client failed: {tail(self.out / 'clients.log')}")
        return summary(begin, [each for output in ended for each in json.loads(output.splitlines()[-1])])

    # The stages

    def probe(self) -> dict[str, Any]:
        """What NVML says, as `nvidia-smi` has it, once and while it is watched."""
        seen = smi("gpu", "index,name,memory.total,pci.bus_id")
        host = self.json("probe", name="probe")
        ours = [(str(gpu["index"]), gpu["name"], str(gpu["memory_total_bytes"] // MIB)) for gpu in host["gpus"]]
        self.check("probe: the GPUs of nvidia-smi", ours == [tuple(row[:3]) for row in seen], f"{len(ours)}: {ours}")
        pairs = len(seen) * (len(seen) - 1) // 2
        kinds = sorted({link["kind"] for link in host["gpu_links"]})
        self.check("probe: a link for each pair", len(host["gpu_links"]) == pairs, f"{pairs} pairs: {kinds}")
        self.check("probe: no problem", host["gpu_problem"] is None, host["gpu_problem"])
        words = [sys.executable, "-m", "wizard", "probe", "--watch", "1", "--json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as watch:
            readings = [json.loads(watch.stdout.readline()) for _ in range(3)]  # type: ignore[union-attr]
            watch.send_signal(signal.SIGINT)
            status = watch.wait(30)
        known = [all(gpu["memory_used_bytes"] is not None for gpu in reading["gpus"]) for reading in readings]
        self.check("probe --watch: readings, then Ctrl-C", all(known) and status == 130, f"exit status {status}")
        return {"host": host, "reading": readings[-1]}

    def screens(self) -> dict[str, Any]:
        """The full-screen stages, driven by keys; a picture of each is kept."""
        before = self.free("screens-before")
        pictures = asyncio.run(self._screens())
        self.check("screens: pictures", len(pictures) == 5, ", ".join(pictures))
        self.down(DEMO.name, before)
        return {"pictures": pictures}

    async def _screens(self) -> list[str]:
        from tests.tui.walking import asked, chat_after, screen, to_advice, to_machine, wait_for
        from wizard.kernel.paths import Workspace
        from wizard.tui.app import WizardApp
        from wizard.tui.screens.build import BuildScreen
        from wizard.tui.screens.review import ReviewScreen

        answers: dict[str, Any] = {"model": str(DEMO), "stack": "transformers"}
        if self.given.engine_python:
            answers["engine_python"] = self.given.engine_python
        app, taken = WizardApp(Workspace(self.workspace), answers=answers, offline=True), []
        async with app.run_test(size=(110, 36)) as pilot:

            async def picture(name: str) -> None:
                await pilot.pause()
                app.save_screenshot(f"screen-{name}.svg", str(self.out))
                taken.append(name)

            await to_machine(pilot)
            await picture("machine")
            await to_advice(pilot)
            await picture("advice")
            await pilot.press("enter")
            review = await screen(pilot, ReviewScreen)
            await wait_for(pilot, lambda: review.view.plan or review.view.error)
            await picture("review")
            await pilot.press("enter")
            build = await screen(pilot, BuildScreen)
            chat = await chat_after(pilot, build, seconds=self.given.limit)
            await picture("build-done")
            await asked(pilot, "What is Triton?", chat)
            await picture("chat")
            text = " ".join(chat.view.texts("assistant"))
            self.check("screens: the demo model answers", "Triton" in text, text[:90])
            app.exit(0)
        return taken

    def vllm(self) -> dict[str, Any]:
        """vLLM with the machine's GPUs: advice, plan, chat, load, memory."""
        return self._served("vllm", "vllm", "--tp", str(self.given.tp))

    def first_tokens(self) -> dict[str, Any]:
        """Predicted and measured times to the first token with vLLM, for several numbers of users."""
        return {"rows": first_tokens.first_tokens(self)}

    def sglang(self) -> dict[str, Any]:
        """The same with SGLang."""
        return self._served("sglang", "sglang", "--tp", str(self.given.tp))

    def transformers(self) -> dict[str, Any]:
        """The same with transformers, on one GPU."""
        return self._served("transformers", "transformers")

    def _served(self, name: str, stack: str, *split: str) -> dict[str, Any]:
        wanted = (*split, *ALONE, "--users", str(STREAMS), "--max-len", "1024")
        asked = (self.model, "--stack", stack, "--offline", *self.engine, *wanted)
        advice = self.json("advise", *asked, name=f"{name}-advice")
        self.check(f"{name}: advice", advice["feasible"], advice["choices"][0]["release"])
        plan = self.json("plan", *asked, "--name", name, name=f"{name}-plan")
        self.note(f"{name}: plan", " ".join(step["id"] for step in plan["steps"]))
        before = self.free(f"{name}-before")
        up = self.up(name, self.model, stack, *wanted)
        try:
            self.note(f"{name}: ready after", f"{up['seconds']:.1f} s {up['steps']}")
            self.memory(name, up, before)
            words = self.wizard("chat", name, "--max-tokens", "16", "-m", "What is Triton?", name=f"{name}-chat")
            self.check(f"{name}: a chat has an answer", bool(words.strip()))
            self.load(up["endpoint"], 1)  # the first one compiles what the engine has not met yet
            up["load"] = self.load(up["endpoint"], 2)
            full = up["load"]["tokens"] == STREAMS * ANSWER
            self.check(f"{name}: {STREAMS} streams at once get all tokens", full, up["load"])
            up["openai"] = {answer: self.shared(name, up["endpoint"], answer) for answer in (ANSWER, LONG)}
            if stack in ("vllm", "sglang"):
                up["guided"] = guided_answers.guided(self, name, up["endpoint"])
            speed = up["choice"]["speed"]
            predicted = speed["throughput_tokens_per_s"] if speed else None
            self.note(f"{name}: tokens/s predicted, measured", f"{predicted}, {up['load']['tokens_per_s']}")
            log = Path(up["endpoint"]["log"]).read_text(errors="replace")
            self.check(f"{name}: the engine takes prompts as they are given", "raw prompts" not in log)
            shutil.copy(up["endpoint"]["log"], self.out / f"{name}-server.log")
        finally:
            self.down(name, before)
        return up

    def shared(self, name: str, endpoint: dict[str, Any], answer: int) -> dict[str, list[float]]:
        """Tokens/s of the same load over gRPC and over the OpenAI-compatible address, in turn."""
        rates: dict[str, list[float]] = {"client": [], "openai": []}
        self.load(endpoint, answer, "openai")  # its first request
        for run in range(answer + 1, answer + 1 + 2 * PAIRS, 2):
            for number, (over, seen) in enumerate(rates.items()):
                load = self.load(endpoint, run + number, over, answer)
                self.check(f"{name}: all tokens over {over}", load["tokens"] == STREAMS * answer, load)
                seen.append(load["tokens_per_s"])
        ratio = statistics.median(rates["openai"]) / statistics.median(rates["client"])
        detail = f"{ratio:.3f} of gRPC's with {answer} tokens each: {rates}"
        if answer == LONG:
            self.check(f"{name}: the address keeps the throughput", ratio >= 1 - LOSS, detail)
        else:
            self.note(f"{name}: throughput by the address", detail)
        return rates

    def memory(self, name: str, up: dict[str, Any], before: dict[int, int]) -> None:
        """What NVML counts on the server's GPUs against the bill, and that Triton's own process holds none of it."""
        host = self.json("probe", name=f"{name}-serving")
        predicted = up["choice"]["memory"]["total_bytes"]
        used = {gpu["index"]: before[gpu["index"]] - gpu["memory_free_bytes"] for gpu in host["gpus"]}
        mine, others = up["choice"]["devices"], [index for index in used if index not in up["choice"]["devices"]]
        shown = {index: f"{used[index] / MIB:,.0f}" for index in mine}
        within = all(abs(used[index] - predicted) <= MEMORY_RATIO * predicted for index in mine)
        if up["choice"]["stack"] in ("vllm", "sglang"):  # transformers takes what it needs when it is needed
            self.check(
                f"{name}: memory as predicted", within, f"MiB: {predicted / MIB:,.0f} predicted, {shown} by NVML"
            )
        else:
            self.note(f"{name}: memory in MiB", f"{predicted / MIB:,.0f} predicted, {shown} by NVML before any request")
        self.check(f"{name}: the other GPUs stay free", all(used[index] < SLACK_BYTES for index in others), others)
        holders = {process["pid"] for gpu in host["gpus"] for process in gpu["processes"]}
        self.check(f"{name}: Triton itself holds no GPU memory", up["endpoint"]["pid"] not in holders, holders)
        up["nvml_bytes"] = used

    def start(self) -> dict[str, Any]:
        """From a command to Ready, against vLLM alone with the same arguments; both warm."""
        wanted = ("--tp", str(self.given.tp), *ALONE, "--users", str(STREAMS), "--max-len", "1024")
        before = self.free("start-before")
        seconds: dict[str, list[float]] = {"wizard": [], "bare": []}
        # vLLM fills one of its caches at the first start with a model and another at the second: two that do not count.
        name = "vllm" if "vllm" in self.results else "start"
        if name == "start":
            self.up(name, self.model, "vllm", *wanted)
            self.down(name, before)
        argv, env = engine_of(self.workspace / "servers" / name, name)
        self.note("start: bare vLLM, not yet warm", f"{self.bare(argv, env):.1f} s")
        for _ in range(self.given.starts):
            up = self.up("start", self.model, "vllm", *wanted)
            seconds["wizard"].append(up["seconds"])
            self.note("start: steps", up["steps"])
            self.down("start", before)
            seconds["bare"].append(self.bare(argv, env))
        ratio = min(seconds["wizard"]) / min(seconds["bare"])
        self.check(f"start: at most {START_RATIO} of bare vLLM", ratio <= START_RATIO, f"{ratio:.3f}: {seconds}")
        return seconds

    def bare(self, argv: list[str], env: dict[str, str | None]) -> float:
        """Seconds until vLLM alone is loaded, with the interpreter, arguments and environment of a server."""
        environment = {name: value for name, value in {**os.environ, **env}.items() if value is not None}
        log = self.out / "bare.log"
        began = time.monotonic()
        with log.open("ab") as errors:
            words = [argv[0], str(PARTS), "load-vllm", json.dumps({"settings": json.loads(argv[-1])})]
            process = subprocess.Popen(
                words, stdout=subprocess.PIPE, stderr=errors, env=environment, start_new_session=True, text=True
            )
            try:
                line = next((line for line in process.stdout or () if line.strip() == "loaded"), None)
                seconds = time.monotonic() - began
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if line is None:
            raise RuntimeError(f"vLLM alone does not load: {tail(log)}")
        self.settled()
        return seconds

    def settled(self) -> None:
        """Wait until no process that was killed is on a GPU any more."""
        until = time.monotonic() + 30
        while smi("compute-apps", "pid") and time.monotonic() < until:
            pass

    def copies(self) -> dict[str, Any]:
        """Two servers of one model, each on a GPU of its own."""
        return several_gpus.copies(self, STREAMS, ANSWER)

    def replicas(self) -> dict[str, Any]:
        """One server on two GPUs, each with an engine of its own."""
        return several_gpus.replicas(self, STREAMS, ANSWER)

    def data_parallel(self) -> dict[str, Any]:
        """Two data-parallel ranks of models with experts, without weights."""
        return data_parallel.data_parallel(self)


def engine_of(server: Path, model: str) -> tuple[list[str], dict[str, str | None]]:
    """The engine's command and what differs in its environment, from the repository that was written."""
    from google.protobuf import text_format
    from tritonclient.grpc import model_config_pb2

    text = (server / "repository" / model / "config.pbtxt").read_text()
    config = text_format.Parse(text, model_config_pb2.ModelConfig())
    argv, env = (json.loads(config.parameters[name].string_value) for name in ("engine_argv", "engine_env"))
    return argv, env


def tail(log: Path, size: int = 2000) -> str:
    return log.read_text(errors="replace")[-size:] if log.exists() else ""


@contextlib.contextmanager
def kept(journey: Journey) -> Iterator[None]:
    """However it ends: what was found is on the disk, and no server of ours runs."""
    try:
        yield
    finally:
        for folder in sorted(journey.workspace.glob("servers/*")):
            if marked(folder):
                journey.check(f"nothing runs at the end: {folder.name}", False)
                with contextlib.suppress(RuntimeError):
                    journey.wizard("down", folder.name, name="end")
        (journey.out / "results.json").write_text(json.dumps(journey.results, indent=1, default=str))
        (journey.out / "table.txt").write_text("\n".join(f"{label:<64} {detail}" for label, detail in journey.rows))


def main(given: argparse.Namespace) -> int:
    journey = Journey(given)
    if not Path(journey.model, "config.json").exists():
        made = {"folder": journey.model, "shape": given.shape}
        words = [given.engine_python or sys.executable, str(PARTS), "make-model", json.dumps(made)]
        subprocess.run(words, check=True, timeout=given.limit)
    with kept(journey):
        for stage in given.stages:
            print(f"== {stage}", flush=True)
            run: Callable[[], dict[str, Any]] = getattr(journey, stage)
            try:
                journey.results[stage] = run()
            except Exception as error:
                traceback.print_exc()
                journey.check(f"{stage}: {type(error).__name__}", False, str(error)[:1500])
    print(f"\n{len(journey.wrong)} of {sum(row[0][:1] != ' ' for row in journey.rows)} checks failed")
    return bool(journey.wrong)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="where everything is kept")
    parser.add_argument("--workspace", help="the wizard's workspace (OUT/workspace)")
    parser.add_argument("--engine-python", help="an interpreter that has the engines; without it the wizard makes one")
    parser.add_argument("--model", help="a folder with a model instead of one with random weights")
    parser.add_argument("--shape", default="llama-8b", help="of the random weights, see stack_parts.py")
    parser.add_argument("--tp", type=int, default=1, help="GPUs of the stages vllm, sglang and start")
    parser.add_argument("--starts", type=int, default=1, help="pairs of starts that are timed")
    parser.add_argument("--stages", nargs="+", default=list(STAGES), choices=STAGES, metavar="STAGE")
    parser.add_argument("--limit", type=float, default=420, help="seconds that a command may take")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(arguments()))
