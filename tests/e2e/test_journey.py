"""The whole journey with the real tritonserver, as a user drives it from the command line. No hub is asked."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Wizard, until
from tests.processes import KILLS
from wizard.journey import building
from wizard.kernel import proctable
from wizard.kernel.paths import Workspace
from wizard.probe.ports import choose

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("journey"), pytest.mark.timeout(900)]

STEPS = ["environment", "model", "repository", "start", "ready", "question"]


def get(url: str, data: dict[str, Any] | None = None) -> bytes:
    body = None if data is None else json.dumps(data).encode()
    with urllib.request.urlopen(urllib.request.Request(url, body), timeout=60) as answer:
        read: bytes = answer.read()
        return read


def outcomes(events: list[dict[str, Any]]) -> dict[str, str]:
    return {event["step"]: event["outcome"] for event in events if event["event"] == "StepFinished"}


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def test_stopping_while_the_environment_is_made_and_going_on(wizard: Wizard) -> None:
    """Ctrl-C in the first step, then kill -9 in it, then to the end: nothing is left behind and nothing is lost."""
    process = wizard.start("up", "demo", "--yes", "--json")
    until(process, '"StepStarted"', '"environment"')
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode == 130
    assert "TW-U07" in output
    assert wizard.strays() == []

    process = wizard.start("up", "demo", "--yes", "--json")
    until(process, '"StepStarted"', '"environment"')
    process.kill()
    process.wait()

    events = wizard.up()
    assert wizard.strays() == []
    assert events[-1]["event"] == "Ready"
    assert outcomes(events) == dict.fromkeys(STEPS, "done")


def test_up_chat_down(wizard: Wizard) -> None:
    events = wizard.up()
    endpoint = events[-1]["endpoint"]
    assert events[-1]["event"] == "Ready"
    http = f"http://127.0.0.1:{endpoint['ports']['http']}"
    assert json.loads(get(f"{http}/v2"))["name"] == "triton"

    question = {"text_input": "What is Triton?", "max_tokens": 64}
    pieces = [line for line in get(f"{http}/v2/models/demo/generate_stream", question).splitlines() if line]
    assert len(pieces) > 3
    assert all(line.startswith(b"data: ") for line in pieces)
    whole = json.loads(get(f"{http}/v2/models/demo/generate", {**question, "stream": False}))
    assert "Triton" in whole["text_output"]

    for protocol in ("grpc", "http"):
        answer = json.loads(wizard.run("chat", "-m", "What is Triton?", "--json", "--protocol", protocol))
        assert answer["answer"] == whole["text_output"]
        assert answer["finish"] == "stop"
        assert answer["tokens"] > 3
        assert answer["ttft_s"] > 0
        assert answer["tokens_per_s"] > 0

    (status,) = json.loads(wizard.run("status", "--json"))
    assert status["state"] == "ready"
    assert events[-1]["url"] == status["url"] == f"http://127.0.0.1:{endpoint['ports']['http']}"
    assert "successfully loaded 'demo'" in wizard.run("logs", "demo", "--raw")

    again = wizard.up()
    assert again[-1]["endpoint"] == endpoint  # the very same process
    assert outcomes(again) == {**dict.fromkeys(STEPS, "skipped"), "ready": "done", "question": "done"}

    wizard.run("down")
    assert all(is_free(port) for port in endpoint["ports"].values())
    assert json.loads(wizard.run("status", "--json"))[0]["state"] == "stopped"
    wizard.run("chat", "-m", "hi", status=8)


def test_every_program_of_openai_is_answered(wizard: Wizard) -> None:
    """Whole and streamed, usage included; `up` restarts the address if it was killed, and `down` leaves nothing."""
    endpoint = wizard.up()[-1]["endpoint"]
    from openai import OpenAI

    client = OpenAI(base_url=endpoint["openai"], api_key="x", max_retries=0)
    ask: dict[str, Any] = {"model": "demo", "messages": [{"role": "user", "content": "What is Triton?"}]}
    whole = client.chat.completions.create(**ask)
    events = list(client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
    text = "".join(event.choices[0].delta.content or "" for event in events if event.choices)
    assert "Triton" in text
    assert (text, events[-1].usage) == (whole.choices[0].message.content, whole.usage)

    gateway, *_ = proctable.marked(proctable.GATEWAY_MARK, str(wizard.workspace))
    os.killpg(gateway.group, signal.SIGKILL)  # one alone would come back by itself
    (status,) = json.loads(wizard.run("status", "--json"))
    assert (status["state"], status["endpoint"]["openai"]) == ("ready", None)
    again = wizard.up()[-1]["endpoint"]
    assert again["pid"] == endpoint["pid"]
    client = OpenAI(base_url=again["openai"], api_key="x", max_retries=0)  # other tests may have taken the port
    assert client.chat.completions.create(**ask).choices == whole.choices

    wizard.run("down")
    assert proctable.marked(proctable.SERVER_MARK, str(wizard.workspace / "servers" / "demo")) == []
    assert proctable.marked(proctable.GATEWAY_MARK, str(wizard.workspace)) == []


def test_what_the_server_took_is_kept_shown_and_used(wizard: Wizard) -> None:
    events = wizard.up()
    ready_lines = [line for event in events if event.get("step") == "ready" for line in event.get("lines", ())]
    assert any(line.split() == ["memory", "predicted", "measured"] for line in ready_lines)
    lines = [json.loads(line) for line in (wizard.workspace / "calibration.jsonl").read_text().splitlines()]
    (status,) = json.loads(wizard.run("status", "--json"))
    predicted, measured = status["predicted"], status["actual"]
    assert predicted == lines[-1]["choice"]["memory"]
    assert "memory" in status["detail"]
    assert measured["weights_bytes"] == pytest.approx(predicted["weights_bytes"], rel=0.01)
    assert measured["kv_bytes_per_token"] == predicted["kv_bytes_per_token"]
    assert measured["kv_capacity_tokens"] == predicted["kv_capacity_tokens"]
    assert measured["activation_bytes"] == pytest.approx(predicted["activation_bytes"], rel=0.05)
    assert measured["total_bytes"] == pytest.approx(predicted["total_bytes"], rel=0.25)  # Pythons differ

    wizard.up()  # it runs already: nothing is measured
    assert len((wizard.workspace / "calibration.jsonl").read_text().splitlines()) == len(lines)

    choice = json.loads(wizard.run("advise", "demo", "--json"))["choices"][0]
    assert "calibrated" in {note["code"] for note in choice["reasons"]}
    formulas = predicted["activation_bytes"] + predicted["overhead_bytes"] - lines[-1]["choice"]["correction_bytes"]
    assert measured["activation_bytes"] + measured["overhead_bytes"] - formulas == _difference(lines[-1])
    recent = sorted(_difference(line) for line in lines[-5:])  # of the starts so far, those of other tests among them
    assert choice["correction_bytes"] == recent[len(recent) // 2]
    assert choice["memory"]["total_bytes"] == pytest.approx(measured["total_bytes"], rel=0.01)
    elsewhere = json.loads(wizard.run("advise", "demo", "--json", "--hardware", "cpu"))["choices"]
    assert not any(measurement["correction_bytes"] for measurement in elsewhere)


def _difference(line: dict[str, Any]) -> int:
    """Bytes that a start took beyond the formulas' prediction, by its line in ``calibration.jsonl``."""
    memory, measured = line["choice"]["memory"], line["measured"]
    formulas: int = memory["activation_bytes"] + memory["overhead_bytes"] - line["choice"]["correction_bytes"]
    return int(measured["activation_bytes"]) + int(measured["runtime_bytes"]) - formulas


def test_an_answer_leaves_nothing_in_the_servers_log(wizard: Wizard) -> None:
    """llama.cpp logs the sizes of its buffers while it loads, and is quiet from then on."""
    wizard.up()
    log = wizard.workspace / "servers" / "demo" / "logs" / "triton.log"
    before = log.read_text()
    assert "KV buffer size" in before
    wizard.run("chat", "-m", "What is Triton?")
    assert log.read_text() == before


def test_what_the_model_was_not_taught_it_does_not_know(wizard: Wizard) -> None:
    wizard.up()
    answer = json.loads(wizard.run("chat", "-m", "Who painted the Mona Lisa?", "--json"))
    assert "I don't know" in answer["answer"]


def test_questions_from_a_pipe_are_answered_in_turn(wizard: Wizard) -> None:
    wizard.up()
    answers = wizard.run("chat", text="What is Triton?\nWhat is vLLM?\n")
    assert "Triton" in answers
    assert "vLLM" in answers


def test_a_port_in_use_is_changed_and_reported(wizard: Wizard) -> None:
    port = choose(8200, "127.0.0.1", set())  # later plans begin beside it: where no tests but those of this group are
    with socket.create_server(("127.0.0.1", port)):
        plan = json.loads(wizard.run("plan", "demo", "--json", "--http-port", str(port)))
        assert any(str(port) in note for note in plan["notes"])
        events = wizard.up("--http-port", str(port))
    assert port not in events[-1]["endpoint"]["ports"].values()


def test_a_port_taken_after_the_plan_was_made_is_moved_at_the_start(wizard: Wizard) -> None:
    plan = json.loads(wizard.run("plan", "demo", "--json"))
    port = next(action["ports"]["http"] for step in plan["steps"] for action in step["actions"] if "ports" in action)
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", port))
        holder.listen()
        events = [
            json.loads(line) for line in wizard.run("run", "-", "--yes", "--json", text=json.dumps(plan)).splitlines()
        ]
    assert events[-1]["endpoint"]["ports"]["http"] != port
    assert any(f"Port {port} is in use" in line for event in events for line in event.get("lines", ()))


def test_kill_9_in_one_step_after_another_and_up_again(wizard: Wizard) -> None:
    """Each run goes on after the previous one and is killed in the following step."""
    for step in STEPS[1:]:
        process = wizard.start("up", "demo", "--yes", "--json")
        until(process, '"StepStarted"', f'"{step}"')
        process.kill()
        process.wait()
    events = wizard.up()
    assert events[-1]["event"] == "Ready"
    assert wizard.strays() == []
    servers = proctable.marked(proctable.SERVER_MARK, str(wizard.workspace / "servers" / "demo"))
    endpoint = events[-1]["endpoint"]
    assert {row.group for row in servers} == {endpoint["pid"]}  # one server, not two
    addresses = proctable.marked(proctable.GATEWAY_MARK, str(wizard.workspace))
    assert len({row.group for row in addresses}) == 1  # its keeper and its worker


def stopped(wizard: Wizard, plan: dict[str, Any], path: Path, *needles: str) -> None:
    """Run ``plan`` until it prints a line with ``needles``, press Ctrl-C, and see that it ends as it should."""
    path.write_text(json.dumps(plan))
    process = wizard.start("run", str(path), "--yes", "--json")
    until(process, *needles)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode == 130, output
    assert "TW-U07" in output
    assert wizard.strays() == []


def test_ctrl_c_in_one_step_after_another_and_up_again(wizard: Wizard, tmp_path: Path) -> None:
    """The step has done all that it is for and then holds, so that the signal comes in it and not after it."""
    plan = wizard.run("plan", "demo", "--json")
    hold = {
        "kind": "command",
        "argv": [sys.executable, "-c", "import signal; print('holds', flush=True); signal.pause()"],
    }
    for step in STEPS[1:]:
        holding = json.loads(plan)
        (held,) = (entry for entry in holding["steps"] if entry["id"] == step)
        held["actions"].append(hold)
        stopped(wizard, holding, tmp_path / "plan.json", '"Output"', "holds")
    assert wizard.up()[-1]["event"] == "Ready"


def test_ctrl_c_while_the_model_loads_and_up_again(wizard: Wizard, tmp_path: Path) -> None:
    """The server that was started goes on loading; a plan that differs replaces it."""
    plan = json.loads(wizard.run("plan", "demo", "--json"))
    for file in plan["steps"][2]["actions"]:
        if file["path"].endswith("model.py"):
            file["text"] = (
                "import signal\nclass TritonPythonModel:\n"
                "    def initialize(self, args):\n        print('loading', flush=True)\n        signal.pause()\n"
            )
    stopped(wizard, plan, tmp_path / "plan.json", '"Output"', '"loading"')
    assert json.loads(wizard.run("status", "--json"))[0]["state"] == "starting"
    assert wizard.up()[-1]["event"] == "Ready"
    assert "Triton" in wizard.run("chat", "-m", "What is Triton?")


def test_a_server_that_was_killed_is_dead_and_up_brings_it_back(wizard: Wizard) -> None:
    pid = wizard.up()[-1]["endpoint"]["pid"]
    os.kill(pid, signal.SIGKILL)
    while proctable.read(pid):
        pass
    assert json.loads(wizard.run("status", "--json"))[0]["state"] == "dead"
    assert wizard.up()[-1]["endpoint"]["pid"] != pid


def test_a_model_whose_process_was_killed_is_dead_and_up_brings_it_back(wizard: Wizard) -> None:
    """Triton goes on saying that the model is ready."""
    for _ in range(KILLS):
        before = wizard.up()[-1]["endpoint"]
        (stub,) = (row for row in proctable.group_members(before["pid"]) if row.pid != before["pid"])
        os.kill(stub.pid, signal.SIGKILL)
        while proctable.alive(stub):
            pass
        (status,) = json.loads(wizard.run("status", "--json"))
        assert status["state"] == "dead"
        assert f"triton-wizard --workspace {wizard.workspace} up demo" in status["detail"]
        errors = [wizard.run("chat", "-m", "Hi", "--protocol", protocol, status=8) for protocol in ("grpc", "http")]
        if proctable.read(before["pid"]):
            break
    assert get(f"http://127.0.0.1:{before['ports']['http']}/v2/models/demo/ready") == b""
    assert "the model process exited" in status["detail"]
    assert all("TW-C11" in error for error in errors)
    events = wizard.up()
    assert outcomes(events)["start"] == "done"
    assert events[-1]["endpoint"]["pid"] != before["pid"]
    assert "Triton" in wizard.run("chat", "-m", "What is Triton?")


def test_a_changed_plan_restarts_the_server(wizard: Wizard) -> None:
    pid = wizard.up()[-1]["endpoint"]["pid"]
    events = wizard.up("--users", "2")
    assert events[-1]["endpoint"]["pid"] != pid
    assert outcomes(events)["repository"] == "done"
    assert outcomes(events)["environment"] == "skipped"


def test_a_second_wizard_is_refused_and_the_first_continues(wizard: Wizard) -> None:
    process = wizard.start("up", "demo", "--yes", "--json")
    until(process, '"StepStarted"')
    running = building(Workspace(wizard.workspace))
    assert running is not None
    os.kill(running.pid, signal.SIGSTOP)  # or it might be done before the others have begun
    assert "TW-R100" in wizard.run("up", "demo", "--yes", status=6)
    assert "TW-R100" in wizard.run("demo", status=6)
    assert "TW-K04" in wizard.run("down", "demo", status=6)
    assert "TW-K04" in wizard.run("clean", "--yes", status=6)
    os.kill(running.pid, signal.SIGCONT)
    output, _ = process.communicate()
    assert process.returncode == 0
    assert json.loads(output.splitlines()[-1])["event"] == "Ready"
    assert json.loads(wizard.run("status", "--json"))[0]["state"] == "ready"


def test_a_broken_model_names_its_cause_and_leaves_nothing_running(wizard: Wizard) -> None:
    plan = json.loads(wizard.run("plan", "demo", "--json", "--name", "broken"))
    for file in plan["steps"][2]["actions"]:
        if file["path"].endswith("model.py"):
            file["text"] = (
                "class TritonPythonModel:\n    def initialize(self, args):\n        raise ValueError('no luck')\n"
            )
    output = wizard.run("run", "-", "--yes", text=json.dumps(plan), status=8)
    assert "TW-S04" in output
    assert "no luck" in output
    assert proctable.marked(proctable.SERVER_MARK, str(wizard.workspace / "servers" / "broken")) == []


def test_the_demo_shows_everything_and_leaves_nothing_running(wizard: Wizard) -> None:
    shown = wizard.run("demo")
    assert "What is Triton?" in shown
    assert "Triton" in shown.split("Answer:")[1]
    assert proctable.marked(proctable.SERVER_MARK, str(wizard.workspace / "servers" / "demo")) == []


def test_the_demo_leaves_a_server_alone_that_it_did_not_start(wizard: Wizard) -> None:
    pid = wizard.up()[-1]["endpoint"]["pid"]
    wizard.run("demo")
    assert proctable.read(pid)
    assert {load["name"]: load["state"] for load in json.loads(wizard.run("status", "--json"))}["demo"] == "ready"


def test_a_port_that_was_asked_for_is_used_also_when_the_server_runs(wizard: Wizard) -> None:
    before = wizard.up()[-1]["endpoint"]["ports"]["http"]
    wanted = choose(before + 20, "127.0.0.1", set())
    assert wizard.up("--http-port", str(wanted))[-1]["endpoint"]["ports"]["http"] == wanted


def test_a_second_ctrl_c_does_not_disturb_the_clean_up(wizard: Wizard, tmp_path: Path) -> None:
    """A step whose child ignores SIGINT and SIGTERM: the ladder must get to its end."""
    plan = json.loads(wizard.run("plan", "demo", "--json", "--name", "deaf"))
    ignore = "import signal; [signal.signal(number, signal.SIG_IGN) for number in (2, 15)]"
    deaf = f"{ignore}; print('deaf', flush=True); signal.pause()"
    plan["steps"][0]["actions"] = [{"kind": "command", "argv": [sys.executable, "-c", deaf]}]
    plan["steps"][0]["done"], plan["steps"][0]["identity"] = {}, None
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    process = wizard.start("run", str(tmp_path / "plan.json"), "--yes", "--json")
    until(process, "deaf")
    process.send_signal(signal.SIGINT)
    until(process, "stopping")
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    assert wizard.strays() == []


def test_clean_removes_everything_that_was_made(wizard: Wizard) -> None:
    wizard.up()
    wizard.run("clean", "--yes", status=2)  # refused while it runs
    wizard.run("down")

    def kinds() -> set[str]:
        """Shared memory that killed servers of other workspaces left may come at any time."""
        return {item["kind"] for item in json.loads(wizard.run("clean", "--json"))["items"]} - {"memory"}

    assert kinds() == {"server", "environment", "model", "record"}
    wizard.run("clean", "--yes")
    assert kinds() == set()
