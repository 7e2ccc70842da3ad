"""Access to the Hub: whether and for how long it may be asked, with which token.

All access ends within a number of seconds, even if a name server, a connection or a response hangs: it runs in a thread
that is abandoned then (the system has no time limit for name lookups). A token comes from ``HF_TOKEN`` or an earlier
``hf auth login``; it is never passed as an argument.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.model.cache import endpoint
from wizard.model.hub.errors import silent, translated
from wizard.model.refs import HubRef
from wizard.model.untrusted import label

if TYPE_CHECKING:
    from huggingface_hub.hf_api import ModelInfo

T = TypeVar("T")

DEADLINE = 9.0
"""Seconds for all Hub access of a lookup."""
REQUEST = 4.0
"""Seconds for a connection, and for each wait for bytes."""
EXCLUDED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "original/*", "consolidated*")
"""Files of a repository that are not downloaded: pickle files, which can run code, and second copies of the weights."""


def reachable(timeout: float = 3.0) -> bool:
    """Whether the Hub responds within ``timeout`` seconds; False in offline mode."""
    if offline_variable():
        return False
    from huggingface_hub.utils import get_session  # half a second for the first import, unrelated to the Hub

    def ask() -> bool:
        return int(get_session().head(endpoint(), timeout=timeout).status_code) < 500

    try:
        return within(timeout, ask, None)
    except WizardError:
        return False


def has_token() -> bool:
    """Whether there is a token for the Hub: in the environment, or from an earlier ``hf auth login``."""
    from huggingface_hub import get_token

    return bool(get_token())


def download_command(repo: str, files: Sequence[str], revision: str | None, folder: str) -> tuple[str, ...]:
    """The argv that downloads ``files``, or if there are none all of a repository but pickle files, into ``folder``.

    It is huggingface_hub's own ``hf download`` (``huggingface_hub/cli/hf.py``), run with this interpreter. A lost
    connection is resumed with a Range request; files of an earlier download that are complete are kept. It reads its
    token from ``HF_TOKEN`` or the existing login.
    """
    command = [sys.executable, "-m", "huggingface_hub.cli.hf", "download", repo]
    command += files
    if not files:
        for pattern in EXCLUDED:
            command += ["--exclude", pattern]
    if revision:
        command += ["--revision", revision]
    return (*command, "--local-dir", folder)


def offline_variable() -> str | None:
    """The variable that sets offline mode."""
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    return next((name for name in names if os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE")), None)


def within(seconds: float, work: Callable[[], T], ref: HubRef | None) -> T:
    """Run ``work`` in a separate thread and wait for it for at most ``seconds``.

    Raises:
        WizardError: The wizard's error for the work's exception; TW-M13 if it is not finished in time.
    """
    done: list[T] = []
    failed: list[WizardError] = []

    def run() -> None:
        try:
            done.append(work())
        except Exception as error:
            failed.append(error if isinstance(error, WizardError) else translated(error, ref))

    thread = threading.Thread(target=run, name="hub", daemon=True)
    thread.start()
    thread.join(seconds)
    if done:
        return done[0]
    raise failed[0] if failed else silent(tr("no response within {seconds:.0f} s", seconds=seconds))


def licence_of(info: ModelInfo) -> str | None:
    """The model card's license, or its custom name if it is not a standard license."""
    card = info.card_data
    licence = label(getattr(card, "license", None), 60)
    if licence == "other":
        return label(getattr(card, "license_name", None), 60) or licence
    tags = (tag.removeprefix("license:") for tag in info.tags or () if str(tag).startswith("license:"))
    return licence or label(next(tags, None), 60)
