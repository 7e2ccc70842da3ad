"""``model.py`` of the proxy as Triton calls it, in this process; with a server, see ``tests/e2e/test_proxy.py``."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.repository.peer import peer
from tests.repository.triton_stub import SECONDS, FakeError, FakeRequest, FakeTritonUtils, FencedOs

CONFIG = {"default_temperature": "0.5", "special_tokens": r"<\|\w+\|>", "stop": '["<end>"]', "chat_template": "x"}


@pytest.fixture
def loaded(model: ModuleType, engines: ModuleType, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """``TritonPythonModel`` as the stub makes it, with an engine that runs a program."""
    models = []

    def load_model(program: str, command: list[str] | None = None, replicas: list[dict[str, str]] | None = None) -> Any:
        (tmp_path / "3").mkdir()
        given = {
            **CONFIG,
            "engine_argv": json.dumps(command or peer(program)),
            "engine_env": json.dumps({FencedOs.MARK: "1"}),
            **({"engine_replicas": json.dumps(replicas)} if replicas else {}),
        }
        config = {"parameters": {name: {"string_value": value} for name, value in given.items()}}
        arguments = {"model_name": "demo", "model_repository": str(tmp_path), "model_version": "3"}
        models.append(model.TritonPythonModel())
        models[-1].initialize({**arguments, "model_config": json.dumps(config)})
        return models[-1]

    yield load_model
    for each in models:
        for replica in getattr(each, "_replicas", ()):
            replica.stop()
    assert engines.os.strays == []


def request(text: str = "Hi", **inputs: Any) -> FakeRequest:
    return FakeRequest(text_input=np.array([text.encode()], np.object_), **inputs)


ECHO = """
send({"ready": True})
while True:
    message = receive()
    number, text = message["ask"]["id"], message["ask"]["text"]
    if text == "exit":
        sys.exit(3)
    elif text == "wait":
        send({"deltas": [[number, "0", 1, ""]]})
    elif text in ("client", "engine"):
        send({"errors": [[99, "nobody", "client"], [number, "refused", text]]})
    else:
        send({"deltas": [[number, json.dumps(message), 1, "stop", [["x", 0, []]]]]})
"""


def test_a_request_goes_to_the_engine_with_all_that_it_says(
    loaded: Callable[..., Any], triton: FakeTritonUtils, tmp_path: Path
) -> None:
    served = loaded(ECHO)
    assert triton.Logger.line() == ("info", "demo: the engine is ready")
    plain, full = request(), request(random_seed=np.array([7], np.uint64), logprobs=np.array([2], np.int32))
    served.execute([plain, full])
    own = {"text": "Hi", "chat": True, "stop": ["<end>"]}
    options = {"max_tokens": 512, "temperature": 0.5, "top_p": 0.95, "top_k": 40}
    reply, last = plain.sender.reply()
    assert last
    assert json.loads(reply["text_output"]) == {"ask": {"id": 0, "seed": None, **own, **options}}
    assert "logprobs" not in reply
    reply, _ = full.sender.reply()
    assert json.loads(reply["text_output"]) == {"ask": {"id": 1, "seed": 7, **own, **options, "logprobs": 2}}
    assert reply["logprobs"] == b'[["x", 0, []]]'


def test_errors_have_the_code_of_who_made_them(loaded: Callable[..., Any]) -> None:
    served = loaded(ECHO)
    requests = [request(text) for text in ("", "client", "engine")]
    served.execute(requests)
    assert [each.sender.reply() for each in requests] == [
        (("request refused: text_input must be a text, not empty", FakeError.INVALID_ARG), True),
        (("request refused: refused", FakeError.INVALID_ARG), True),
        (("refused", FakeError.INTERNAL), True),
    ]


END = "the engine process has ended (exit status 3)"
AGAIN = f"{END}; it is being started again, so send the request again"


def answered(served: Any, text: str = "Hi") -> Any:
    """The last response to a request."""
    asked = request(text)
    served.execute([asked])
    reply, last = asked.sender.reply()
    assert last
    return reply


def test_an_engine_that_ends_fails_all_that_runs_and_is_started_again(
    loaded: Callable[..., Any], triton: FakeTritonUtils, engines: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "PAUSES", (0.0, 30.0))
    served = loaded(ECHO)
    for pause in ("0 s (restart 1 of 2)", "30 s (restart 2 of 2)"):
        running = request("wait")
        served.execute([running])
        running.sender.reply()
        assert answered(served, "exit") == (AGAIN, FakeError.UNAVAILABLE)
        assert running.sender.reply() == ((AGAIN, FakeError.UNAVAILABLE), True)
        assert triton.Logger.line()[1].startswith("demo: the engine is ready")
        assert triton.Logger.line() == ("error", f"demo: {END}; starting it again in {pause}")
        if pause[0] == "0":
            assert triton.Logger.line() == ("info", "demo: the engine is ready again")
            triton.Logger.lines.put(("info", "demo: the engine is ready again"))
            assert json.loads(answered(served)["text_output"])["ask"]["text"] == "Hi"
    assert answered(served) == (AGAIN, FakeError.UNAVAILABLE)  # it waits for the second restart
    assert triton.metric("triton_wizard_replica_state") == {"1": 0}
    assert triton.metric("triton_wizard_replica_restarts") == {"1": 1}
    assert triton.metric("triton_wizard_replica_requests") == {"1": 5}
    served.finalize()


def test_an_engine_that_cannot_start_again_is_given_up(
    loaded: Callable[..., Any], triton: FakeTritonUtils, engines: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last lines say why it cannot."""
    monkeypatch.setattr(engines, "PAUSES", (0.0, 0.0))
    first = 'if os.path.exists("seen"): print("no memory"); sys.exit(4)\nopen("seen", "w").close()\n'
    served = loaded(first + ECHO)
    assert answered(served, "exit") == (AGAIN, FakeError.UNAVAILABLE)
    lines = [triton.Logger.line() for _ in range(4)]
    failed = "the engine process has ended (exit status 4); its last lines:\nno memory"
    over = "it is not started again after 2 restarts in a row"
    assert lines[1:] == [
        ("error", f"demo: {END}; starting it again in 0 s (restart 1 of 2)"),
        ("error", f"demo: {failed}; starting it again in 0 s (restart 2 of 2)"),
        ("error", f"demo: {failed}; {over}"),
    ]
    assert answered(served) == (f"{END}; {over}", FakeError.UNAVAILABLE)
    assert triton.metric("triton_wizard_replica_state") == {"1": -1}
    assert triton.metric("triton_wizard_replica_restarts") == {"1": 2}


def test_restarts_of_an_engine_that_served_for_long_count_from_zero(
    loaded: Callable[..., Any], triton: FakeTritonUtils, engines: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "PAUSES", (0.0,))
    monkeypatch.setattr(engines, "STEADY_SECONDS", 0.0)
    served = loaded(ECHO)
    triton.Logger.line()
    for _ in range(3):
        answered(served, "exit")
        assert triton.Logger.line() == ("error", f"demo: {END}; starting it again in 0 s (restart 1 of 1)")
        assert triton.Logger.line() == ("info", "demo: the engine is ready again")


@pytest.mark.parametrize("moment", ["pause", "load"])
def test_a_server_that_stops_starts_no_engine_again(
    moment: str,
    loaded: Callable[..., Any],
    triton: FakeTritonUtils,
    engines: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engines, "PAUSES", (60.0 if moment == "pause" else 0.0, 60.0))
    again = 'if os.path.exists("seen"): os.write(1, b"loading"); read(1)\nopen("seen", "w").close()\n'
    served = loaded(again + ECHO)
    answered(served, "exit")
    triton.Logger.line()
    assert triton.Logger.line()[0] == "error"
    (replica,) = served._replicas
    if moment == "load":
        while replica.engine.last_lines() != "loading":
            pass  # the test's own time limit ends it
    (thread,) = (each for each in threading.enumerate() if getattr(each, "_target", None) == served._serve)
    served.finalize()
    thread.join(SECONDS)
    assert not thread.is_alive()
    assert replica.engine.ended
    assert triton.Logger.lines.empty()


def test_without_custom_metrics_nothing_is_missing(loaded: Callable[..., Any], triton: FakeTritonUtils) -> None:
    del triton.MetricFamily
    assert "text_output" in answered(loaded(ECHO))


def test_finalizing_fails_running_requests_and_ends_the_engine(loaded: Callable[..., Any]) -> None:
    served = loaded(ECHO)
    running = request("wait")
    served.execute([running])
    running.sender.reply()
    served.finalize()
    assert running.sender.reply() == (("the server is stopping", FakeError.UNAVAILABLE), True)
    assert served._replicas[0].engine.end() == "the engine process has ended (exit status 7)"


HELD = """
send({"ready": True})
waiting = []
while True:
    message = receive()
    if "cancel" in message: continue
    number, text = message["ask"]["id"], message["ask"]["text"]
    if text == "exit":
        sys.exit(3)
    if text == "release":
        send({"deltas": [[each, "", 1, "stop"] for each in (*waiting, number)]})
        waiting = []
    else:
        waiting.append(number)
        send({"deltas": [[number, os.environ["CUDA_VISIBLE_DEVICES"], 1, ""]]})
"""
REPLICAS = [{"CUDA_VISIBLE_DEVICES": "0,1"}, {"CUDA_VISIBLE_DEVICES": "2,3"}]


def held(served: Any) -> tuple[FakeRequest, str]:
    """A request that its engine does not finish yet, and the GPUs that the engine sees."""
    asked = request("hold", stream=np.array([True]))
    served.execute([asked])
    reply, last = asked.sender.reply()
    assert not last
    return asked, reply["text_output"].decode()


def test_each_replica_sees_its_gpus_and_gets_a_request_when_it_has_the_fewest(
    loaded: Callable[..., Any], triton: FakeTritonUtils
) -> None:
    served = loaded(HELD, replicas=REPLICAS)
    assert triton.Logger.line() == ("info", "demo: 2 engines are ready")
    where = [held(served)[1] for _ in range(4)]
    assert where == ["0,1", "2,3", "0,1", "2,3"]
    release = request("release")
    served.execute([release])  # the first engine ends all of its requests
    assert release.sender.reply()[1]
    assert [held(served)[1] for _ in range(3)] == ["0,1", "0,1", "0,1"]


def test_a_replica_that_ends_fails_its_requests_and_the_other_serves_on(
    loaded: Callable[..., Any],
    triton: FakeTritonUtils,
    engines: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engines, "PAUSES", (0.0,))
    once = """
gpus = os.environ["CUDA_VISIBLE_DEVICES"]
while os.path.exists(gpus) and not os.path.exists("go"): pass
open(gpus, "w").close()
"""
    served = loaded(once + HELD, replicas=REPLICAS)
    (first, _), (second, _) = held(served), held(served)
    served.execute([request("exit")])
    assert first.sender.reply() == ((AGAIN, FakeError.UNAVAILABLE), True)
    triton.Logger.line()
    text = f"demo, replica 1 of 2: {END}; starting it again in 0 s (restart 1 of 1)"
    assert triton.Logger.line() == ("error", text)
    assert [held(served)[1] for _ in range(3)] == ["2,3"] * 3
    assert triton.metric("triton_wizard_replica_state") == {"1": 0, "2": 1}
    assert triton.metric("triton_wizard_replica_requests") == {"1": 2, "2": 4}
    (tmp_path / "3" / "go").touch()
    assert triton.Logger.line() == ("info", "demo, replica 1 of 2: the engine is ready again")
    assert [held(served)[1] for _ in range(5)] == ["0,1"] * 5
    served.execute([request("release")])
    assert second.sender.reply()[1]


def test_if_one_replica_cannot_start_none_is_left(loaded: Callable[..., Any], triton: FakeTritonUtils) -> None:
    program = 'sys.exit(4) if os.environ["CUDA_VISIBLE_DEVICES"] == "2,3" else None\n' + HELD
    with pytest.raises(triton.TritonModelException, match="exit status 4"):
        loaded(program, replicas=REPLICAS)


def test_an_engine_that_ends_before_it_is_ready_is_no_model(
    loaded: Callable[..., Any], triton: FakeTritonUtils
) -> None:
    with pytest.raises(triton.TritonModelException) as error:
        loaded("print('no memory'); print('for the weights'); sys.exit(1)")
    end = "the engine process has ended (exit status 1); its last lines:\nno memory\nfor the weights"
    assert str(error.value) == f"demo: {end}"


def test_a_program_that_is_not_there_is_named(loaded: Callable[..., Any], triton: FakeTritonUtils) -> None:
    with pytest.raises(triton.TritonModelException, match=r"^demo: cannot start /no/such: .*No such file"):
        loaded("", command=["/no/such", "argument", "more"])


def test_the_models_threads_do_not_keep_the_stub_alive(loaded: Callable[..., Any]) -> None:
    before = {*threading.enumerate()}
    loaded(ECHO)
    assert {thread.daemon for thread in {*threading.enumerate()} - before} == {True}
