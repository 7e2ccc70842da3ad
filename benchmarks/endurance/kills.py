"""Random kills of a run that downloads a model and serves it, each followed by a run that resumes.

    python benchmarks/endurance/kills.py [--runs 500] [--seed N] [--served 0.2] [--folder DIR]

Each of the ``--runs`` begins without the model. The program `triton-wizard run` gets SIGKILL, SIGTERM or SIGINT one to
three times at a random moment; the last run is left alone. The model comes from the hub of the suite, on the loopback
interface, in small pieces. Most runs stop after the download; a share of ``--served`` also starts Triton. After each
signal and each end:

- every line of the journal can be read, but half of one per SIGKILL;
- a file that has its final name is complete, and the same as the hub's; so is what the journal calls done;
- no traceback is shown that passes through the wizard's code; before its first line, Python shows its own;
- after SIGTERM and SIGINT no process of a step is left, after the resumed run none at all;
- a second run at the same time is refused with TW-R100 or TW-K04 (tried now and then);
- the resumed run ends ready, or with an error that has a code.

The environment of the server is made once in ``--folder`` and stays there. A violation is printed with the seed and the
number of its run, so that ``--seed N --only NUMBER`` repeats its signals; the moments depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.model.fake_hub import FakeHub, FakeRepo  # noqa: E402
from wizard.kernel import proctable  # noqa: E402
from wizard.kernel.paths import Workspace  # noqa: E402
from wizard.kernel.values import from_json, to_json  # noqa: E402
from wizard.plan.artefacts import fingerprints  # noqa: E402
from wizard.plan.plan import Plan  # noqa: E402
from wizard.run.journal import Journal, still_done  # noqa: E402

MODEL = next((ROOT / "profiles" / "models").rglob("*.gguf")).read_bytes()
REF, NAME, FILE = "org/killed-GGUF", "killed", "killed-Q8_0.gguf"
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
LIMIT_S = 300
WIZARD = (sys.executable, "-m", "wizard")


@dataclass
class Kills:
    """The runs in a workspace, and what was found."""

    workspace: Workspace
    env: dict[str, str]
    violations: list[str] = field(default_factory=list)
    signals: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    """Step that ran when a signal came → how often."""
    ends: Counter[str] = field(default_factory=Counter)
    seconds: list[tuple[float, str]] = field(default_factory=list)
    """From SIGTERM or SIGINT to the end of the wizard, and the step that ran."""
    torn: int = 0
    """Kills that may have left half a line in the journal."""
    where: str = ""

    def wizard(self, *words: str) -> subprocess.Popen[str]:
        argv = [*WIZARD, *words, "--workspace", str(self.workspace.root)]
        return subprocess.Popen(
            argv,
            env=self.env,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def ended(self, *words: str) -> tuple[int, str]:
        program = self.wizard(*words)
        output = program.communicate(timeout=LIMIT_S)[0]
        return program.returncode, output

    def expect(self, holds: bool, expectation: str) -> None:
        if not holds:
            self.violations.append(f"{self.where}: {expectation}")
            print(f"VIOLATION {self.violations[-1]}", flush=True)

    def saved(self, served: bool) -> Path:
        return self.workspace.root.parent / f"plan-{served}.json"

    def plan(self, path: Path, *, served: bool) -> None:
        _, text = self.ended("plan", REF, "--json", "--name", NAME)
        plan = from_json(Plan, text[text.index("{") :], where="plan")
        if not served:  # what follows the download would start a server
            last = next(at for at, step in enumerate(plan.steps) if step.id == "model")
            data = json.loads(to_json(plan))
            data["steps"] = data["steps"][: last + 1]
            plan = from_json(Plan, json.dumps(data), where="plan")
        path.write_text(to_json(plan), encoding="utf-8")

    def check(self, plan: Plan) -> None:
        """What holds at any time."""
        lines = self.workspace.journal.read_text(encoding="utf-8", errors="replace").splitlines()
        bad = sum(not is_json(line) for line in lines)
        self.expect(bad <= self.torn, f"{bad} lines of the journal cannot be read after {self.torn} kills")
        for path in self.workspace.models.rglob(FILE):
            if not path.is_symlink() and ".cache" not in path.parts:
                self.expect(path.read_bytes() == MODEL, f"{path} is not the hub's file")
        step = next(step for step in plan.steps if step.id == "model")
        mark = fingerprints(plan.steps)[step.id]
        if still_done(step, Journal(self.workspace.journal).finished().get(mark)):
            files = [path for path in self.workspace.models.rglob(FILE) if ".cache" not in path.parts]
            self.expect(any(path.read_bytes() == MODEL for path in files), "the journal calls a missing model done")

    def strays(self) -> list[proctable.Process]:
        return proctable.marked(proctable.STEP_MARK, str(self.workspace.root))

    def kill_and_resume(self, number: int, seed: int, share: float, typical: dict[bool, float]) -> None:
        """Kill and resume a run."""
        sure = random.Random(f"{seed}-{number}")
        served = sure.random() < share
        self.where = f"seed {seed}, run {number}"
        shutil.rmtree(self.workspace.models, ignore_errors=True)
        saved = self.saved(served)
        plan = from_json(Plan, saved.read_text(encoding="utf-8"), where="plan")
        for _ in range(sure.randint(1, 3)):
            number_of = sure.choice(SIGNALS)
            begun, second = sure.random() < 0.7, sure.random() < 0.1
            moment = sure.uniform(
                0, typical[served] * (0.6 if begun else 1)
            )  # from the first step's program on, or not
            program = self.wizard("run", str(saved), "--yes", "--json")
            while begun and program.poll() is None and not self.strays():
                time.sleep(0.02)
            time.sleep(moment)
            if second and program.poll() is None and self.strays():
                code, output = self.ended("run", str(saved), "--yes")
                self.expect(
                    program.poll() is not None or (code != 0 and ("TW-R100" in output or "TW-K04" in output)),
                    f"a second writer: {code} {output[-300:]}",
                )
            if program.poll() is None:
                self.torn += number_of == signal.SIGKILL
                self.signals[number_of.name] += 1
            sent = time.monotonic()
            program.send_signal(number_of)
            output = program.communicate(timeout=LIMIT_S)[0]
            self.steps[last_step(output)] += 1
            if number_of != signal.SIGKILL:
                self.seconds.append((time.monotonic() - sent, last_step(output)))
                self.expect(not self.strays(), f"processes are left after {number_of.name}: {self.strays()}")
            ours = "Traceback" in output and f'File "{ROOT}' in output
            self.expect(not ours, f"a traceback after {number_of.name}: {output[-600:]}")
            self.check(plan)
        code, output = self.ended("run", str(saved), "--yes", "--json")
        code_of_error = re.search(r"TW-[A-Z]+\d+", output)
        end = "ready" if code == 0 else code_of_error[0] if code_of_error else f"exit status {code}"
        self.ends[end] += 1
        self.expect(
            end in ("ready", "TW-S02") if not served else end == "ready" or bool(code_of_error),
            f"{end}: {output[-600:]}",
        )
        self.expect(not self.strays(), f"processes are left after the end: {self.strays()}")
        self.check(plan)
        typed = json.loads(to_json(plan))["steps"][1]["id"] == "model"
        self.expect(
            typed and any(p.read_bytes() == MODEL for p in self.workspace.models.rglob(FILE)), "no model at the end"
        )
        if served or number % 10 == 0:
            code, output = self.ended("down", "--all")
            self.expect(code == 0, f"down: {code} {output[-300:]}")


def is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return not line.strip()
    return True


def last_step(output: str) -> str:
    steps = re.findall(r'"event": ?"StepStarted".*?"step": ?"(\w+)"', output)
    return steps[-1] if steps else "before the first step"


def main() -> int:
    """Run, check, print; the exit status says whether there was a violation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--served", type=float, default=0.2, help="share of the runs that start a server (0.2)")
    parser.add_argument("--folder", type=Path, help="keep workspace and home there (a temporary folder)")
    parser.add_argument("--only", type=int, help="only the run with this number")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no further run after so long")
    given = parser.parse_args()
    made = None if given.folder else tempfile.mkdtemp(prefix="kills-")
    folder = (given.folder or Path(made or "")).resolve()
    (folder / "home").mkdir(parents=True, exist_ok=True)
    print(f"seed {given.seed}, folder {folder}", flush=True)
    began, done = time.monotonic(), 0
    with FakeHub({REF: FakeRepo({FILE: MODEL})}) as hub:
        hub.server.handle_error = lambda *_: None  # type: ignore[method-assign]  # connections that a kill cut
        hub.trickles = True
        env = {**os.environ, "HF_ENDPOINT": hub.url, "HOME": str(folder / "home"), "HF_HUB_DISABLE_TELEMETRY": "1"}
        kills = Kills(Workspace(folder / "w"), env)
        typical = {}
        for served in (False, True):
            shutil.rmtree(kills.workspace.models, ignore_errors=True)
            kills.plan(kills.saved(served), served=served)
            kills.ended("run", str(kills.saved(served)), "--yes")  # makes the environment
            shutil.rmtree(kills.workspace.models, ignore_errors=True)
            kills.ended("down", "--all")
            start = time.monotonic()
            code, _ = kills.ended("run", str(kills.saved(served)), "--yes")
            typical[served] = time.monotonic() - start
            print(f"without a kill: {typical[served]:.1f} s, exit status {code}", flush=True)
            kills.ended("down", "--all")
        for number in range(given.runs) if given.only is None else (given.only,):
            if time.monotonic() - began > given.minutes * 60:
                break
            kills.kill_and_resume(number, given.seed, given.served, typical)
            done += 1
            if done % 10 == 0:
                print(f"{done} runs, {len(kills.violations)} violations, {time.monotonic() - began:.0f} s", flush=True)
        kills.ended("down", "--all")
    print(f"{done} of {given.runs} runs: {len(kills.violations)} violations")
    print("signals: " + ", ".join(f"{count} {name}" for name, count in sorted(kills.signals.items())))
    print("at the step: " + ", ".join(f"{count} {name}" for name, count in kills.steps.most_common()))
    print("resumed runs ended: " + ", ".join(f"{count} {name}" for name, count in kills.ends.most_common()))
    if kills.seconds:
        longest, step = max(kills.seconds)
        middle = statistics.median(seconds for seconds, _ in kills.seconds)
        ends = f"median {middle:.1f} s, at most {longest:.1f} s ({step})"
        print(f"SIGTERM or SIGINT to the end: {ends}, load {os.getloadavg()[0]:.1f}")
    for violation in kills.violations:
        print(violation)
    if made and not kills.violations:
        shutil.rmtree(made)
    return 1 if kills.violations else 0


if __name__ == "__main__":
    sys.exit(main())
