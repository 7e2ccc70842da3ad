"""Why a command failed, from what it printed: the line that names the cause, and what to do about it.

The texts are those of docker 20.10 to 28 and podman (pulls from a registry that refuses), of the C library (a full
disk), of huggingface_hub's command line, and of PyTorch and TensorRT-LLM on a GPU that is full.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from wizard.kernel.text import plain

MEND = "Mend the cause"
"""What to do about a cause that is not known here."""
_FULL = ("no space left on device", "disk quota exceeded")
_GPU_FULL = r"\bcuda\b.*out of memory"
_LOGIN = (
    "The registry lets nobody read this without logging in, or there is no such image: look for its tag in the "
    "catalogue (https://catalog.ngc.nvidia.com/orgs/nvidia/containers/tritonserver), or log in with `docker login "
    "nvcr.io` as $oauthtoken"
)
_UNREACHED = "Check this machine's network: name service, proxy (the engine's own, too), firewall"
_REMEDIES = {
    **dict.fromkeys(_FULL, "Free some space on the disk that is full; what was half made is made anew"),
    _GPU_FULL: (
        "Free the GPU's memory (nvidia-smi says who has it), or choose a smaller model, fewer users at once "
        "(--users), or a shorter context (--max-len)"
    ),
    "manifest unknown": "The registry has no image with this tag: name another with --release, such as the one before",
    "toomanyrequests": "The registry wants a pause: wait, or log in to it, which raises the limit",
    "unauthorized": _LOGIN,
    "pull access denied": _LOGIN,
    "response from daemon: denied": _LOGIN,
    "access to the resource is denied": _LOGIN,
    "unexpected http status: 5": "The registry has trouble of its own: try again in a few minutes",
    "no such host": _UNREACHED,
    "temporary failure in name resolution": _UNREACHED,
    "could not resolve host": _UNREACHED,
    "i/o timeout": _UNREACHED,
    "tls handshake timeout": _UNREACHED,
    "network is unreachable": _UNREACHED,
    "connection refused": _UNREACHED,
    "cannot connect to the docker daemon": "Start the container engine (`sudo systemctl start docker`)",
    "requires approval": "Accept the model's licence on its page with the account whose token is used",
    "invalid user token": "Log in with a token that is still valid: `hf auth login`, or HF_TOKEN",
}
"""Pattern in a line in lower case → what to do; the first that is found counts."""
_KILLED = (
    "Something killed it; mostly that is the system, out of main memory (`sudo dmesg` says so): close other programs, "
    "or choose a smaller model"
)
_SIGKILL = (-9, 137)
"""As the system says it; and as a shell or a container's client does, 128 more than the signal's number."""
_ERRORS = ("error", "fatal", "tw-", "docker: ", "cannot connect")
"""How lines begin in which tools name the cause (docker and hf print a hint at their help after it)."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a command failed, in its own words, and what to do, a sentence without its full stop."""

    why: str
    todo: str


def diagnose(status: int, lines: list[str]) -> Cause:
    """The cause of a failure.

    Args:
        status: The exit status; negative: the signal that killed the command.
        lines: What it printed last.
    """
    said = [line for text in lines if (line := plain(text).strip())]
    how = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
    errors = [line for line in said if line.lower().startswith(_ERRORS)]
    full = [line for line in said if any(re.search(part, line.lower()) for part in (*_FULL, _GPU_FULL))]
    line = (full or errors or said or ["it printed nothing"])[-1]  # of what is full other errors come
    other = _KILLED if status in _SIGKILL else MEND
    todo = next((todo for part, todo in _REMEDIES.items() if re.search(part, line.lower())), other)
    return Cause(f"{how}: {line}", todo)
