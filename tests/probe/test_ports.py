"""Free ports, with real sockets."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ports import reserved
from wizard.kernel.errors import HostError
from wizard.probe.ports import choose, is_free


@pytest.fixture
def held() -> Iterator[int]:
    """A port that somebody listens on; those after it are free."""
    with reserved() as port, socket.create_server(("127.0.0.1", port)):
        yield port


def test_a_held_port_is_not_free_and_freed_it_is(held: int) -> None:
    assert not is_free(held)


def test_a_port_held_on_all_addresses_is_not_free() -> None:
    with reserved() as port:
        with socket.create_server(("0.0.0.0", port)):
            assert not is_free(port)
        assert is_free(port)


def test_a_port_with_fading_connections_is_free() -> None:
    """TIME_WAIT of an earlier server must not move the port."""
    with reserved() as port:
        with (
            socket.create_server(("127.0.0.1", port)) as server,
            socket.create_connection(("127.0.0.1", port)) as client,
        ):
            accepted, _ = server.accept()
            accepted.close()  # closed here first, so the server's side is what fades
            assert client.recv(1) == b""
        assert is_free(port)


@pytest.mark.parametrize("port", [-1, 65536, 10**9])
def test_what_is_no_port_is_not_free(port: int) -> None:
    assert not is_free(port)


def test_the_next_free_port_is_chosen(held: int) -> None:
    chosen = choose(held, "127.0.0.1", set())
    assert chosen > held
    assert is_free(chosen)
    assert choose(held, "127.0.0.1", {chosen}) > chosen


def test_the_wanted_port_is_taken_if_it_is_free(held: int) -> None:
    free = choose(held, "127.0.0.1", set())
    assert choose(free, "127.0.0.1", set()) == free


def test_no_port_left() -> None:
    with pytest.raises(HostError) as caught:
        choose(65535, "127.0.0.1", {65535})
    assert caught.value.code == "TW-P09"


def test_a_port_that_only_root_may_use() -> None:
    """Said, and no other port is taken in its place, which later starts would keep."""
    lowest = int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())
    if lowest < 2:
        pytest.skip("every user may use every port here")
    me = os.geteuid()
    os.seteuid(me or 65534)
    try:
        with pytest.raises(HostError) as caught:
            choose(lowest - 1, "127.0.0.1", set())
    finally:
        os.seteuid(me)
    assert caught.value.code == "TW-P17"
