"""The account of the user's token, and what it may read. A token is never part of a value or an error.

Sources: ``HfApi.whoami`` (``/api/whoami-v2``: ``name``, ``auth.accessToken.role``, and of a fine-grained token
``fineGrained.canReadGatedRepos``) and ``HfApi.auth_check`` (``/api/models/ID/auth-check``) of huggingface_hub 2.4;
huggingface.co/docs/hub/security-tokens for the roles.
"""

from __future__ import annotations

from dataclasses import dataclass

from wizard.model.cache import endpoint
from wizard.model.hub.errors import translated
from wizard.model.untrusted import label


@dataclass(frozen=True, slots=True)
class Account:
    """Whose token it is, and what it allows.

    Attributes:
        name: The account.
        role: ``read``, ``write``, ``fineGrained``; empty if the Hub does not report it.
        reads_gated: Whether a fine-grained token reads gated repositories; None for other tokens.
    """

    name: str
    role: str
    reads_gated: bool | None = None


def account() -> Account | None:
    """The account of the user's token; None if the Hub rejects the token. Blocks until the Hub responds.

    Raises:
        WizardError: TW-M13 or TW-M14 if the Hub does not respond, or with another error.
    """
    from huggingface_hub import HfApi

    try:
        reply = HfApi(endpoint=endpoint()).whoami()
    except Exception as error:  # any exception of the client
        if _status(error) == 401:
            return None
        raise translated(error, None) from error
    fields = reply if isinstance(reply, dict) else {}
    token = _table(_table(fields, "auth"), "accessToken")
    reads = _table(token, "fineGrained").get("canReadGatedRepos")
    role = label(token.get("role"), 20) or ""
    return Account(label(fields.get("name"), 60) or "", role, bool(reads) if role == "fineGrained" else None)


def may_read(repo: str) -> bool | None:
    """Whether the user's token may read ``repo``; None if the Hub does not respond, or with another error."""
    from huggingface_hub import HfApi

    try:
        HfApi(endpoint=endpoint()).auth_check(repo)
    except Exception as error:  # any exception of the client
        return False if _status(error) in (401, 403) else None
    return True


def _status(error: Exception) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)


def _table(fields: dict[str, object], name: str) -> dict[str, object]:
    value = fields.get(name)
    return value if isinstance(value, dict) else {}
