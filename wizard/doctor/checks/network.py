"""This machine's side of the network: ports, firewall, proxy."""

from __future__ import annotations

from urllib.parse import urlsplit

from wizard.doctor.facts import Facts
from wizard.doctor.finding import Finding, failed, inapplicable, passed, unknown, warned
from wizard.kernel.secrets import redact
from wizard.probe.ports import TRITON_PORTS

PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
"""Variables that programs read, in lower case, too; credentials in them are never shown."""
_SCHEMES = ("http", "https", "socks4", "socks5", "socks5h")
LOCAL = ("127.0.0.1", "localhost")


def ports(facts: Facts) -> Finding:
    """Triton's default ports; the wizard takes the next free ones."""
    others = tuple(port for port in facts.host.busy_ports if port not in facts.servers.ports)
    if others:
        return warned("ports.busy", f"ss -ltnp 'sport = :{others[0]}'", ports=others)
    mine = tuple(sorted({facts.servers.ports[port] for port in facts.host.busy_ports}))
    return (
        passed("ports.own", servers=mine)
        if mine
        else passed("ports.free", first=TRITON_PORTS[0], last=TRITON_PORTS[-1])
    )


def firewall(facts: Facts) -> Finding:
    """A firewall matters only for servers that other machines may use; loopback is always open."""
    name, active = facts.kernel.firewall, facts.kernel.is_firewall_active
    if active is None:
        return unknown("firewall.unknown") if facts.servers.exposed else inapplicable("firewall.only-local")
    if not active:
        return passed("firewall.off", name=name)
    if not facts.servers.exposed:
        return passed("firewall.local", name=name)
    commands = tuple(_opens(name, port) for port in sorted(_ports(facts)))
    return warned("firewall.on", *commands, name=name, addresses=facts.servers.exposed)


def _ports(facts: Facts) -> set[int]:
    return {port for address in facts.servers.exposed if (port := urlsplit(_url(address)).port)}


def _url(address: str) -> str:
    return address if "://" in address else f"//{address}"


def _opens(name: str, port: int) -> str:
    """ufw(8); firewall-cmd(1)."""
    return f"sudo ufw allow {port}/tcp" if name == "ufw" else f"sudo firewall-cmd --add-port={port}/tcp"


def proxy(facts: Facts) -> Finding:
    """The proxy of the environment: usable, and not for this machine's own addresses."""
    variables = {name: facts.environment.get(name) or facts.environment.get(name.lower(), "") for name in PROXIES}
    proxies = {name: value for name, value in variables.items() if value}
    if not proxies:
        return inapplicable("proxy.none")
    for name, value in proxies.items():
        if not _usable(value):
            return failed("proxy.invalid", name=name, value=redact(value))
    excluded = facts.environment.get("NO_PROXY") or facts.environment.get("no_proxy", "")
    names = {name.strip().lstrip(".") for name in excluded.split(",")}
    if "*" not in names and not names.issuperset(LOCAL):
        listed = ",".join(filter(None, (excluded, *(name for name in LOCAL if name not in names))))
        return warned("proxy.local", f"export NO_PROXY={listed} no_proxy={listed}", names=tuple(proxies))
    return passed("proxy.set", names=tuple(proxies), value=redact(next(iter(proxies.values()))))


def _usable(value: str) -> bool:
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in _SCHEMES and bool(parts.hostname)
