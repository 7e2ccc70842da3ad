"""Stand-ins for what NVIDIA's images and repositories have of TensorRT-LLM: its tools, its backend and mpirun.

The tools take exactly the flags that the real ones of a release take (``tests/cases/cli-contracts.json``), look whether
what they are to read is there, and write folders that look like checkpoints and engines; nothing is computed. The
Python models around the engine are those of ``tests/repository/standins.py``.

A file ``hold.TOOL`` in the server's folder makes TOOL stop half-way, ``fill.TOOL`` makes it write until the disk is
full.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.plan.contracts import contracts, options
from tests.repository import standins
from wizard.catalog.contents import TOOLS, contents

BACKEND = Path(__file__).with_name("fake_trtllm_backend.py")
TENSORRT_LLM = "https://github.com/NVIDIA/TensorRT-LLM.git"
TRITON_BACKEND = "https://github.com/triton-inference-server/tensorrtllm_backend.git"

COMMON = '''\
#!/usr/bin/python3
"""{name}: a stand-in for the tool of TensorRT-LLM {version}, made by the tests."""
import argparse, json, os, signal, subprocess, sys
from pathlib import Path

def write(folder, files, half):
    """Write files one after another; ``half`` is where a tool that is told to stop or to fill the disk does so."""
    folder.mkdir(parents=True)
    for path, text in files.items():
        (folder / path).write_text(text)
        if path == half and Path("hold.{name}").exists():
            print("begun", flush=True)
            while True:
                signal.pause()
        if path == half and Path("fill.{name}").exists():
            print("begun", flush=True)
            with (folder / "more").open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(1 << 16))

def ranks(world, kind):
    return {{f"rank{{rank}}.{{kind}}": "stand-in" for rank in range(world)}}

p = argparse.ArgumentParser()
{flags}
given = p.parse_args()
'''
QUANTIZE = """
assert Path(given.model_dir, "model.safetensors").stat().st_size
config = json.loads(Path(given.model_dir, "config.json").read_text())
print(f"FakeQuantize: {given.qformat} of {config['architectures'][0]}", flush=True)
files = {"config.json": json.dumps({"tp": given.tp_size}), **ranks(given.tp_size, "safetensors")}
write(Path(given.output_dir), files, "config.json")
"""
CONVERT = """
assert Path(given.model_dir, "model.safetensors").stat().st_size
files = {"config.json": json.dumps({"tp": given.tp_size}), **ranks(given.tp_size, "safetensors")}
write(Path(given.output_dir), files, "config.json")
"""
BUILD = """
checkpoint = Path(given.checkpoint_dir)
world = json.loads((checkpoint / "config.json").read_text())["tp"]
assert all((checkpoint / name).exists() for name in ranks(world, "safetensors"))
print("FakeBuild: [TRT-LLM] an engine that is none", flush=True)
files = {"config.json": json.dumps({"max_batch_size": given.max_batch_size}), **ranks(world, "engine")}
write(Path(given.output_dir), files, "rank0.engine")
"""
RUN = """
assert Path(given.engine_dir, "config.json").exists() and Path(given.tokenizer_dir, "tokenizer.json").exists()
print("FakeRun: rank", os.environ.get("FAKE_RANK", "0"), "continues", given.input_text, flush=True)
"""
LAUNCH = """
server = [given.tritonserver, f"--model-repository={given.model_repo}", "--disable-auto-complete-config"]
subprocess.Popen(["mpirun", "--allow-run-as-root", "-n", str(given.world_size), *server])
"""
MPIRUN = '''\
#!/usr/bin/python3
"""FakeMpirun: starts the ranks, each in a group of its own, and hands a stop on to them.

Only the first rank of a server is one: without GPUs two of them would ask for the same ports.
"""
import os, signal, subprocess, sys

_, allow, n, world, *argv = sys.argv
assert (allow, n) == ("--allow-run-as-root", "-n")
IDLE = [sys.executable, "-c", "import signal; signal.pause()"]
kinds = [argv if rank == 0 or "tritonserver" not in argv[0] else IDLE for rank in range(int(world))]
environments = [{**os.environ, "FAKE_RANK": str(rank)} for rank in range(int(world))]
ranks = [subprocess.Popen(one, env=env, start_new_session=True) for one, env in zip(kinds, environments)]
signal.signal(signal.SIGTERM, lambda *_: [one.send_signal(signal.SIGTERM) for one in ranks if one.poll() is None])
status = ranks[0].wait()
for one in ranks[1:]:
    if one.args == IDLE:
        one.kill()
    status = status or max(0, one.wait())
print("FakeMpirun: all ranks have ended", flush=True)
sys.exit(status)
'''
PLACES = {
    "quantize.py": ("examples/quantization/quantize.py", QUANTIZE),
    "convert_checkpoint.py": ("examples/llama/convert_checkpoint.py", CONVERT),
    "run.py": ("examples/run.py", RUN),
}


def _tool(version: str, contract: str, name: str, action: str) -> str:
    """A program with the flags that the tool ``contract`` of ``version`` really has."""
    lines = []
    for spec in {option["name"]: option for option in options(contracts()[version], contract).values()}.values():
        keywords: list[str] = []
        if str(spec.get("action", "")).startswith("store_"):
            keywords.append(f"action={spec['action']!r}")
        else:
            if isinstance(spec.get("choices"), list):
                keywords.append(f"choices={[choice for choice in spec['choices'] if choice is not None]!r}")
            if spec.get("type") == "int":
                keywords.append("type=int")
            known = {
                **spec,
                "default": None if "." in str(spec.get("default")) else spec.get("default"),
            }  # an expression
            keywords += [f"{key}={known[key]!r}" for key in ("nargs", "required", "default") if known.get(key)]
        lines.append(f"p.add_argument({', '.join([*map(repr, spec['aliases']), *keywords])})")
    return COMMON.format(name=name, version=version, flags="\n".join(lines)) + action


def in_image(root: Path, tag: str, version: str) -> Path:
    """What is laid over the image ``tag`` (``24.09``): the backend, ``mpirun``, and what NVIDIA's of that tag has.

    ``trtllm-build``, as of ``version``, is there only where profiles/releases/contents.toml says so.
    """
    tools = root / "opt/tritonserver/bin"
    tools.mkdir(parents=True)
    (tools / "mpirun").write_text(MPIRUN)
    known = contents().of(tag, TOOLS)
    if known and known.value:
        build = _tool(version, "tensorrt_llm/commands/build.py", "trtllm-build", BUILD)
        (tools / "trtllm-build").write_text(build)
    for path in tools.iterdir():
        path.chmod(0o755)
    backend = root / "opt/tritonserver/backends/tensorrtllm"
    backend.mkdir(parents=True)
    (backend / "model.py").write_text(BACKEND.read_text(encoding="utf-8"))
    return root


def repositories(root: Path, releases: dict[str, str]) -> dict[str, str]:
    """Both repositories of NVIDIA's as local ones, with a tag for each release; the settings that make git use them.

    Args:
        root: Where they are made.
        releases: Tag → version of the contract that the tools of that tag keep to.
    """
    places = {TENSORRT_LLM: root / "TensorRT-LLM", TRITON_BACKEND: root / "tensorrtllm_backend"}
    for place in places.values():
        place.mkdir(parents=True)
        _git(place, "init", "--quiet")
        _git(place, "config", "uploadpack.allowFilter", "true")
    for tag, version in releases.items():
        for name, (path, action) in PLACES.items():
            if path in contracts()[version]:
                _put(places[TENSORRT_LLM] / path, _tool(version, path, name, action))
        backend = places[TRITON_BACKEND]
        launch = _tool(version, "backend:scripts/launch_triton_server.py", "launch_triton_server.py", LAUNCH)
        _put(backend / "scripts/launch_triton_server.py", launch)
        for model in ("preprocessing", "postprocessing"):
            _put(backend / f"all_models/inflight_batcher_llm/{model}/1/model.py", standins.MODELS[model])
        for place in places.values():
            _git(place, "add", "--all")
            _git(place, "commit", "--quiet", "--allow-empty", "--message", tag)
            _git(place, "tag", tag)
    settings = {"GIT_CONFIG_COUNT": str(len(places))}
    for index, (url, place) in enumerate(places.items()):
        settings[f"GIT_CONFIG_KEY_{index}"] = f"url.file://{place}.insteadOf"
        settings[f"GIT_CONFIG_VALUE_{index}"] = url
    return settings


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _git(place: Path, *arguments: str) -> None:
    who = ("-c", "user.name=tests", "-c", "user.email=tests@localhost")
    subprocess.run(["git", "-C", str(place), *who, *arguments], check=True, capture_output=True)
