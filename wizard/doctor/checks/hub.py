"""The Hub, the package index, and the way to them. In offline mode there is nothing to check."""

from __future__ import annotations

import functools
from collections.abc import Callable
from urllib.parse import urlsplit

from wizard.doctor.facts import Facts, Internet, Response
from wizard.doctor.finding import Finding, failed, inapplicable, passed, unknown, warned
from wizard.kernel.secrets import redact

WRONG_CLOCK_S, SLOW_CLOCK_S = 300.0, 60.0
"""Seconds: signed addresses of downloads are valid for a limited time, and certificates from a date on; a clock that is
set over the network is off by less than a second.
"""
LISTED = 3
"""How many gated models a finding names."""


def _online(name: str) -> Callable[[Callable[[Internet], Finding]], Callable[[Facts], Finding]]:
    """The check ``name``, if the network was used."""

    def of(check: Callable[[Internet], Finding]) -> Callable[[Facts], Finding]:
        @functools.wraps(check)
        def judged(facts: Facts) -> Finding:
            if facts.offline:
                return inapplicable(f"{name}.offline", why=facts.offline)
            return unknown(f"{name}.not-asked") if facts.internet is None else check(facts.internet)

        return judged

    return of


@_online("dns")
def names(internet: Internet) -> Finding:
    """Whether the Hub's name is resolved; a proxy resolves it for its clients."""
    host = urlsplit(internet.endpoint).hostname or ""
    if internet.proxied:
        return inapplicable("dns.proxied")
    return _result("dns", internet.names, host=host)


@_online("certificates")
def certificates(internet: Internet) -> Finding:
    """Whether the Hub's certificate is trusted; a proxy that reads along has one of its own."""
    if not internet.endpoint.startswith("https:"):
        return inapplicable("certificates.no-tls", address=redact(internet.endpoint))
    if internet.hub.untrusted:
        return failed("certificates.untrusted", why=internet.hub.problem)
    if internet.hub.ok or internet.hub.clock_ahead_s is not None:
        return passed("certificates.trusted")
    return unknown("certificates.unknown")


@_online("clock")
def clock(internet: Internet) -> Finding:
    """This machine's clock against the ``Date`` of the Hub's response (RFC 9110, 6.6.1)."""
    ahead = internet.hub.clock_ahead_s
    if ahead is None:
        return unknown("clock.unknown")
    off, code = abs(ahead), "clock.ahead" if ahead > 0 else "clock.behind"
    if off <= SLOW_CLOCK_S:
        return passed("clock.right")
    judge = failed if off > WRONG_CLOCK_S else warned
    return judge(code, "sudo timedatectl set-ntp true", seconds=round(off))


@_online("hub")
def hub(internet: Internet) -> Finding:
    """Whether the Hub responds, and not another server in its place."""
    if internet.names.ok is False and not internet.proxied:
        return unknown("hub.not-found", address=redact(internet.endpoint))
    if internet.hub.untrusted:
        return unknown("hub.untrusted", address=redact(internet.endpoint))
    return _result("hub", internet.hub, known="hf-cannot-reach-hub", address=redact(internet.endpoint))


@_online("index")
def index(internet: Internet) -> Finding:
    """Whether pip finds a package on the index that it is configured for."""
    return _result("index", internet.index, known="package-index-unreachable")


@_online("token")
def token(internet: Internet) -> Finding:
    """Whether the Hub accepts the token."""
    if not internet.has_token:
        return inapplicable("token.none")
    if internet.account is not None:
        return passed("token.valid", account=internet.account.name)
    return _result("token", internet.token, known="hf-invalid-token")


@_online("token-scope")
def scope(internet: Internet) -> Finding:
    """What the token allows (huggingface.co/docs/hub/security-tokens): reading is enough."""
    if not internet.has_token:
        return inapplicable("token-scope.none")
    account = internet.account
    if account is None or not account.role:
        return unknown("token-scope.unknown")
    if account.role == "write":
        return warned("token-scope.write")
    if account.reads_gated is False:
        return warned("token-scope.not-gated")
    return passed("token-scope.reads", role=account.role)


@_online("gated")
def gated(internet: Internet) -> Finding:
    """Which of the gated models that the wizard offers the token may read."""
    if not internet.has_token:
        return inapplicable("gated.none")
    readable = tuple(repo for repo, access in internet.gated.items() if access)
    closed = tuple(repo for repo, access in internet.gated.items() if access is False)
    if len(readable) + len(closed) < len(internet.gated) or not internet.gated:
        return unknown("gated.unknown")
    if readable:
        return passed("gated.some" if closed else "gated.all", readable=len(readable), closed=len(closed))
    page = f"{redact(internet.endpoint)}/{closed[0]}"
    return warned("gated.closed", models=closed[:LISTED], count=len(closed), page=page)


def _result(check: str, response: Response, known: str = "", **params: str) -> Finding:
    if response.ok is None:
        return unknown(f"{check}.unknown", why=response.problem, **params)
    if response.ok:
        return passed(f"{check}.responds", **params)
    return failed(f"{check}.fails", known=known, why=response.problem, **params)
