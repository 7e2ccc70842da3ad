"""The native stacks on a real GPU: an engine by itself, and the same engine behind Triton and the proxy, in one run.

    python3 tests/gpu/native_stacks.py --out OUT --shape llama-8b --stub-wheels WHEELS --vllm-site SITE [--only STAGE …]

An ordinary script for a machine without a network. It needs, beside the checkout:

* the Python that runs it: ``tritonclient[grpc]`` (with ``--client-site FOLDER`` it may lie there);
* ``--stub-wheels``: a folder with the wheels ``nvidia_pytriton`` and ``numpy`` 1.26 for that Python, of which an
  environment for Triton's stub is made under ``--out`` (or ``--stub-env``: one that is made already);
* ``--engine-python``: an interpreter with torch and transformers, and with vLLM, or ``--vllm-site``, a folder with it.

Every stage ends by itself or at its limit, keeps its logs under ``--out``, and stops what it started. The results are
printed as a table and kept in ``results.json``, which later runs with other stages add to.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from stack_parts import CONTEXT, SHAPES, inputs, prompts, summary

CHECKOUT = Path(__file__).resolve().parents[2]
PARTS = Path(__file__).with_name("stack_parts.py")
CLIENTS = 4
"""Processes that ask: one alone would be slower than the server."""
VLLM_ENV = {"VLLM_USE_FLASHINFER_SAMPLER": "0", "VLLM_NO_USAGE_STATS": "1"}
OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONUNBUFFERED": "1"}
STAGES = (
    "vllm-bare",
    "vllm",
    "transformers-bare",
    "transformers",
    "transformers-graphs",
    "unbatched",
    "vllm-offline-model",
    "transformers-offline-model",
)
OFFLINE_MODEL = CHECKOUT / "profiles" / "models" / "triton-wizard-demo"
QUESTION, EXPECTED = "What is Triton?", "Triton"


class Run:
    """What was asked for, and the processes that carry it out."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.out = Path(given.out).absolute()
        self.out.mkdir(parents=True, exist_ok=True)
        self.model = str(Path(given.model).absolute()) if given.model else str(self.out / f"model-{given.shape}")
        self.load = (given.requests, given.prompt, given.answer)

    def engine_env(self) -> dict[str, str]:
        paths = [path for path in (self.given.vllm_site, os.environ.get("PYTHONPATH")) if path]
        more = {"PYTHONPATH": os.pathsep.join(paths)} if paths else {}
        return {**OFFLINE, **VLLM_ENV, **more}

    def sub(self, python: str, verb: str, argument: dict[str, Any], seconds: float, env: dict[str, str]) -> Any:
        """Run a part of this script in a process of its own; its last line of output is its result."""
        log, output_path = self.out / f"{verb}.log", self.out / f"{verb}.out"
        command = [python, str(PARTS), verb, json.dumps(argument)]
        with log.open("ab") as errors, output_path.open("wb") as output:
            process = subprocess.Popen(
                command, stdout=output, stderr=errors, env={**os.environ, **env}, start_new_session=True
            )
            try:
                process.wait(seconds)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        if process.returncode:
            raise RuntimeError(
                f"{verb} ended with {process.returncode}; see {log} and {output_path}\n{tail(output_path)}{tail(log)}"
            )
        return json.loads(output_path.read_text(errors="replace").splitlines()[-1])

    def loads(self, requests: int) -> list[list[str]]:
        """A load to warm up, the same size again, and a single request."""
        tokens = self.given.prompt
        return [
            prompts(requests, tokens, 1),
            prompts(requests, tokens, 2),
            prompts(1, tokens, 3),
            prompts(1, tokens, 4),
        ]

    def bare(self, verb: str, settings: dict[str, Any]) -> dict[str, Any]:
        argument = {"settings": settings, "loads": self.loads(self.given.requests), "answer": self.given.answer}
        loads = self.sub(self.given.engine_python, verb, argument, self.given.limit, self.engine_env())["loads"]
        return {"many": loads[1], "single": loads[3]}

    def vllm_settings(self) -> dict[str, Any]:
        return {"model": self.model, "max_model_len": CONTEXT, "max_num_seqs": 256, **json.loads(self.given.vllm)}

    def transformers_settings(self, **more: Any) -> dict[str, Any]:
        return {"model": self.model, "max_seq_len": CONTEXT, "max_batch_size": self.given.requests, **more}

    def stub_environment(self) -> Path:
        """The environment of Triton's stub, made of wheels."""
        if self.given.stub_env:
            return Path(self.given.stub_env)
        made = self.out / "stub"
        if not (made / "complete").exists():
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(made)], check=True)
            (packages,) = made.glob("lib/python3*/site-packages")
            for pattern in ("nvidia_pytriton-*.whl", "numpy-1.*.whl"):
                (wheel,) = Path(self.given.stub_wheels).glob(pattern)
                unpack(wheel, packages)
            library = f"libpython{sys.version_info.major}.{sys.version_info.minor}.so.1.0"
            if (Path(sys.base_prefix) / "lib" / library).exists():  # where the stub finds it in any case
                (packages / "nvidia_pytriton.libs" / library).symlink_to(Path(sys.base_prefix) / "lib" / library)
            (made / "complete").touch()
        return made

    @contextlib.contextmanager
    def serving(self, name: str, engine: str, settings: dict[str, Any]) -> Iterator[Any]:
        """Triton with the proxy and an engine; ends early, saying why, if the model does not load."""
        from tests.server_environment import LISTENS, running_triton, write
        from tests.values import CHOICE, GGUF
        from wizard.repository.proxy import Engine, repository

        scratch = self.out / name
        scratch.mkdir(exist_ok=True)
        env: dict[str, str | None] = {each: os.environ.get(each) for each in ("LD_LIBRARY_PATH", "PATH")}
        (program,) = (CHECKOUT / "wizard" / "stacks").glob(f"*/engine/{engine}_engine.py")
        env.update(self.engine_env())
        made = repository(
            "demo",
            engine=Engine(program, every_setting=engine == "vllm"),
            python=self.given.engine_python,
            settings=settings,
            env=env,
            facts=GGUF,
            choice=CHOICE,
        )
        environment = self.stub_environment()
        with running_triton(write(made, scratch / "models"), scratch, ready=False, environment=environment) as triton:
            triton.wait_for_log(
                lambda log: LISTENS in log or "failed to load 'demo'" in log or triton.process.poll() is not None,
                self.given.limit,
            )
            if triton.status("/v2/health/ready") != 200:
                raise RuntimeError(f"the model did not load; see {triton.log}\n{tail(triton.log)}")
            yield triton

    def ask(self, address: str, load: list[str], answer: int, *, stream: bool) -> dict[str, float]:
        """One load from several client processes that begin together."""
        begin = time.monotonic() + 5.0  # until then all of them have imported, connected, and wait
        shares = [share for share in (load[n::CLIENTS] for n in range(CLIENTS)) if share]
        command = [sys.executable, str(PARTS), "client"]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        running = []
        with (self.out / "clients.log").open("ab") as errors:
            for share in shares:
                argument = {"address": address, "load": share, "answer": answer, "stream": stream, "begin": begin}
                running.append(
                    subprocess.Popen([*command, json.dumps(argument)], stdout=subprocess.PIPE, stderr=errors, env=env)
                )
            try:
                ended = [process.communicate(timeout=self.given.limit)[0] for process in running]
            finally:
                for process in running:
                    process.kill()
        if any(process.returncode for process in running):
            raise RuntimeError(f"a client failed:\n{tail(self.out / 'clients.log')}")
        return summary(begin, [each for output in ended for each in json.loads(output.splitlines()[-1])])

    def through_triton(
        self, name: str, engine: str, settings: dict[str, Any], requests: int, *, deep: bool = True
    ) -> dict[str, Any]:
        """The same loads through Triton; with ``deep`` also without streaming, and what cancelling and errors do."""
        started = time.monotonic()
        with self.serving(name, engine, settings) as triton:
            address = f"127.0.0.1:{triton.ports.grpc}"
            measured: dict[str, Any] = {"start_s": round(time.monotonic() - started, 1)}
            warm, many, once, single = self.loads(requests)
            self.ask(address, warm if deep else once, self.given.answer, stream=True)
            measured["many"] = self.ask(address, many, self.given.answer, stream=True)
            measured["single"] = self.ask(address, single, self.given.answer, stream=True)
            if deep:
                again = prompts(requests, self.given.prompt, 5)
                measured["many_not_streamed"] = self.ask(address, again, self.given.answer, stream=False)
            measured["checks"] = checks(triton, address)
        return measured

    def offline_model(self, engine: str, settings: dict[str, Any]) -> dict[str, Any]:
        """The model that the wizard brings: one question, whose answer is known, through the engine's chat template."""
        import queue

        from tritonclient.grpc import InferenceServerClient

        responses: queue.SimpleQueue[Any] = queue.SimpleQueue()
        text = ""
        with (
            self.serving(f"{engine}-offline-model", engine, {"model": str(OFFLINE_MODEL), **settings}) as triton,
            InferenceServerClient(f"127.0.0.1:{triton.ports.grpc}") as server,
        ):
            server.start_stream(lambda result, error: responses.put(error or result))
            server.async_stream_infer("demo", inputs(QUESTION, 64, True, chat=True))
            finish = ""
            while not finish:
                response = responses.get(timeout=60)
                if isinstance(response, Exception):
                    raise response
                text += response.as_numpy("text_output")[0].decode()
                finish = response.as_numpy("finish_reason")[0].decode()
        return {"checks": {"answer": "ok" if EXPECTED in text else f"unexpected: {text!r}"}, "text": text}


def unpack(wheel: Path, packages: Path) -> None:
    """Install a wheel without pip, which not every machine has."""
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            path = Path(archive.extract(member, packages))
            if member.external_attr >> 16 & 0o111 and path.is_file():
                path.chmod(0o755)


def checks(triton: Any, address: str) -> dict[str, str]:
    """Cancel a long answer, and ask what cannot be answered; ``ok`` or what was seen instead."""
    import queue

    from tritonclient.grpc import InferenceServerClient

    seen = {}
    with InferenceServerClient(address) as server:
        first: queue.SimpleQueue[Any] = queue.SimpleQueue()
        server.start_stream(lambda result, error: first.put(error))
        server.async_stream_infer("demo", inputs("a" * 20, CONTEXT, True))
        error = first.get(timeout=60)
        server.stop_stream(cancel_requests=True)
    try:
        triton.wait_for_log(lambda log: "cancelled after" in log, 20)
        seen["cancel"] = "ok" if error is None else str(error)
    except AssertionError:
        seen["cancel"] = "the server never said so"
    refused: queue.SimpleQueue[Any] = queue.SimpleQueue()
    with InferenceServerClient(address) as server:
        server.start_stream(lambda result, error: refused.put(error))
        server.async_stream_infer("demo", inputs("a" * (CONTEXT + 1), 8, True))
        message = str(refused.get(timeout=60))
        seen["error"] = "ok" if "prompt too long" in message else message
    return seen


def tail(log: Path, size: int = 3000) -> str:
    """The end of a log."""
    return log.read_text(errors="replace")[-size:] if log.exists() else ""


def stages(run: Run) -> dict[str, Callable[[], dict[str, Any]]]:
    """What each stage does."""
    many = run.given.requests
    batched = run.transformers_settings
    graphs = {"use_cuda_graph": True, "num_blocks": 8 * many, "max_batch_tokens": 2048}  # graphs are padded to these
    return {
        "vllm-bare": lambda: run.bare("bare-vllm", run.vllm_settings()),
        "vllm": lambda: run.through_triton("vllm", "vllm", run.vllm_settings(), many),
        "transformers-bare": lambda: run.bare("bare-transformers", {"model": run.model}),
        "transformers": lambda: run.through_triton("transformers", "transformers", batched(), many),
        "transformers-graphs": lambda: run.through_triton(
            "transformers-graphs", "transformers", batched(continuous_batching=graphs), many
        ),
        "unbatched": lambda: run.through_triton(
            "unbatched", "transformers", batched(mode="unbatched"), run.given.unbatched, deep=False
        ),
        "vllm-offline-model": lambda: run.offline_model(
            "vllm", {"max_model_len": 1024, "gpu_memory_utilization": 0.3, "enforce_eager": True}
        ),
        "transformers-offline-model": lambda: run.offline_model(
            "transformers", {"max_seq_len": 1024, "max_batch_size": 4}
        ),
    }


def table(results: dict[str, Any]) -> str:
    """The results in lines of text."""
    rows = [f"{'stage':<28}{'requests':>9}{'tokens/s':>10}{'ttft ms':>9}{'responses':>10}"]
    for stage in STAGES:
        measured = results.get(stage, {})
        if "failed" in measured:
            rows.append(f"{stage:<28}{measured['failed'].splitlines()[0][:60]}")
        for part in ("many", "many_not_streamed", "single"):
            if figures := measured.get(part):
                name = f"{stage} {part.replace('many_', '').replace('many', '')}".strip()
                rows.append(
                    f"{name:<28}{figures['requests']:>9}{figures['tokens_per_s']:>10}{figures['ttft_ms']:>9}{figures['responses']:>10}"
                )
        if "checks" in measured:
            rows.append(
                f"{'':<28}" + ", ".join(f"{name}: {outcome[:60]}" for name, outcome in measured["checks"].items())
            )
    for ours, bare in (("vllm", "vllm-bare"), ("transformers", "transformers-bare"), ("vllm", "transformers")):
        for part in ("many", "single"):
            with contextlib.suppress(KeyError):
                share = results[ours][part]["tokens_per_s"] / results[bare][part]["tokens_per_s"]
                rows.append(f"{ours} / {bare}, {part}: {share:.3f}")
    return "\n".join(rows)


def versions(python: str, env: dict[str, str]) -> dict[str, str]:
    """Versions in the engine's interpreter."""
    code = (
        "import importlib.metadata as m, json\n"
        "names = ('torch', 'transformers', 'vllm', 'numpy')\n"
        "print(json.dumps({d.name: d.version for d in m.distributions() if d.name in names}))"
    )
    done = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **env}, timeout=60
    )
    return dict(json.loads(done.stdout)) if done.returncode == 0 else {"unknown": done.stderr[-200:]}


def main(given: argparse.Namespace) -> int:
    """Run the stages that were asked for; 0 if none failed."""
    for path in (given.client_site, str(CHECKOUT)):
        if path:
            sys.path.insert(0, path)
    run = Run(given)
    file = run.out / "results.json"
    results: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    results["versions"] = versions(given.engine_python, run.engine_env())
    results["date"] = time.strftime("%Y-%m-%d")
    if not given.model and not (Path(run.model) / "complete").exists():
        argument = {"folder": run.model, "shape": given.shape}
        run.sub(given.engine_python, "make-model", argument, given.limit, OFFLINE)
        (Path(run.model) / "complete").touch()
    failed = False
    for stage, work in stages(run).items():
        if given.only and stage not in given.only:
            continue
        print(f"--- {stage}", flush=True)
        started = time.monotonic()
        try:
            results[stage] = work()
        except Exception as error:
            traceback.print_exc()
            failed = True
            results[stage] = {"failed": f"{type(error).__name__}: {error}"[:4000]}
        print(f"    {time.monotonic() - started:.0f} s", flush=True)
        file.write_text(json.dumps(results, indent=2) + "\n")
    print(table(results), flush=True)
    return int(failed)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="native-stacks", help="folder for logs, models and results")
    parser.add_argument("--only", nargs="+", choices=STAGES, help="stages to run, all if left out")
    parser.add_argument("--model", help="a model's folder with its tokenizer; its answers should not end early")
    parser.add_argument("--shape", choices=SHAPES, default="llama-8b", help="make a model of random weights instead")
    parser.add_argument("--engine-python", default=sys.executable)
    parser.add_argument("--vllm-site", help="a folder with vLLM that goes onto the engine's PYTHONPATH")
    parser.add_argument("--client-site", help="a folder with tritonclient")
    parser.add_argument("--stub-env", help="a virtual environment with nvidia-pytriton and numpy < 2")
    parser.add_argument("--stub-wheels", help="a folder with their wheels")
    parser.add_argument("--vllm", default='{"gpu_memory_utilization": 0.85}', help="more of vLLM's AsyncEngineArgs")
    parser.add_argument("--requests", type=int, default=64)
    parser.add_argument("--prompt", type=int, default=100, help="letters of a prompt, each a token of the made model")
    parser.add_argument("--answer", type=int, default=128, help="tokens of an answer")
    parser.add_argument("--unbatched", type=int, default=4, help="requests of the stage unbatched")
    parser.add_argument("--limit", type=float, default=300, help="seconds that anything in a stage may take")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(arguments()))
