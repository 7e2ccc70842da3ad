"""Who can reach the OpenAI-compatible address: this machine only, or others too, with a key."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from wizard.kernel.errors import UsageError
from wizard.kernel.files import private_folder
from wizard.kernel.language import tr
from wizard.kernel.paths import GatewayFolder

_KEY = re.compile(r"[!-~]{16,1000}")
"""What a header can carry, and nobody guesses."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """Where the address listens, and for whom.

    Attributes:
        host: The IP address that it listens on.
        tls_cert: A file with the certificate and its chain (PEM); None: HTTP without encryption.
        tls_key: The file of its private key.
        cors_origins: Web pages that may use it from a browser: ``https://chat.example.org``.
    """

    host: str = "127.0.0.1"
    tls_cert: str | None = None
    tls_key: str | None = None
    cors_origins: tuple[str, ...] = ()

    @property
    def beyond(self) -> bool:
        """Whether other machines can reach it, so that it requires a key."""
        return not ipaddress.ip_address(self.host).is_loopback

    def url(self, port: int) -> str:
        """The base URL for programs on this machine."""
        address = ipaddress.ip_address(self.host)
        if address.is_unspecified:
            address = ipaddress.ip_address("127.0.0.1" if address.version == 4 else "::1")
        host = f"[{address}]" if address.version == 6 else str(address)
        return f"{'https' if self.tls_cert else 'http'}://{host}:{port}/v1"

    def trusted(self) -> ssl.SSLContext | None:
        """Trusts this certificate only, whichever name it has; None without TLS."""
        if not self.tls_cert:
            return None
        context = ssl.create_default_context(cafile=self.tls_cert)
        context.check_hostname = False
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        return context


def listener(exposure: Exposure, port: int = 0) -> socket.socket:
    """A listening socket on ``port``.

    Raises:
        OSError: The port is taken, or this machine does not have the address.
    """
    six = ":" in exposure.host
    both = exposure.host == "::" and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if six else socket.AF_INET
    return socket.create_server((exposure.host, port), family=family, dualstack_ipv6=both)


def check(exposure: Exposure) -> None:
    """Check everything that can be, before anything starts.

    Raises:
        UsageError: TW-S13 it cannot listen there, TW-S14 the certificate or its key is not usable, TW-S15 an origin is
            not one.
    """
    try:
        ipaddress.ip_address(exposure.host)
        listener(exposure).close()
    except (ValueError, OSError) as error:
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else tr("not an IP address")
        raise UsageError(
            "TW-S13",
            tr("cannot listen on {host}: {why}", host=repr(exposure.host), why=why),
            tr("Pass an IP address of this machine with --gateway-host, or 0.0.0.0 for all of them."),
        ) from error
    if exposure.tls_cert or exposure.tls_key:
        _check_certificate(exposure.tls_cert, exposure.tls_key)
    for origin in exposure.cors_origins:
        _check_origin(origin)


def _check_certificate(certificate: str | None, key: str | None) -> None:
    try:
        if not (certificate and key):
            raise ValueError(tr("--tls-cert and --tls-key go together"))
        for file in (certificate, key):
            Path(file).open("rb").close()  # the next line's error names neither file
        # An encrypted key would be asked for on the terminal, by a process that has none.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: b"")
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        why = f"{error.filename}: {why}" if isinstance(error, OSError) and error.filename else why
        raise UsageError(
            "TW-S14",
            tr("cannot use the TLS certificate: {why}", why=why),
            tr("Pass two PEM files: the certificate with its chain, and its private key without a passphrase."),
        ) from error


def _check_origin(origin: str) -> None:
    try:
        parts = urlsplit(origin)
        whole = f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")
        valid = parts.scheme in ("http", "https") and origin == whole and "*" not in origin
    except ValueError:
        valid = False
    if not valid:
        raise UsageError(
            "TW-S15",
            tr("not the origin of a web page: {origin}", origin=repr(origin[:200])),
            tr("Pass scheme, host and port, without a path: --cors-origin https://chat.example.org"),
        )


def key(folder: GatewayFolder) -> tuple[str, bool]:
    """The API key, and whether it was made just now; only its owner may read the file.

    Raises:
        UsageError: TW-S16 the file is not readable, or has no usable key.
    """
    try:
        private_folder(folder.root)
        try:
            made = os.open(folder.key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            folder.key.chmod(0o600)
            return _read(folder.key), False
        with os.fdopen(made, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
        return _read(folder.key), True
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(
            "TW-S16",
            tr("cannot use the API key in {file}: {why}", file=folder.key, why=why),
            tr("Delete the file to get a new key."),
        ) from error


def _read(file: Path) -> str:
    text = file.read_bytes().decode("ascii", errors="replace").removesuffix("\n")
    if not _KEY.fullmatch(text):
        raise ValueError(tr("a key has 16 to 1000 ASCII characters, without spaces and line breaks"))
    return text
