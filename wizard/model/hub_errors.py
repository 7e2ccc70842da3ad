"""What can go wrong between us and the hub, in the wizard's own terms.

The classes of ``huggingface_hub.errors`` are told apart by their names, so that this file need not import them.
"""

from __future__ import annotations

import errno

from wizard.kernel.errors import ModelError, NetworkError, WizardError, WorkspaceError
from wizard.kernel.secrets import redact
from wizard.kernel.text import plain
from wizard.model.cache import endpoint, hub_cache
from wizard.model.refs import HubRef

_OFFLINE = "To work without it, give a folder or .gguf file on this disk (./PATH) or run `triton-wizard up demo`."


def translated(error: BaseException, ref: HubRef | None) -> WizardError:
    """The wizard's error for an exception of the hub's client."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if "LocalEntryNotFoundError" in names and error.__cause__ is not None:
        return translated(error.__cause__, ref)
    status = getattr(getattr(error, "response", None), "status_code", None)
    if found := _of_repository(names, status, ref, with_token=_with_token(error)):
        return found
    if status is not None:
        return _http(int(status))
    if isinstance(error, OSError) and (error.filename or error.errno in (errno.ENOSPC, errno.EDQUOT)):
        return _no_cache(error)
    if names & {"TransportError", "OSError", "TooManyRedirects"}:  # httpx's base of all connection failures, and ours
        return silent(str(error) or type(error).__name__)
    return NetworkError(
        "TW-M14",
        f"{endpoint()} answers, but not as the hub does: {_short(error)}",
        f"Check HF_ENDPOINT and any proxy between. {_OFFLINE}",
    )


def silent(why: str) -> NetworkError:
    """The hub cannot be reached or does not answer."""
    return NetworkError(
        "TW-M13", f"the hub at {endpoint()} does not answer: {_short(why)}", f"Check the network. {_OFFLINE}"
    )


def offline_error(ref: HubRef) -> ModelError:
    """Offline was asked for and the model is not here."""
    return ModelError(
        "TW-M15",
        f"{ref} is not on this disk, and the hub may not be asked (offline)",
        f"Go online once to fetch it (unset HF_HUB_OFFLINE). {_OFFLINE}",
    )


def _no_cache(error: OSError) -> WorkspaceError:
    return WorkspaceError(
        "TW-M18",
        f"the cache of the hub's files in {hub_cache()} cannot be written: {_short(error.strerror or error)}",
        "Free some space or mend its rights, or name another folder with HF_HOME.",
    )


def _with_token(error: BaseException) -> bool:
    """Whether the request that was refused bore a token."""
    request = getattr(getattr(error, "response", None), "request", None)
    return "authorization" in getattr(request, "headers", ())


def _of_repository(names: set[str], status: int | None, ref: HubRef | None, *, with_token: bool) -> ModelError | None:
    """Errors that are about the repository and not about the way to it."""
    if "GatedRepoError" in names:
        page = f"{endpoint()}/{ref.repo if ref else ''}"
        return ModelError(
            "TW-M12",
            f"{ref} is gated: its owner lets only people in who accepted its licence"
            + (", and the token that is set does not belong to one of them" if with_token else ""),
            f"Accept it at {page} with the account of the token (`hf auth whoami`), or log in with another one."
            if with_token
            else f"Accept it at {page}, then log in with `hf auth login` or set HF_TOKEN.",
        )
    if names & {"RepositoryNotFoundError", "RevisionNotFoundError"}:
        return ModelError(
            "TW-M11",
            f"the hub has no {ref}, or it is private",
            "Check the spelling; for a private one log in with `hf auth login`; for a folder on disk write ./PATH.",
        )
    if "EntryNotFoundError" in names:
        return ModelError("TW-M16", f"{ref} lacks a file that it lists itself", "Try again, or choose another one.")
    if status in (401, 403):
        return ModelError(
            "TW-M12",
            f"the hub does not let you read {ref} (HTTP {status})",
            "Your token may be wrong, expired or too narrow: see `hf auth whoami`, then `hf auth login`.",
        )
    return None


def _http(status: int) -> NetworkError:
    why = "too many requests; logging in raises the limit" if status == 429 else "its own trouble"
    return NetworkError(
        "TW-M14",
        f"the hub at {endpoint()} answers with HTTP {status}" + (f" ({why})" if status >= 429 else ""),
        f"Try again in a minute. {_OFFLINE}",
    )


def _short(text: object) -> str:
    return redact(plain(" ".join(str(text).split())))[:200]
