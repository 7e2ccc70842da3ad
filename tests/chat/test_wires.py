"""Every format that a served model may speak, against a real tritonserver with stand-ins for the engines."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.chain_model import CYCLE, CYCLE_TOKENS
from tests.chat.fake_repository import write_fakes, write_tokenizer
from tests.server_environment import RunningTriton, running_triton
from wizard.chat.chunk import Chunk
from wizard.chat.client import described
from wizard.chat.conversation import Conversation, Sampling, Stats
from wizard.chat.stream import answer
from wizard.kernel.errors import ModelError, ServerError, UsageError
from wizard.serve.endpoint import Endpoint
from wizard.stacks.trtllm_engine.chat import TEXT, TOKEN_IDS
from wizard.stacks.trtllm_llmapi.chat import LLM_API
from wizard.stacks.vllm.chat import VLLM

ENDLESS = 16000
both_protocols = pytest.mark.parametrize("protocol", ["grpc", "http"])
pytestmark = pytest.mark.e2e


@dataclass(frozen=True)
class Fakes:
    """The server, its model's folder, and the path that the ensemble gives for its tokenizer."""

    triton: RunningTriton
    folder: Path
    tokenizer: Path

    def endpoint(self, model: str, *, folder: bool = True) -> Endpoint:
        process = self.triton.process.pid
        named = str(self.folder) if folder else None
        return Endpoint("t", model, "127.0.0.1", self.triton.ports, process, "0", str(self.triton.log), folder=named)


@pytest.fixture(scope="module")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fakes]:
    scratch = tmp_path_factory.mktemp("fakes")
    folder = write_tokenizer(scratch / "model")
    tokenizer = scratch / "tokenizer"
    with running_triton(write_fakes(scratch / "repository", tokenizer), scratch) as triton:
        yield Fakes(triton, folder, tokenizer)


def asked(text: str, **sampling: float | None) -> Conversation:
    return Conversation(sampling=Sampling(**sampling)).with_message("user", text)  # type: ignore[arg-type]


async def read(endpoint: Endpoint, talk: Conversation, protocol: str, *, base: bool = False) -> list[Chunk]:
    """The answer; ``base`` sends the text as it is, so that its last character decides."""
    served = described(endpoint)
    if base:
        served = replace(served, chat=None)
    return [chunk async for chunk in answer(endpoint, talk, protocol=protocol, served=served)]


def text_of(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


def stats_of(chunks: list[Chunk]) -> Stats:
    assert all(chunk.stats is None for chunk in chunks[:-1])
    assert chunks[-1].stats is not None
    return chunks[-1].stats


MODELS = {
    "tensorrt_llm": TOKEN_IDS,
    "engine_010": TOKEN_IDS,
    "engine_whole": TOKEN_IDS,
    "engine_excludes": TOKEN_IDS,
    "ensemble": TOKEN_IDS,
    "tensorrt_llm_bls": TOKEN_IDS,
    "text_05": TEXT,
    "llmapi": LLM_API,
    "llmapi_deltas": LLM_API,
    "vllm_2402": VLLM,
    "vllm": VLLM,
}
SINGLE = {"engine_010", "engine_excludes", "text_05"}
"""They answer in one response."""
UNREASONED = {"text_05", "vllm_2402"}
"""They do not say why an answer ends."""
COUNTED = {name for name, form in MODELS.items() if form is TOKEN_IDS} | {"vllm"}


@both_protocols
@pytest.mark.parametrize("model", MODELS)
async def test_every_format_gives_the_same_answer(fakes: Fakes, model: str, protocol: str) -> None:
    endpoint = fakes.endpoint(model)
    assert described(endpoint).wire.format is MODELS[model]
    chunks = await read(endpoint, asked("Hello", max_tokens=3 * CYCLE_TOKENS), protocol)
    assert text_of(chunks) == 3 * CYCLE
    stats = stats_of(chunks)
    assert stats.tokens == (3 * CYCLE_TOKENS if model in COUNTED else None)
    assert stats.finish in {"length", "end"}
    assert (len([chunk for chunk in chunks if chunk.text]) == 1) == (model in SINGLE)
    assert [chunk.note for chunk in chunks if chunk.note] == []


@both_protocols
@pytest.mark.parametrize("model", MODELS)
async def test_the_end_token_is_no_part_of_the_answer(fakes: Fakes, model: str, protocol: str) -> None:
    chunks = await read(fakes.endpoint(model), asked("Is it?"), protocol, base=True)
    assert text_of(chunks) == "yes"
    assert stats_of(chunks).finish == ("end" if model in UNREASONED else "stop")
    if model in COUNTED:
        assert stats_of(chunks).tokens == 4


@both_protocols
@pytest.mark.parametrize("model", ["tensorrt_llm", "engine_010", "text_05", "llmapi", "vllm"])
async def test_a_refused_request_is_reported_in_the_engines_words(fakes: Fakes, model: str, protocol: str) -> None:
    with pytest.raises(ServerError) as caught:
        await read(fakes.endpoint(model), asked("100%"), protocol, base=True)
    assert caught.value.code == "TW-C04"
    assert "the engine has had enough" in caught.value.what
    with pytest.raises(UsageError) as long:
        await read(fakes.endpoint(model), asked("long!"), protocol, base=True)
    assert long.value.code == "TW-C05"
    assert "(2000)" in long.value.what


@both_protocols
@pytest.mark.parametrize(
    ("model", "seen"),
    [
        ("tensorrt_llm", {"temperature": "0.5", "seed": "7", "greedy": "False"}),
        ("engine_010", {"temperature": "0.5", "seed": "7"}),
        ("llmapi", {"temperature": "0.5", "seed": "7"}),
        ("vllm", {"temperature": "0.5", "seed": "7", "top_p": "0.9", "max_tokens": "512"}),
    ],
)
async def test_settings_arrive(fakes: Fakes, model: str, seen: dict[str, str], protocol: str) -> None:
    talk = asked("settings=", temperature=0.5, seed=7, top_p=0.9)
    settings = json.loads(text_of(await read(fakes.endpoint(model), talk, protocol, base=True)))
    assert settings == {**settings, **seen}


@both_protocols
@pytest.mark.parametrize("model", ["tensorrt_llm", "vllm"])
async def test_penalties_arrive(fakes: Fakes, model: str, protocol: str) -> None:
    talk = asked("s=", repetition_penalty=1.5, presence_penalty=0.5, frequency_penalty=-0.5)
    chunks = await read(fakes.endpoint(model), talk, protocol, base=True)
    settings = json.loads(text_of(chunks))
    assert [settings[f"{name}_penalty"] for name in ("repetition", "presence", "frequency")] == ["1.5", "0.5", "-0.5"]
    assert not any("does not support" in (chunk.note or "") for chunk in chunks)


@both_protocols
async def test_settings_that_a_model_does_not_take_are_reported(fakes: Fakes, protocol: str) -> None:
    talk = asked("Hello", min_p=0.1, logprobs=3, max_tokens=5)
    (note,) = [chunk.note for chunk in await read(fakes.endpoint("llmapi"), talk, protocol) if chunk.note]
    assert note == "This model does not support min_p, logprobs; the answer is generated without them."


@both_protocols
@pytest.mark.parametrize(("model", "logprob", "others"), [("tensorrt_llm", -0.5, 0), ("vllm", -0.25, 3)])
async def test_log_probabilities(fakes: Fakes, model: str, logprob: float, others: int, protocol: str) -> None:
    endpoint = fakes.endpoint(model)
    assert described(endpoint).logprobs == (0 if others == 0 else 20)
    chunks = await read(endpoint, asked("Is it?", logprobs=2), protocol, base=True)
    tokens = [token for chunk in chunks for token in chunk.logprobs]
    assert [token.text for token in tokens][:3] == ["y", "e", "s"]
    assert {(token.logprob, len(token.top)) for token in tokens} == {(logprob, others)}
    assert text_of(chunks) == "yes"
    silent = await read(endpoint, asked("Is it?"), protocol, base=True)
    assert not any(chunk.logprobs for chunk in silent)


@both_protocols
@pytest.mark.parametrize("model", ["tensorrt_llm", "llmapi", "text_05"])
async def test_temperature_0_is_the_likeliest_token(fakes: Fakes, model: str, protocol: str) -> None:
    settings = json.loads(text_of(await read(fakes.endpoint(model), asked("s=", temperature=0), protocol, base=True)))
    assert (settings["greedy"], settings["temperature"]) == ("True", "None")


async def test_a_setting_that_the_model_has_no_input_for_is_reported(fakes: Fakes) -> None:
    chunks = await read(fakes.endpoint("text_05"), asked("Is it?", seed=3), "grpc", base=True)
    notes = [chunk.note for chunk in chunks if chunk.note]
    assert len(notes) == 1
    assert "does not support seed" in notes[0]


@both_protocols
async def test_a_stop_text_ends_the_answer(fakes: Fakes, protocol: str) -> None:
    for model in ("tensorrt_llm", "tensorrt_llm_bls", "llmapi", "vllm", "text_05"):
        endpoint = fakes.endpoint(model)
        served = described(endpoint)
        assert served.chat is not None
        served = replace(served, chat=replace(served.chat, stop=("é.H",)))
        talk = asked("Hello", max_tokens=10 * CYCLE_TOKENS)
        chunks = [chunk async for chunk in answer(endpoint, talk, protocol=protocol, served=served)]
        assert (model, text_of(chunks)) == (model, "Hi 😀")
        assert stats_of(chunks).finish == "stop"


@both_protocols
@pytest.mark.parametrize(
    ("model", "engine"),
    [("tensorrt_llm", "tensorrt_llm"), ("ensemble", "tensorrt_llm"), ("tensorrt_llm_bls", "tensorrt_llm")],
)
async def test_stopping_reaches_the_engine(fakes: Fakes, model: str, engine: str, protocol: str) -> None:
    words = f"FakeEngine {engine} cancelled after "
    before = fakes.triton.logged().count(words)
    talk = asked("Hello", max_tokens=ENDLESS)
    async with aclosing(answer(fakes.endpoint(model), talk, protocol=protocol)) as chunks:
        async for chunk in chunks:
            if chunk.tokens and chunk.tokens > 20:
                break
    log = fakes.triton.wait_for_log(lambda text: text.count(words) > before)
    assert int(log.rpartition(words)[2].split()[0]) < ENDLESS


@both_protocols
@pytest.mark.parametrize("model", ["llmapi", "vllm"])
async def test_stopping_reaches_the_other_engines(fakes: Fakes, model: str, protocol: str) -> None:
    words = f"FakeEngine {model} cancelled after "
    before = fakes.triton.logged().count(words)
    async with aclosing(answer(fakes.endpoint(model), asked("Hello", max_tokens=ENDLESS), protocol=protocol)) as chunks:
        async for chunk in chunks:
            if chunk.text:
                break
    fakes.triton.wait_for_log(lambda text: text.count(words) > before)


@both_protocols
@pytest.mark.parametrize(("question", "reason"), [("Hello~", "error"), ("Hello^", "abort")])
async def test_an_answer_that_the_engine_gives_up(fakes: Fakes, question: str, reason: str, protocol: str) -> None:
    """What came is shown, but the answer is not complete: vLLM's own server reports an error, too."""
    endpoint = fakes.endpoint("vllm")
    served, came = replace(described(endpoint), chat=None), list[Chunk]()

    async def read_all() -> None:
        async for chunk in answer(endpoint, asked(question), protocol=protocol, served=served):
            came.append(chunk)

    with pytest.raises(ServerError, match=reason) as failed:
        await read_all()
    assert (failed.value.code, text_of(came)) == ("TW-C04", "yes")
    assert not any(chunk.stats for chunk in came)


@both_protocols
async def test_no_request_stays_in_flight_after_a_chat_was_stopped(tmp_path: Path, protocol: str) -> None:
    folder = write_tokenizer(tmp_path / "model")
    root = write_fakes(tmp_path / "repository", folder)
    for other in root.iterdir():
        if other.name not in ("ensemble", "preprocessing", "tensorrt_llm", "postprocessing"):
            shutil.rmtree(other)
    with running_triton(root, tmp_path) as triton:
        endpoint = Endpoint("t", "ensemble", "127.0.0.1", triton.ports, triton.process.pid, "0", "")
        async with aclosing(answer(endpoint, asked("Hello", max_tokens=ENDLESS), protocol=protocol)) as chunks:
            await chunks.__anext__()
        triton.wait_for_log(lambda text: "FakeEngine tensorrt_llm cancelled" in text)
        triton.process.terminate()
        triton.process.wait(60)
        # Through the ensemble itself the server says this when its exit timeout is over (measured, 2.51.0).
        assert not re.search("Timeout 0: .* in-flight inferences", triton.logged())


async def test_the_ensemble_says_where_its_tokenizer_is(fakes: Fakes) -> None:
    endpoint = fakes.endpoint("ensemble", folder=False)
    apart = described(endpoint)
    assert (apart.name, apart.wire.format, apart.chat) == ("ensemble", TEXT, None)
    assert apart.note is not None
    assert "--tokenizer" in apart.note
    fakes.tokenizer.symlink_to(fakes.folder)
    try:
        direct = described(endpoint)
    finally:
        fakes.tokenizer.unlink()
    assert (direct.name, direct.wire.format, direct.folder) == ("tensorrt_llm", TOKEN_IDS, str(fakes.tokenizer))


@both_protocols
@pytest.mark.parametrize("model", ["ensemble", "tensorrt_llm_bls"])
async def test_without_a_tokenizer_the_text_models_answer(fakes: Fakes, model: str, protocol: str) -> None:
    endpoint = fakes.endpoint(model, folder=False)
    chunks = await read(endpoint, asked("Is it?"), protocol)
    assert text_of(chunks) == "yes"
    assert stats_of(chunks).tokens is None
    notes = "".join(chunk.note or "" for chunk in chunks)
    assert "Stopping an answer does not stop the engine" in notes
    assert "no chat template" in notes
    talk = asked("Is it?").with_message("assistant", "yes").with_message("user", "Is it?")
    later = "".join(chunk.note or "" for chunk in await read(endpoint, talk, protocol))
    assert "does not stop" not in later  # once is enough


async def test_token_ids_without_a_tokenizer(fakes: Fakes, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        described(fakes.endpoint("tensorrt_llm", folder=False))
    assert caught.value.code == "TW-C13"
    for text in ("", "{}", "not JSON"):
        (tmp_path / "tokenizer.json").write_text(text)
        endpoint = replace(fakes.endpoint("tensorrt_llm"), folder=str(tmp_path))
        with pytest.raises(UsageError) as caught:
            await read(endpoint, asked("x"), "grpc")
        assert caught.value.code == "TW-C13"
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(UsageError) as caught:
        await read(replace(fakes.endpoint("tensorrt_llm"), folder=str(tmp_path)), asked("x"), "grpc")
    assert caught.value.code == "TW-C13"
    (tmp_path / "tokenizer_config.json").write_text("[")
    with pytest.raises(ModelError) as damaged:
        described(replace(fakes.endpoint("tensorrt_llm"), folder=str(tmp_path)))
    assert damaged.value.code == "TW-M04"


async def test_a_model_that_is_no_chat_model(fakes: Fakes) -> None:
    with pytest.raises(ServerError) as caught:
        described(fakes.endpoint("postprocessing"))
    assert caught.value.code == "TW-C07"
