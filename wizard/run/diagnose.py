"""Why a command failed, from its output: the line with the cause, and the remedy.

The texts are those of docker 20.10 to 28 and podman (pulls that a registry rejects), of pip 23 and uv 0.13 (an
unreachable index), of the C library (a full disk), of huggingface_hub's command line, and of PyTorch and TensorRT-LLM
on a GPU that is full.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from wizard.kernel.errors import StepError
from wizard.kernel.language import join, mark, tr
from wizard.kernel.text import plain

FIX_THE_CAUSE = mark("Fix the cause")
"""The remedy for an unknown cause."""
_FULL = ("no space left on device", "disk quota exceeded")
_GPU_FULL = r"\bcuda\b.*out of memory"
_PIP_WARNING = "after connection broken by"
"""pip warns about this, and in the end only reports that it found nothing."""
_SYSTEM = re.compile(r"[\w ]+: \[Errno -?\d+\] [^']+")
"""The system's message within such a warning."""
_NOT_FOUND = "no matching distribution found"
_LOGIN = mark(
    "The registry requires a login for this image, or the image does not exist: look up its tag in the catalog "
    "(https://catalog.ngc.nvidia.com/orgs/nvidia/containers/tritonserver), or log in with `docker login nvcr.io` as "
    "$oauthtoken"
)
_UNREACHABLE = mark("Check this machine's network: DNS, proxy (including the container engine's), firewall")
_INDEX = mark(
    "Check that this machine can reach the package index: DNS, proxy, firewall, and the index configured for pip or uv"
)
_REMEDIES = {
    **dict.fromkeys(_FULL, mark("Free some space on the full disk; incomplete files are recreated")),
    _GPU_FULL: mark(
        "Free GPU memory (run nvidia-smi to see what is using it), or choose a smaller model, fewer concurrent "
        "users (--users), or a shorter context (--max-len)"
    ),
    "manifest unknown": mark(
        "The registry has no image with this tag: choose another with --release, such as the previous one"
    ),
    "no matching manifest for": mark(
        "This image is only available for other CPU architectures: choose another with --release, or use an "
        "x86_64 machine"
    ),
    "toomanyrequests": mark("The registry's rate limit was reached: wait, or log in to raise the limit"),
    "unauthorized": _LOGIN,
    "pull access denied": _LOGIN,
    "response from daemon: denied": _LOGIN,
    "access to the resource is denied": _LOGIN,
    "unexpected http status: 5": mark("The registry returned a server error: try again in a few minutes"),
    _PIP_WARNING: _INDEX,
    r"(?:no matching distribution found for|no version of) torch==[\d.]+\+cu": mark(
        "The build for this CUDA version is in PyTorch's own package index: set PIP_EXTRA_INDEX_URL (for uv: "
        "UV_INDEX) to the URL listed for this PyTorch version at "
        "https://pytorch.org/get-started/previous-versions"
    ),
    _NOT_FOUND: mark(
        "The package index has no matching distribution for this machine: check which index pip uses (`pip "
        "config list`), and whether it is a complete mirror of the public index"
    ),
    "error: failed to fetch: ": _INDEX,
    "no such host": _UNREACHABLE,
    "temporary failure in name resolution": _UNREACHABLE,
    "could not resolve host": _UNREACHABLE,
    "i/o timeout": _UNREACHABLE,
    "tls handshake timeout": _UNREACHABLE,
    "network is unreachable": _UNREACHABLE,
    "connection refused": _UNREACHABLE,
    "cannot connect to the docker daemon": mark("Start the container engine (`sudo systemctl start docker`)"),
    "requires approval": mark("Accept the model's license on its page with the account that the token belongs to"),
    "invalid user token": mark("Use a valid token: run `hf auth login`, or set HF_TOKEN"),
}
"""Pattern in a lowercase line → remedy; the first match counts."""
_KILLED = mark(
    "The process was killed, usually by the system because main memory ran out (check `sudo dmesg`): close other "
    "programs, or choose a smaller model"
)
_SIGKILL = (-9, 137)
"""The system's message; and the status from a shell or a container's client: 128 plus the signal's number."""
_ERRORS = ("error", "fatal", "tw-", "docker: ", "cannot connect")
"""Prefixes of lines in which tools report the cause (docker and hf print a hint about their help after it)."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a command failed.

    Attributes:
        how: Its exit status, or the signal that killed it.
        line: The line of its output with the cause.
        todo: The remedy, a sentence without its period.
    """

    how: str
    line: str
    todo: str

    @property
    def why(self) -> str:
        """Exit status and cause."""
        return join(": ", self.how, self.line)


@dataclass(frozen=True, slots=True)
class Failure:
    """The details of a failed command, without secrets.

    Attributes:
        how: As in `Cause`.
        line: As in `Cause`.
        todo: As in `Cause`.
        log: The file with its complete output.
        command: As a shell line.
    """

    how: str
    line: str
    todo: str
    log: str
    command: str


class CommandError(StepError):
    """A command of a step failed (TW-R03)."""

    def __init__(self, message: str, todo: str, failure: Failure) -> None:
        super().__init__("TW-R03", message, todo)
        self.failure = failure


def diagnose(status: int, lines: list[str]) -> Cause:
    """The cause of a failure.

    Args:
        status: The exit status; negative: the signal that killed the command.
        lines: The last lines of its output.
    """
    output = [line for text in lines if (line := plain(text).strip())]
    how = tr("killed by signal {number}", number=-status) if status < 0 else tr("exit status {status}", status=status)
    errors = [line for line in output if line.lower().startswith(_ERRORS)]
    full = [line for line in output if any(re.search(part, line.lower()) for part in (*_FULL, _GPU_FULL))]
    broken = (
        [line for line in output if _PIP_WARNING in line.lower()] if _NOT_FOUND in "".join(errors[-1:]).lower() else []
    )
    line = (full or broken or errors or output or [tr("no output")])[-1]  # of the first two, other errors come as well
    other = _KILLED if status in _SIGKILL else FIX_THE_CAUSE
    known = (todo for part, todo in _REMEDIES.items() if re.search(part, line.lower()))
    todo = _own(line, output) or next(known, other)
    if _PIP_WARNING in line.lower() and (within := _SYSTEM.search(line)):
        line = within[0].strip()
    return Cause(how, line, tr(todo))


def _own(line: str, output: list[str]) -> str | None:
    """The remedy after ``line`` if that is an error of one of the wizard's own programs (`WizardError`)."""
    following = output[output.index(line) + 1 :] if line in output else []
    own = line.startswith("TW-") and following and following[0].startswith("→ ")
    return following[0].removeprefix("→ ").removesuffix(".") if own else None
