"""Who is asked how fast a model answers, and what is said when nobody knows."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wizard import journey
from wizard.advise.advice import Speed
from wizard.advise.devices import devices
from wizard.advise.providers import PROVIDERS, Aiconfigurator, Roofline, text
from wizard.advise.reasons import Reason
from wizard.advise.setup import Setup
from wizard.advise.speed import Load, estimate
from wizard.kernel.errors import InfeasibleError, UsageError
from wizard.kernel.extras import install
from wizard.model.config import describe
from wizard.model.facts import ModelFacts, Quantization
from wizard.probe.shorthand import host
from wizard.texts import reasons

CONFIG: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "cases" / "models" / "llama-3.1-8b.json").read_text()
)["config"]
SETUP = Setup("vllm", "bfloat16", "none")
LOAD = Load(8, 512, 128)

FAKE = {
    "__init__.py": "",
    "sdk/__init__.py": "",
    "sdk/backends/__init__.py": "",
    "sdk/perf_database.py": """
def get_latest_database_version(system, backend):
    return "0.24.0"


def get_database(system, backend, version):
    return (system, backend, version)
""",
    "sdk/config.py": """
class RuntimeConfig:
    def __init__(self, isl, osl, batch_size):
        self.isl, self.osl, self.batch_size = isl, osl, batch_size
""",
    "sdk/config_builders.py": """
def build_model_config(**values):
    return values
""",
    "sdk/models.py": """
def get_model(path, config, backend):
    return (path, config, backend)
""",
    "sdk/backends/factory.py": """
class FakeSummary:
    def __init__(self, figures):
        self.figures = figures

    def get_result_dict(self):
        return self.figures


class FakeBackend:
    def run_agg(self, model, database, load, ctx_tokens):
        path, config, backend = model
        if config["gemm_quant_mode"] == "int4_wo":
            raise RuntimeError("GEMM perf data missing for quant 'int4_wo'")
        if config["kvcache_quant_mode"] == "fp8":
            return FakeSummary({"tpot": float("nan"), "ttft": 1.0})
        if database != ("h100_sxm", backend, "0.24.0") or ctx_tokens != load.isl:
            raise RuntimeError(f"not these tables: {database}")
        if config["moe_quant_mode"] == "w4a16_mxfp4":
            return FakeSummary({"tpot": 7.0, "ttft": float("inf")})
        ranks = config["tp_size"] * config["pp_size"] * config["attention_dp_size"]
        tpot = 5.0 * config["moe_tp_size"] * config["moe_ep_size"] + 100 * ranks + load.batch_size
        return FakeSummary({"tpot": tpot if load.osl > 1 else 0.0, "ttft": 40.0})


def get_backend(name):
    return FakeBackend()
""",
}
"""Stands in for aiconfigurator-core, which is 114 MB and not installed with the tests: what is called of it."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps(CONFIG))
    return tmp_path / "model"


@pytest.fixture
def facts(folder: Path) -> ModelFacts:
    return describe(ModelFacts("llama", "folder", str(folder), "llama", None, None), CONFIG)


@pytest.fixture
def fake_aiconfigurator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = tmp_path / "site"
    for name, source in FAKE.items():
        path = top / "aiconfigurator_core" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    metadata = top / "aiconfigurator_core-0.12.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: aiconfigurator-core\nVersion: 0.12.0\n")
    monkeypatch.syspath_prepend(str(top))
    for name in [name for name in sys.modules if name.startswith("aiconfigurator_core")]:
        monkeypatch.delitem(sys.modules, name)


def test_the_roofline_answers_unless_another_is_named(facts: ModelFacts) -> None:
    speed = journey.speed(host("H100"), facts, SETUP, LOAD)
    assert speed == estimate(facts, devices(host("H100"))[0], SETUP, LOAD)
    assert speed.provider == "roofline"


@pytest.mark.parametrize(
    ("changed", "setup", "because"),
    [
        ({"anatomy": None, "unknown": {"anatomy": "nobody knows it"}}, SETUP, "nobody knows it"),
        ({}, replace(SETUP, stack="llamacpp"), "the wizard has no speed model for llama.cpp"),
    ],
)
def test_no_figure_is_an_error_with_its_reason(
    facts: ModelFacts, changed: dict[str, Any], setup: Setup, because: str
) -> None:
    with pytest.raises(InfeasibleError) as caught:
        journey.speed(host("H100"), replace(facts, **changed), setup, LOAD)
    assert caught.value.code == "TW-A10"
    assert because in caught.value.what


def test_a_file_of_llama_cpp_has_no_figure_whatever_was_asked(facts: ModelFacts) -> None:
    stored = replace(facts, quantization=Quantization("gguf", 8.5, "Q8_0", "gguf_q8_0"))
    with pytest.raises(InfeasibleError, match="TW-A10: there is no speed estimate for weights stored as Q8_0"):
        journey.speed(host("H100"), stored, replace(SETUP, quantization="gguf_q8_0"), LOAD)


def test_weights_that_exceed_the_memory_have_no_figure(facts: ModelFacts) -> None:
    device = replace(devices(host("H100"))[0], total_bytes=10**10)
    answer = Roofline().estimate(facts, device, SETUP, LOAD)
    assert not isinstance(answer, Speed)
    assert reasons.text(answer) == "the weights alone exceed the memory of 1 × NVIDIA H100 80GB HBM3"


def test_a_gpu_that_nothing_is_known_of_has_no_figure(facts: ModelFacts) -> None:
    device = replace(devices(host("H100"))[0], name="NVIDIA Something New", rates=None)
    answer = Roofline().estimate(facts, device, SETUP, LOAD)
    assert not isinstance(answer, Speed)
    assert reasons.text(answer) == "the speed of the NVIDIA Something New is unknown"


@pytest.mark.parametrize(
    ("hardware", "setup"),
    [
        ("2xH100", replace(SETUP, tp=4)),
        ("cpu", SETUP),
        ("H100", replace(SETUP, quantization="fp7")),
    ],
)
def test_what_cannot_be_asked_is_a_usage_error(facts: ModelFacts, hardware: str, setup: Setup) -> None:
    with pytest.raises(UsageError) as caught:
        journey.speed(host(hardware), facts, setup, LOAD)
    assert caught.value.code == "TW-A08"


def test_without_a_gpu_there_is_no_speed(facts: ModelFacts) -> None:
    with pytest.raises(UsageError) as caught:
        journey.speed(host("cpu"), facts, SETUP, LOAD)
    assert (caught.value.code, caught.value.what) == ("TW-A08", "speed estimates require a GPU, and cpu has none")
    with pytest.raises(UsageError) as caught:
        journey.speed(host("2xH100"), facts, replace(SETUP, tp=4), LOAD)
    assert caught.value.what == "tp 4 × pp 1 needs 4 identical GPUs; 2xH100 has no such group"


def test_aiconfigurator_that_is_not_installed(facts: ModelFacts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiconfigurator_core", None)
    with pytest.raises(UsageError) as caught:
        journey.speed(host("H100"), facts, SETUP, LOAD, provider="aiconfigurator")
    assert caught.value.code == "TW-A09"
    assert f"`{install('perf')}`" in caught.value.todo


@pytest.mark.usefixtures("fake_aiconfigurator")
def test_aiconfigurator_answers_and_says_so(facts: ModelFacts) -> None:
    speed = journey.speed(host("H100"), facts, SETUP, LOAD, provider="aiconfigurator")
    assert (speed.tpot_ms, speed.ttft_ms, speed.throughput_tokens_per_s) == (
        *(113.0, 40.0),
        pytest.approx(8 * 128 / (40.0 + 127 * 113.0) * 1e3),
    )
    assert speed.provider == "aiconfigurator-core 0.12.0, vllm 0.24.0"
    assert (speed.low, speed.high) == pytest.approx((113.0 / 1.31, 113.0 * 1.31))
    assert (speed.users, speed.isl, speed.osl) == (8, 512, 128)


@pytest.mark.usefixtures("fake_aiconfigurator")
@pytest.mark.parametrize(
    ("hardware", "setup", "because"),
    [
        ("A6000", SETUP, "no data for none weights on the NVIDIA RTX A6000"),
        ("H100", replace(SETUP, stack="transformers"), "with transformers"),
        ("H100", replace(SETUP, quantization="w4a8_awq"), "no data for w4a8_awq"),
        ("H100", replace(SETUP, quantization="int4_awq"), "GEMM perf data missing"),
        ("H100", replace(SETUP, kv_cache_dtype="fp8"), "it returned no number"),
    ],
)
def test_aiconfigurator_without_an_answer_says_why(
    facts: ModelFacts, hardware: str, setup: Setup, because: str
) -> None:
    answer = Aiconfigurator().estimate(facts, devices(host(hardware))[0], setup, LOAD)
    assert isinstance(answer, Reason)
    assert because in reasons.text(answer)


@pytest.mark.usefixtures("fake_aiconfigurator")
@pytest.mark.parametrize(("experts", "milliseconds"), [(0, 213.0), (8, 218.0)])
def test_aiconfigurator_is_told_of_a_split_of_experts_where_there_are_any(
    facts: ModelFacts, experts: int, milliseconds: float
) -> None:
    assert facts.anatomy
    model = replace(facts, anatomy=replace(facts.anatomy, experts=experts))
    speed = Aiconfigurator().estimate(model, devices(host("2xH100"))[0], replace(SETUP, tp=2), LOAD)
    assert isinstance(speed, Speed)
    assert speed.tpot_ms == milliseconds


@pytest.mark.usefixtures("fake_aiconfigurator")
def test_aiconfigurator_without_a_time_to_the_first_token(facts: ModelFacts) -> None:
    """Experts of MXFP4 have other names of formats, by GPU; then the answer begins after a token's time."""
    assert facts.anatomy
    model = replace(facts, anatomy=replace(facts.anatomy, experts=8))
    h100, setup = devices(host("H100"))[0], replace(SETUP, quantization="mxfp4")
    speed = Aiconfigurator().estimate(model, h100, setup, LOAD)
    assert isinstance(speed, Speed)
    assert (speed.tpot_ms, speed.ttft_ms) == (7.0, None)
    assert speed.throughput_tokens_per_s == pytest.approx(8 * 128 / (128 * 7.0) * 1e3)
    native = Aiconfigurator().estimate(model, replace(h100, compute_capability=(10, 0)), setup, LOAD)
    assert isinstance(native, Speed)
    assert native.tpot_ms == 113.0
    nothing = Aiconfigurator().estimate(facts, h100, SETUP, replace(LOAD, osl=1))
    assert isinstance(nothing, Reason)
    assert nothing.code == "no-number"


@pytest.mark.usefixtures("fake_aiconfigurator")
def test_aiconfigurator_is_never_given_a_model_that_it_would_fetch(facts: ModelFacts) -> None:
    remote = replace(facts, source="hub", location="someone/something")
    answer = Aiconfigurator().estimate(remote, devices(host("H100"))[0], SETUP, LOAD)
    assert not isinstance(answer, Speed)
    assert reasons.text(answer) == "it requires the model's config.json on disk"


def test_the_names_are_those_of_the_flag() -> None:
    assert set(PROVIDERS) == {"roofline", "aiconfigurator"}


def test_the_text_says_range_meaning_and_source() -> None:
    speed = Speed(10.0, 800.0, 200.0, 8.0, 12.0, "roofline", "good", "interconnect", 100.0, 400.0, 50.0, 800.0, 8)
    assert text(speed, Load(8)).splitlines() == [
        "10.0 ms per token (8.0 to 12.0): 100 tokens/s per user, 800 for all 8",
        "TTFT 200 ms for a 1,024-token prompt (100 to 400)",
        "This TTFT is for users who send the next prompt after each answer. It is 50 ms if no other prompt arrives "
        "meanwhile, and 800 ms for the last of 8 simultaneous ones.",
        "Most of the time goes to combining results across GPUs (interconnect).",
        "Load: 8 concurrent users, 1,024 tokens in, 256 out.",
        "Source: roofline; confidence: high.",
    ]


def test_the_text_of_many_users_says_who_waits() -> None:
    speed = Speed(10.0, 800.0, None, 8.0, 12.0, "roofline", "rough", "memory", served=8)
    assert "The KV cache holds only 8 of 20 users at once; the rest wait." in text(speed, Load(20)).splitlines()


@pytest.mark.parametrize(
    ("hardware", "setup", "load"),
    [
        ("8xH100", replace(SETUP, tp=3), LOAD),
        ("H100", replace(SETUP, quantization="w4a8_awq"), LOAD),
        ("2xH100", replace(SETUP, stack="transformers", tp=2), LOAD),
        ("H100", SETUP, replace(LOAD, isl=200_000)),
    ],
    ids=["heads", "format", "one GPU", "context"],
)
def test_no_figure_for_what_the_advice_refuses(facts: ModelFacts, hardware: str, setup: Setup, load: Load) -> None:
    with pytest.raises(InfeasibleError) as caught:
        journey.speed(host(hardware), facts, setup, load)
    assert caught.value.code == "TW-A11"
    assert caught.value.todo


def test_who_waits_is_counted_from_the_memory_breakdown(facts: ModelFacts) -> None:
    """The advice and the speed must not disagree on how many people the KV cache holds."""
    load = replace(LOAD, users=4, isl=1024, osl=256)
    device = devices(host("H100"))[0]
    held = [estimate(facts, device, SETUP, load, capacity) for capacity in (3 * 1280, 4 * 1280)]
    assert [speed and speed.served for speed in held] == [3, 4]


@pytest.mark.parametrize(
    ("speed", "load", "lines"),
    [
        (
            Speed(8.0, 125.0, None, None, None, "roofline", "fair"),
            Load(1, 2000, 1),
            [
                "8.0 ms per token (8.0 to 8.0): 125 tokens/s",
                "Load: 1 user, 2,000 tokens in, 1 out.",
                "Source: roofline; confidence: medium.",
            ],
        ),
        (
            Speed(8.0, None, 300.0, 6.0, 10.0, "gpu-bandwidth", "rough", "launch", ttft_alone_ms=300.0, served=2),
            Load(2, 1, 1),
            [
                "8.0 ms per token (6.0 to 10.0): 125 tokens/s per user, 0 for all 2",
                "TTFT 300 ms for a 1-token prompt",
                "Most of the time goes to kernel launches and scheduling.",
                "Load: 2 concurrent users, 1 tokens in, 1 out.",
                "Source: gpu-bandwidth; confidence: low.",
            ],
        ),
    ],
)
def test_the_text_leaves_out_what_is_unknown(speed: Speed, load: Load, lines: list[str]) -> None:
    assert text(speed, load).splitlines() == lines


@pytest.mark.parametrize(("isl", "refused"), [(131_072 - 128, False), (131_072 - 127, True)])
def test_prompt_and_answer_may_be_as_long_as_the_context_together(facts: ModelFacts, isl: int, refused: bool) -> None:
    assert facts.max_context == 131_072
    load = replace(LOAD, users=1, isl=isl)
    if refused:
        with pytest.raises(InfeasibleError, match="131,072 tokens of context; you requested 131,073"):
            journey.speed(host("H100"), facts, SETUP, load)
    else:
        assert journey.speed(host("H100"), facts, SETUP, load).isl == isl
