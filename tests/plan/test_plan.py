"""What a plan shows as shell lines does the same when it is pasted into a shell."""

from __future__ import annotations

import socket
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.ports import reserved
from tests.values import python_step
from wizard.kernel.errors import UsageError
from wizard.kernel.values import from_data
from wizard.plan import ports as ports_module
from wizard.plan.plan import Command, Container, Start, Step, Wait, Write
from wizard.plan.ports import Ports, free


def sh(line: str, cwd: Path) -> str:
    return subprocess.run(["sh", "-c", line], cwd=cwd, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("word", ["plain", "two words", "$HOME `id` $(id)", "it's", '"quoted"', "a;b|c&d", "ü\n2"])
def test_a_command_passes_every_word_as_it_is(word: str, tmp_path: Path) -> None:
    command = Command(("printf", "%s|%s", word, "end"), env=(("VARIABLE", word),), cwd=str(tmp_path))
    assert sh(command.shell(), tmp_path) == f"{word}|end"


@pytest.mark.parametrize("text", ["one\n", "END\nafter\n", "$HOME `id` \\ 'x'\n", "ü\n\n  indented\n"])
def test_a_written_file_is_the_same_when_pasted(text: str, tmp_path: Path) -> None:
    target = tmp_path / "a folder" / "file"
    sh(Write(str(target), text).shell(), tmp_path)
    assert target.read_text(encoding="utf-8") == text


def test_a_server_is_shown_with_its_ports() -> None:
    start = Start(("tritonserver", "--x"), (("A", "1 2"),), Ports(1, 2, 3), "demo")
    assert start.shell() == (
        "A='1 2' tritonserver --x --http-address=127.0.0.1 --http-port=1 --grpc-address=127.0.0.1 --grpc-port=2 "
        "--metrics-address=127.0.0.1 --metrics-port=3 &"
    )
    assert "http://127.0.0.1:1/v2/models/demo/ready" in Wait("demo", Ports(1, 2, 3), 5).shell()


def test_a_container_publishes_the_ports_of_tritons_own() -> None:
    box = Container("podman", ("--rm",), "image:tag", ("a=b",))
    start = Start(("tritonserver",), (("A", "1"),), Ports(1, 2, 3), "demo", container=box)
    published = "--publish=127.0.0.1:{}:8000 --publish=127.0.0.1:{}:8001 --publish=127.0.0.1:{}:8002"
    assert start.shell() == f"A=1 podman run --rm {published.format(1, 2, 3)} image:tag tritonserver &"
    moved = start.command(Ports(4, 5, 6))
    assert moved.shell() == f"A=1 podman run --rm {published.format(4, 5, 6)} image:tag tritonserver"


@pytest.mark.parametrize(
    "wrong", [{"argv": []}, {"argv": [""]}, {"argv": ["a\0"]}, {"argv": ["a"], "env": [["B", "\0"]]}]
)
def test_a_command_that_cannot_be_run_is_no_plan(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        from_data(Command, wrong, where="plan.json")
    assert caught.value.code == "TW-K01"


@pytest.mark.parametrize(("there", "printed"), [("true", ""), ("false", "made")])
def test_a_command_is_left_out_where_its_result_is_there(there: str, printed: str, tmp_path: Path) -> None:
    assert sh(Command(("printf", "made"), unless=(there,)).shell(), tmp_path) == printed


def test_a_step_is_another_when_its_work_changes_and_not_when_its_words_do() -> None:
    step = python_step("x", "pass", Path("/made"))

    def same(**changes: object) -> bool:
        other: Step = replace(step, **changes)  # type: ignore[arg-type]
        return other.fingerprint == step.fingerprint

    assert same(title="T", why="W")
    assert not same(actions=())
    assert not same(id="y")
    assert replace(step, identity="i").fingerprint == replace(step, identity="i", actions=()).fingerprint
    assert replace(step, identity="i").fingerprint != replace(step, identity="j").fingerprint


@pytest.mark.parametrize(("held", "name"), [(0, "HTTP"), (1, "gRPC"), (2, "metrics")])
def test_a_port_in_use_is_moved_upwards_and_named(held: int, name: str) -> None:
    with reserved() as first, socket.socket() as holder:
        wanted = [first, first + 2, first + 4]
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: connections may fade away there
        holder.bind(("127.0.0.1", wanted[held]))
        holder.listen()
        ports, changes = free(Ports(*wanted))
        moved = [*wanted]
        moved[held] += 1
        assert ports == Ports(*moved)
        assert changes == [f"Port {wanted[held]} is in use; the {name} port is {moved[held]} instead."]


def test_tritons_own_ports_are_tried_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports_module, "choose", lambda port, host, taken: port)  # whatever is in use here
    assert free(Ports()) == (Ports(8000, 8001, 8002), [])


def test_free_ports_stay_and_none_is_given_twice() -> None:
    with reserved() as first:
        assert free(Ports(first, first + 1, first + 2)) == (Ports(first, first + 1, first + 2), [])
        ports, changes = free(Ports(first, first, first))
        assert ports == Ports(first, first + 1, first + 2)
        assert len(changes) == 2
