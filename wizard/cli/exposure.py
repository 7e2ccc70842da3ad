"""The options of `up` and `run` that let other machines, or web pages, use the OpenAI-compatible address."""

from __future__ import annotations

import argparse
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from wizard.kernel.language import tr

if TYPE_CHECKING:
    from wizard.kernel.paths import Workspace
    from wizard.serve.exposure import Exposure


def add_exposure(parser: argparse.ArgumentParser) -> None:
    """Add the options to the command of ``parser``."""
    group = parser.add_argument_group(tr("OpenAI-compatible address (one for all servers)"))
    group.add_argument(
        "--gateway-host",
        metavar="ADDRESS",
        help=tr("IP address to listen on (127.0.0.1); beyond this machine, clients need the API key that is created"),
    )
    group.add_argument("--tls-cert", metavar="FILE", help=tr("certificate with its chain (PEM), for HTTPS"))
    group.add_argument("--tls-key", metavar="FILE", help=tr("private key of the certificate (PEM)"))
    group.add_argument(
        "--cors-origin",
        action="append",
        metavar="ORIGIN",
        help=tr("web page that may use it from a browser, such as https://chat.example.org; repeatable"),
    )


def exposure_of(arguments: argparse.Namespace, workspace: Workspace) -> Exposure | None:
    """The options as given, checked; None: none was given. Shows the warning, and a key that was just made.

    Raises:
        UsageError: See `wizard.serve.exposure`.
    """
    names = ("gateway_host", "tls_cert", "tls_key", "cors_origin")
    host, certificate, private, origins = (getattr(arguments, name, None) for name in names)
    if not (host or certificate or private or origins):
        return None
    from wizard.serve.exposure import Exposure, check, key

    given: dict[str, Any] = {"host": host} if host else {}
    files = {"tls_cert": certificate, "tls_key": private}
    given |= {name: str(Path(file).expanduser().absolute()) for name, file in files.items() if file}
    exposure = Exposure(**given, cors_origins=tuple(origins or ()))
    check(exposure)
    if exposure.beyond:
        secret, made = key(workspace.gateway)
        _warn(exposure)
        shown = tr("API key, shown only now: {key}", key=secret) if made else tr("The API key is unchanged.")
        print(shown, tr("It is stored in {file}.", file=workspace.gateway.key), sep="\n", file=sys.stderr)
    return exposure


def _warn(exposure: Exposure) -> None:
    print(
        tr("Warning: other machines that reach this one can use all models of this workspace with the API key."),
        file=sys.stderr,
    )
    if not exposure.tls_cert:
        print(
            tr("The connection is not encrypted: use a trusted network, or pass --tls-cert and --tls-key."),
            file=sys.stderr,
        )


def from_elsewhere(exposure: Exposure | None, url: str) -> str:
    """The address ``url`` as other machines reach it; empty if they do not."""
    if not (exposure and exposure.beyond):
        return ""
    parts = urlsplit(url)
    return f"{parts.scheme}://{socket.gethostname()}:{parts.port}{parts.path}"
