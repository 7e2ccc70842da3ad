"""Chat templates that compute for ever or fill the memory, and the process that they run in."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chat.test_rendering import CHAT, SERVED, TALK, TEMPLATE
from wizard.chat.readers import template as program
from wizard.chat.rendering import render, try_out
from wizard.chat.templates import apply
from wizard.chat.templates import process as process_for
from wizard.chat.thinking_modes import Modes, modes
from wizard.kernel.errors import ModelError
from wizard.kernel.fenced import FencedError
from wizard.kernel.fenced_process import FRAME, FencedProcess, RejectedError, frame, read_reply

LOOPS = "".join(f"{{% for {name} in range(99999) %}}" for name in "abc") + "{% endfor %}" * 3
DOUBLING = "{% set n = namespace(s='x' * 1000) %}{% for _ in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}{{ n.s }}"
BOMBS = {
    "loops": LOOPS,
    "doubling": DOUBLING,
    "repeated": "{{ 'x' * 10 ** 10 }}",
    "a long prompt": "{{ 'x' * 2 ** 26 }}",
    "a large number": "{{ 10 ** (10 ** 10) }}",
    "in a filter": "{{ ('a' * 9999999) | wordwrap(1) | length }}",
}
QUESTION = frame({"do": "render", "messages": [{"role": "user", "content": "x"}], "variables": {}})


@pytest.fixture
def process() -> Iterator[FencedProcess]:
    process = process_for(TEMPLATE)
    yield process
    process.end()


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused(bomb: str) -> None:
    with pytest.raises(ModelError, match=r"more than 256 MiB|more than 0\.75 s") as refused:
        render(TALK, replace(SERVED, chat=replace(CHAT, template=bomb)))
    assert refused.value.code == "TW-C50"


@pytest.mark.parametrize("name", ["loops", "doubling"])
def test_a_bomb_costs_less_than_2_s_and_300_mb(name: str) -> None:
    why, seconds, kilobytes = cost("from wizard.chat.templates import apply", f"apply({BOMBS[name]!r}, [])")
    assert why in ("time", "memory")
    assert seconds < 2
    assert kilobytes < 300_000


def cost(imports: str, call: str) -> tuple[str, float, int]:
    """Why ``call`` is refused, its seconds of processor time, and its memory in KiB, that of its children included."""
    code = f"""
import json, resource
from wizard.kernel.errors import ModelError
from wizard.kernel.fenced import FencedError
{imports}
try:
    {call}
except (FencedError, ModelError) as error:
    # ru_maxrss of this process would count pytest, which it was forked from
    own = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
    cost = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    why = error.why if isinstance(error, FencedError) else error.code
    print(json.dumps([why, sum(each.ru_utime + each.ru_stime for each in cost), cost[0].ru_maxrss + own]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    why, seconds, kilobytes = json.loads(done.stdout)
    return why, seconds, kilobytes


@pytest.mark.parametrize("bomb", [LOOPS, DOUBLING], ids=["loops", "doubling"])
def test_a_bomb_is_refused_before_a_server_loads_it(bomb: str) -> None:
    with pytest.raises(ModelError, match=r"more than 256 MiB|more than 0\.75 s") as refused:
        try_out("m", replace(CHAT, template=bomb))
    assert refused.value.code == "TW-M80"


SHAPES = {
    "tools": "{% if tools and tools[0].function.parameters.properties %}BOMB{% endif %}",
    "system": "{% if messages[0].role == 'system' %}BOMB{% endif %}",
    "tools, and no system": "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}"
    "{% if tools %}BOMB{% endif %}",
    "a call": "{% for each in messages if each.tool_calls and each.tool_calls[0].function.arguments %}BOMB{% endfor %}",
    "a result": "{% if messages[-1].role == 'tool' %}BOMB{% endif %}",
    "many turns": "{% if messages | length > 60 and not tools %}BOMB{% endif %}",
    "everything": "{% if messages | length > 60 and tools and messages[0].role == 'system' %}BOMB{% endif %}",
}


@pytest.mark.parametrize("bomb", [LOOPS, DOUBLING], ids=["loops", "doubling"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_bomb_for_some_conversations_only_is_refused(shape: str, bomb: str) -> None:
    with pytest.raises(ModelError, match=r"more than 256 MiB|more than 0\.75 s") as refused:
        try_out("m", replace(CHAT, template=shape.replace("BOMB", bomb)))
    assert refused.value.code == "TW-M80"


@pytest.mark.parametrize("bomb", [LOOPS, DOUBLING], ids=["loops", "doubling"])
def test_the_trial_of_all_conversations_costs_less_than_2_s_and_300_mb(bomb: str) -> None:
    why, seconds, kilobytes = cost(
        "from wizard.chat.rendering import try_out; from wizard.model.chat_format import ChatFormat",
        f"try_out('m', ChatFormat({SHAPES['everything'].replace('BOMB', bomb)!r}))",
    )
    assert why == "TW-M80"
    assert seconds < 2
    assert kilobytes < 300_000


@pytest.mark.parametrize("template", [TEMPLATE, "{{ raise_exception('no') }}", "{% if %}"])
def test_another_template_is_not(template: str) -> None:
    try_out("m", replace(CHAT, template=template))
    try_out("m", None)


def test_a_bomb_offers_no_modes_and_is_not_tried_for_each() -> None:
    bomb = "{% if enable_thinking and reasoning_effort %}{% endif %}" + LOOPS
    assert modes(replace(CHAT, template=bomb)) == Modes()


def test_after_a_bomb_the_process_is_another_one(process: FencedProcess) -> None:
    text = process.ask(QUESTION)["text"]
    first = process.pid
    assert process.ask(QUESTION)["text"] == text
    assert process.pid == first
    with pytest.raises(FencedError):
        process.ask(frame({"do": "render", "messages": [{"role": "user", "content": "x" * 2**27}]}))
    assert process.ask(QUESTION)["text"] == text
    assert process.pid != first


def test_a_process_that_was_killed_meanwhile_is_started_again(process: FencedProcess) -> None:
    process.start()
    assert process.pid
    os.kill(process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert process.ask(QUESTION)["text"]


def test_ctrl_c_does_not_wait_for_the_template(process: FencedProcess) -> None:
    process.start()
    assert process.pid
    os.kill(process.pid, signal.SIGSTOP)  # it never answers
    stopped = Path(f"/proc/{process.pid}")
    interrupt = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 -- it may come before the question
        interrupt.start()
        process.ask(QUESTION)
    interrupt.join()
    process.end()
    assert not stopped.exists()


def test_a_template_in_the_current_folder_imports_nothing_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jinja2.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    assert apply("{{ 1 }}", []) == "1"


def test_the_process_has_no_secrets(monkeypatch: pytest.MonkeyPatch, process: FencedProcess) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_aaaaaaaaaaaaaaaaaaaa")
    process.start()
    assert b"hf_aaaa" not in Path(f"/proc/{process.pid}/environ").read_bytes()


@pytest.mark.parametrize("raw", [b"", b"[]", b"x", b"null", b"[" * 100_000])
def test_a_reply_that_is_none(raw: bytes) -> None:
    with pytest.raises(FencedError):
        read_reply(raw)


def test_texts_that_json_bends_arrive_unchanged() -> None:
    text = "\ud800 \x00 \u2028 é 한 \U0001f600"
    assert apply("{{ messages[0].content }}", [{"role": "user", "content": text}]) == text
    with pytest.raises(RejectedError, match="no"):
        apply("{{ raise_exception('no') }}", [])


def test_the_program_limits_itself_before_it_reads_a_template() -> None:
    with subprocess.Popen([sys.executable, program.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        child.stdin.write(frame("{{ 1 }}") + QUESTION)
        child.stdin.flush()
        child.stdout.read(FRAME.size)
        limits = Path(f"/proc/{child.pid}/limits").read_text(encoding="utf-8")
        child.stdin.close()
    assert f"Max address space         {program.MEMORY}" in limits
    assert "Max file size             0" in limits
