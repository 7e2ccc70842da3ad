"""Errors of the Hub as the wizard's own errors.

The classes of ``huggingface_hub.errors`` are distinguished by name, so that this file need not import them.
"""

from __future__ import annotations

import errno

from wizard.kernel.errors import ModelError, NetworkError, WizardError, WorkspaceError
from wizard.kernel.language import join, mark, tr
from wizard.kernel.reasons import unwritten
from wizard.kernel.secrets import redact
from wizard.kernel.text import plain
from wizard.model.cache import endpoint, hub_cache
from wizard.model.refs import HubRef

_OFFLINE = mark("To work offline, pass a folder or .gguf file on this disk (./PATH), or run `triton-wizard up demo`.")


def translated(error: BaseException, ref: HubRef | None) -> WizardError:
    """The wizard's error for an exception of the Hub's client."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if "LocalEntryNotFoundError" in names and error.__cause__ is not None:
        return translated(error.__cause__, ref)
    status = getattr(getattr(error, "response", None), "status_code", None)
    if translation := _of_repository(names, status, ref, with_token=_with_token(error)):
        return translation
    if status is not None:
        return _http(int(status))
    if isinstance(error, OSError) and (error.filename or error.errno in (errno.ENOSPC, errno.EDQUOT)):
        return _no_cache(error)
    if names & {
        "TransportError",
        "OSError",
        "TooManyRedirects",
    }:  # httpx's base of connection failures, and ours
        return silent(str(error) or type(error).__name__)
    return NetworkError(
        "TW-M14",
        tr("invalid Hub response from {address}: {error}", address=endpoint(), error=_short(error)),
        _or_offline(tr("Check HF_ENDPOINT and any proxy.")),
    )


def silent(why: str) -> NetworkError:
    """The Hub is not reachable or does not respond."""
    text = tr("the Hub at {address} is not responding: {why}", address=endpoint(), why=_short(why))
    return NetworkError("TW-M13", text, _or_offline(tr("Check the network.")))


def offline_error(ref: HubRef, variable: str | None) -> ModelError:
    """Offline mode is on, by ``variable`` or else by ``--offline``, and the model is not on this disk."""
    todo = tr("Unset {name} to download it.", name=variable) if variable else tr("Omit --offline to download it.")
    return ModelError(
        "TW-M15",
        tr("{ref} was not found locally, and offline mode is on ({why})", ref=ref, why=variable or "--offline"),
        _or_offline(todo),
    )


def _or_offline(todo: str) -> str:
    return join(" ", todo, tr(_OFFLINE))


def _no_cache(error: OSError) -> WorkspaceError:
    return WorkspaceError(
        "TW-M18",
        tr(
            "cannot write to the Hub cache in {folder}: {error}",
            folder=hub_cache(),
            error=_short(unwritten(error, hub_cache())),
        ),
        tr("Remove files you do not need, fix the permissions, or choose another folder with HF_HOME."),
    )


def _with_token(error: BaseException) -> bool:
    """Whether the rejected request had a token."""
    request = getattr(getattr(error, "response", None), "request", None)
    return "authorization" in getattr(request, "headers", ())


def _of_repository(names: set[str], status: int | None, ref: HubRef | None, *, with_token: bool) -> ModelError | None:
    """Errors about the repository, not the connection."""
    if "GatedRepoError" in names:
        page = f"{endpoint()}/{ref.repo if ref else ''}"
        if with_token:
            return ModelError(
                "TW-M12",
                tr(
                    "{ref} is gated: its owner grants access only after you accept its license, and your token's "
                    "account has not accepted it",
                    ref=ref,
                ),
                tr(
                    "Accept it at {page} with the account shown by `hf auth whoami`, or log in with another account.",
                    page=page,
                ),
            )
        return ModelError(
            "TW-M12",
            tr("{ref} is gated: its owner grants access only after you accept its license", ref=ref),
            tr("Accept it at {page}, then log in with `hf auth login` or set HF_TOKEN.", page=page),
        )
    if names & {"RepositoryNotFoundError", "RevisionNotFoundError"}:
        return ModelError(
            "TW-M11",
            tr("{ref} was not found on the Hub, or it is private", ref=ref),
            tr(
                "Check the spelling. For a private repository, log in with `hf auth login`; for a local folder, use "
                "./PATH."
            ),
        )
    if "EntryNotFoundError" in names:
        text = tr("{ref} lists a file that it does not contain", ref=ref)
        return ModelError("TW-M16", text, tr("Try again, or choose another repository."))
    if status in (401, 403):
        return ModelError(
            "TW-M12",
            tr("the Hub denied access to {ref} (HTTP {status})", ref=ref, status=status),
            tr(
                "Your token may be invalid, expired or missing permissions: check it with `hf auth whoami`, then "
                "run `hf auth login`."
            ),
        )
    return None


def _http(status: int) -> NetworkError:
    text = tr("the Hub at {address} returned HTTP {status}", address=endpoint(), status=status)
    if status >= 429:
        limited = tr("too many requests; log in to raise the limit")
        why = limited if status == 429 else tr("a problem on the Hub's side")
        text += f" ({why})"
    return NetworkError("TW-M14", text, _or_offline(tr("Try again in a minute.")))


def _short(text: object) -> str:
    return redact(plain(" ".join(str(text).split())))[:200]
