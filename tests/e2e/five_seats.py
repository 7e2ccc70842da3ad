"""A class on one machine: seats with a home each install a bundle without a network, serve the demo, ask and stop.

    triton-wizard bundle --out FOLDER --yes
    python -m tests.e2e.five_seats FOLDER [--seats 5]

The seats run in a network namespace with nothing but loopback (unshare(1)). Where that is not permitted, proxies lead
to a closed port, and pip, uv and the Hub are told to be offline; the report says which. Prints measurements as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

QUESTION = "What is Triton?"
CLOSED = "http://127.0.0.1:9"
OFFLINE = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), CLOSED),
    "PIP_NO_INDEX": "1",
    "UV_OFFLINE": "1",
    "HF_HUB_OFFLINE": "1",
}
KEPT = ("PATH", "LANG", "TERM", "PYENV_ROOT")


def run(argv: Sequence[str], environment: dict[str, str]) -> tuple[str, dict[str, float]]:
    """Run a command to its end: what it printed, and its seconds of time and of processor."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(argv, env=environment, cwd=environment["HOME"], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, {"s": round(time.monotonic() - began, 1), "cpu_s": round(cpu, 1)}


def memory(home: Path) -> int:
    """Bytes of all processes of a seat: those that were started with its home (proportional set size)."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"HOME={home}\0".encode() not in process.joinpath("environ").read_bytes():
                continue
            line = next(line for line in process.joinpath("smaps_rollup").read_text().splitlines() if "Pss:" in line)
        except (OSError, StopIteration):
            continue
        total += int(line.split()[1]) << 10
    return total


def size(folder: Path) -> int:
    """Bytes on disk."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def seats(bundle: Path, count: int, base: Path, network: str) -> dict[str, Any]:
    """Install all seats one by one, serve on all at once, and stop them."""
    share = base / "share"
    share.mkdir()
    rows: list[dict[str, Any]] = []
    homes = [base / f"home-{number}" for number in range(count)]
    environments = []
    for number, home in enumerate(homes):
        home.mkdir()
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        environment |= {"HOME": str(home), "TRITON_WIZARD_WORKSHOP": str(share), "TRITON_WIZARD_SEAT": str(number)}
        environments.append(environment | (OFFLINE if network == "proxies to a closed port" else {}))
    for environment in environments:
        _, install = run((sys.executable, str(bundle / "install.py"), "--yes"), environment)
        rows.append({"install": install})
    wizard = [str(home / "triton-workshop" / "venv" / "bin" / "triton-wizard") for home in homes]
    for row, program, environment in zip(rows, wizard, environments, strict=True):
        _, row["up"] = run((program, "up", "demo", "--yes"), environment)
        answer, row["chat"] = run((program, "chat", "-m", QUESTION), environment)
        assert "Triton" in answer, answer
    for row, home, program, environment in zip(rows, homes, wizard, environments, strict=True):
        status, _ = run((program, "status", "--json"), environment)
        assert [server["state"] for server in json.loads(status)] == ["ready"], status
        row |= {"memory_bytes": memory(home), "disk_bytes": size(home)}
    for row, program, environment in zip(rows, wizard, environments, strict=True):
        _, row["down"] = run((program, "down"), environment)
    room, _ = run((wizard[0], "workshop", "status", str(share), "--json"), environments[0])
    stages = [(seat["progress"]["seat"], seat["progress"]["stage"]) for seat in json.loads(room)["seats"]]
    assert stages == [(f"seat-{number}", "down") for number in range(count)], stages
    assert not [home for home in homes if memory(home)], "processes are left"
    cores = len(os.sched_getaffinity(0))
    return {"network": network, "python": platform.python_version(), "cores": cores, "seats": rows}


def is_off() -> bool:
    """Whether nothing but loopback can be reached."""
    try:
        socket.create_connection(("192.0.2.1", 9), timeout=2).close()
    except OSError as error:
        return not isinstance(error, TimeoutError)
    return False


def main() -> None:
    """Run this script again where there is no network, and there all seats."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--seats", type=int, default=5)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if (
        not options.inside
        and subprocess.run(["unshare", "-n", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    ):
        again = [
            sys.executable,
            "-m",
            "tests.e2e.five_seats",
            str(options.bundle.resolve()),
            f"--seats={options.seats}",
        ]
        os.execvp("unshare", ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@" --inside', "sh", *again])
    network = "a namespace with loopback alone" if options.inside else "proxies to a closed port"
    if options.inside and not is_off():
        raise SystemExit("the network is not off")
    base = Path(tempfile.mkdtemp(prefix="class-"))
    try:
        print(json.dumps(seats(options.bundle.resolve(), options.seats, base, network), indent=1))
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    main()
