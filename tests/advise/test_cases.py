"""Files of cases: every one of ours is answered rightly, and what is no file of cases is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.advice.judging import ALL, faults
from tests.advise.test_speculation import EAGLE
from tests.advise.worlds import CONFIGS, LLAMA_8B
from tests.worded import text_of
from wizard.advise.advice import Advice
from wizard.advise.cases import Case, cases, constraints
from wizard.advise.cases import case as parse
from wizard.advise.ranking import advise
from wizard.kernel.errors import UsageError

LISTED: list[dict[str, Any]] = [
    case for path in ALL for case in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)["cases"]
]
CASES = {case["id"]: case for case in LISTED}
READ: dict[str, Case] = {name: case for path in ALL for name, case in cases(path) if not isinstance(case, UsageError)}
SHAPES = [name for name, case in CASES.items() if "config" not in case["model"]]


def answer(name: str) -> Advice:
    return advise(*READ[name])


def test_no_case_is_lost() -> None:
    assert list(READ) == list(CASES) == [case["id"] for case in LISTED]
    assert len(CASES) >= 84 + 113


@pytest.mark.parametrize("name", CASES)
def test_the_case_is_answered_rightly(name: str) -> None:
    wrong = list(faults(CASES[name], answer(name)))
    assert bool(wrong) == ("fault" in CASES[name]), wrong  # a fault that is known stays in the list until it is fixed


@pytest.mark.parametrize("name", CASES)
def test_the_case_says_why_and_where_from(name: str) -> None:
    case = CASES[name]
    assert case["why"]
    assert case["source"]
    assert "config" in case["model"] or case["model"]["config_source"]
    assert case["expected"]["feasible"] == bool(case["expected"]["acceptable"])
    assert case["expected"]["feasible"] or case["expected"]["codes"]


@pytest.mark.parametrize("name", SHAPES)
def test_parts_add_up_to_the_stated_parameters(name: str) -> None:
    _, facts, _ = READ[name]
    assert facts.anatomy is not None
    assert facts.anatomy.parts.total == CASES[name]["model"]["params"]


def test_the_judge_sees_what_is_wrong() -> None:
    name = "seed-a6000x4-llama3-70b-bf16"
    case, advice = CASES[name], answer(name)
    first = advice.choices[0]
    assert list(faults(case, replace(advice, choices=(replace(first, tp=2, quantization="none"),))))
    assert list(faults(case, replace(advice, choices=(*advice.choices, replace(first, quantization="fp8")))))
    assert list(faults(case, Advice(feasible=False)))
    assert list(faults(CASES["busy-h100-util-090"], answer("l4-driver-470")))
    ranked = CASES["seed-1gpu-llama2-7b-ensemble"]
    assert list(faults(ranked, Advice(feasible=True, choices=answer(ranked["id"]).choices[::-1])))
    pcie = CASES["trt-pro6000x4-llama33-70b-nvfp4-pp"]
    warned = next(choice for choice in answer(pcie["id"]).choices if choice.tp == 4 and choice.quantization == "nvfp4")
    rest = answer(pcie["id"]).choices
    assert list(faults(pcie, Advice(feasible=True, choices=(*rest, replace(warned, warnings=())))))


def file(where: Path, text: str) -> Path:
    path = where / "cases.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no `cases` list"),
        ("cases: 3", "no `cases` list"),
        ("cases: [", "it cannot be read or parsed"),
        ("!!python/object/apply:os.system [true]", "it cannot be read or parsed"),
        ("cases: " + "[" * 20_000, "it cannot be read or parsed"),
    ],
)
def test_an_invalid_cases_file_is_tw_a02(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        list(cases(file(tmp_path, text)))
    assert caught.value.code == "TW-A02"


NUMBERS = ("max_batch_size", "users", "max_model_len", "max_len", "max_gpus", "tp", "pp")
GOOD: dict[str, Any] = {
    "id": "a",
    "gpus": [{"name": "NVIDIA L4", "memory_mib": 23034, "cc": "8.9"}],
    "model": {"id": "a/b", "layers": 32, "hidden": 4096, "heads": 32, "vocab": 128256, "params": 8030261248}
    | {"max_position": 131072},
}


@pytest.mark.parametrize("field", ["id", "model"])
def test_a_case_that_is_nested_too_deeply(tmp_path: Path, field: str) -> None:
    path = file(tmp_path, f"cases: [{{{field}: {'[' * 5000 + ']' * 5000}}}, 3]")
    with pytest.raises(UsageError, match="nested too deeply"):
        list(cases(path))


def changed(part: str, **fields: Any) -> dict[str, Any]:
    """`GOOD` with other fields in one part; a field that is None is as good as not stated."""
    old = GOOD.get(part, {})
    return {**GOOD, part: [{**old[0], **fields}] if isinstance(old, list) else {**old, **fields}}


@pytest.mark.parametrize(
    ("case", "says"),
    [
        (3, "error in case 1: the case must be a mapping, not '3'"),
        ({"id": "a"}, "error in case a: `model` is missing"),
        ({**GOOD, "gpus": 3}, "error in case a: `gpus` must be a list, not '3'"),
        ({**GOOD, "gpus": ["L4"]}, "error in case a: entry 1 of `gpus` must be a mapping, not 'L4'"),
        ({**GOOD, "model": "a/b"}, "error in case a: `model` must be a mapping, not 'a/b'"),
        ({**GOOD, "request": [1]}, "error in case a: `request` must be a mapping, not '[1]'"),
        (changed("gpus", cc=None), "error in case a: `cc` is missing"),
        (changed("gpus", cc="new"), "error in case a: `cc` must be a compute capability like 8.9, not 'new'"),
        (changed("gpus", name=None), "error in case a: `name` is missing"),
        (changed("gpus", free_mib=-1), "error in case a: `free_mib` must be an integer from 0 to 23034, not '-1'"),
        (changed("gpus", count=0), "error in case a: `count` must be an integer from 1 to 64, not '0'"),
        (changed("model", id=None), "error in case a: `id` is missing"),
        (
            changed("model", layers="many"),
            "error in case a: `layers` must be an integer from 1 to 10000, not 'many'",
        ),
        (changed("model", mla=3), "error in case a: `mla` must be a mapping, not '3'"),
        (changed("model", sliding_window=3), "error in case a: `sliding_window` must be a mapping, not '3'"),
        (
            changed("model", experts=8, experts_per_token=9),
            "error in case a: `experts_per_token` must be an integer from 0 to 8, not '9'",
        ),
        (
            changed("request", goal="fun"),
            "error in case a: `goal` must be one of chat, documents, code, throughput, quality, smallest, not 'fun'",
        ),
        (
            changed("request", gpu_memory_utilization="all"),
            "error in case a: `gpu_memory_utilization` must be above 0 and at most 1, not 'all'",
        ),
    ],
)
def test_a_case_that_is_wrong_says_which_field_and_ends_nothing(tmp_path: Path, case: Any, says: str) -> None:
    (name, wrong), (other, right) = cases(file(tmp_path, yaml.safe_dump({"cases": [case, {**GOOD, "id": "b"}]})))
    assert isinstance(wrong, UsageError)
    assert (name, wrong.code, wrong.what) == ("a" if isinstance(case, dict) else "1", "TW-A02", says)
    assert other == "b"
    assert not isinstance(right, UsageError)


LIMITS = {
    "layers": (1, 10_000),
    "hidden": (1, 10**6),
    "heads": (1, 10**5),
    "kv_heads": (1, 10**15),
    "head_dim": (1, 10**5),
    "ffn": (0, 10**8),
    "vocab": (1, 10**8),
    "params": (1, 10**15),
    "max_position": (1, 10**9),
    "experts": (0, 10**5),
    "experts_per_token": (0, 8),
    "moe_layers": (0, 10_000),
    "moe_ffn": (0, 10**8),
    "shared_expert_ffn": (0, 10**8),
}
"""Number of a model with 8 experts → its least and greatest value."""


def problem(case: dict[str, Any]) -> str:
    """The message that the case is refused with; empty if it is accepted."""
    try:
        parse(case)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("field", LIMITS)
def test_a_number_of_a_model_is_accepted_exactly_within_its_limits(field: str) -> None:
    least, most = LIMITS[field]
    model = {**GOOD["model"], "experts": 8}
    assert {problem({**GOOD, "model": {**model, field: value}}) for value in (least, most)} == {""}
    for value in (least - 1, most + 1):
        expected = f"`{field}` must be an integer from {least} to {most}, not '{value}'"
        assert problem({**GOOD, "model": {**model, field: value}}) == expected


@pytest.mark.parametrize(
    ("part", "field", "least", "most"),
    [("gpus", "count", 1, 64), ("gpus", "memory_mib", 1, 10**15), *((("request", name, 1, 10**9)) for name in NUMBERS)],
)
def test_a_number_of_a_machine_or_request_is_accepted_exactly_within_its_limits(
    part: str, field: str, least: int, most: int
) -> None:
    assert {problem(changed(part, **{field: value})) for value in (least, most)} == {""}
    for value in (least - 1, most + 1):
        assert problem(changed(part, **{field: value})) == (
            f"`{field}` must be an integer from {least} to {most}, not '{value}'"
        )


@pytest.mark.parametrize(("share", "accepted"), [(0, False), (0.01, True), (1, True), (1.01, False), (True, False)])
def test_a_share_of_the_memory_is_above_0_and_at_most_1(share: object, accepted: bool) -> None:
    message = "" if accepted else f"`gpu_memory_utilization` must be above 0 and at most 1, not '{share}'"
    assert problem(changed("request", gpu_memory_utilization=share)) == message


def test_what_is_not_stated_follows_from_the_rest() -> None:
    facts = parse(GOOD)[1]
    assert (facts.kv_heads, facts.head_dim, facts.intermediate_size) == (32, 128, 0)
    assert (facts.experts, facts.experts_per_token, facts.dtype) == (None, None, "bfloat16")
    assert facts.anatomy is not None
    assert [(row.layers, row.kv_heads, row.window) for row in facts.anatomy.attention] == [(32, 32, None)]
    narrow = parse(changed("model", head_dim=None, heads=10**5, hidden=8))[1]
    assert narrow.head_dim == 1


@pytest.mark.parametrize(
    ("window", "rows"),
    [
        ({"window": 4096}, [(32, 4096)]),
        ({"window": 4096, "layers": 20}, [(12, None), (20, 4096)]),
        ({"window": 4096, "layers": 0}, [(32, None)]),
        ({"window": 131072}, [(32, None)]),
        ({"window": 131071}, [(32, 131071)]),
    ],
)
def test_a_window_counts_only_where_it_is_shorter_than_the_context(
    window: dict[str, int], rows: list[tuple[int, int | None]]
) -> None:
    anatomy = parse(changed("model", sliding_window=window))[1].anatomy
    assert anatomy is not None
    assert [(row.layers, row.window) for row in anatomy.attention] == rows


def test_a_file_that_is_not_there_is_refused_as_tw_a02(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        list(cases(tmp_path / "none.yaml"))
    assert caught.value.code == "TW-A02"


def test_a_case_may_ask_for_a_runtime_and_a_python() -> None:
    asked = constraints({"runtime": "native", "engine_python": "/opt/venv/bin/python"})
    assert (asked.runtime, asked.engine_python) == ("native", "/opt/venv/bin/python")
    with pytest.raises(ValueError, match="runtime"):
        constraints({"runtime": "lxc"})


LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2}
LLAMA |= {"num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 1000, "max_position_embeddings": 2048}


def test_a_model_may_be_described_by_its_config() -> None:
    facts = parse({**GOOD, "model": {"id": "a/tiny", "config": LLAMA}})[1]
    assert (facts.name, facts.architecture, facts.layers, facts.source) == ("tiny", "LlamaForCausalLM", 2, "case")
    file = {"id": "a/tiny", "config": LLAMA, "gguf": "Q8_0", "weight_bytes": 1000}
    stored = parse({**GOOD, "model": file})[1]
    assert stored.quantization is not None
    assert (stored.quantization.format, stored.weight_bytes) == ("gguf_q8_0", 1000)
    assert [each.format for each in stored.weights] == ["gguf"]


def test_a_machine_has_the_stated_fields_and_keeps_the_others() -> None:
    host = parse({**GOOD, "machine": {"system": {"libc": "glibc 2.28"}, "engines": []}})[0]
    assert (host.system.libc, host.system.name, host.engines) == ("glibc 2.28", "unknown", ())
    assert [gpu.name for gpu in host.gpus] == ["NVIDIA L4"]


@pytest.mark.parametrize(
    ("case", "says"),
    [
        ({**GOOD, "machine": {"ram": 3}}, "machine.ram"),
        ({**GOOD, "machine": {"system": {"glibc": "2.28"}}}, "machine.system.glibc"),
        ({**GOOD, "machine": {"memory_total_bytes": -1}}, "host.memory_total_bytes is -1"),
        ({**GOOD, "machine": {"system": 3}}, "`machine` is invalid: system"),
        ({**GOOD, "machine": [3]}, "`machine` must be a mapping, not '[3]'"),
        ({**GOOD, "model": {"id": "a", "config": "llama"}}, "`config` must be a mapping, not 'llama'"),
        ({**GOOD, "model": {"id": "a", "config": {**LLAMA, "num_hidden_layers": -1}}}, "num_hidden_layers"),
    ],
)
def test_a_machine_or_config_that_is_wrong_says_which_field(case: dict[str, Any], says: str) -> None:
    assert says in problem(case)


def test_only_gpus_model_and_request_are_read(tmp_path: Path) -> None:
    case = CASES["seed-a6000x4-llama3-70b-bf16"]
    bare = {key: case[key] for key in ("id", "gpus", "model", "request")}
    ((_, parsed),) = cases(file(tmp_path, yaml.safe_dump({"cases": [bare]})))
    assert parsed == READ[case["id"]]


_scalars = st.one_of(st.none(), st.booleans(), st.integers(-2, 2**40), st.floats(), st.text(max_size=4), st.just("8.0"))
_anything = st.one_of(
    _scalars, st.lists(_scalars, max_size=2), st.dictionaries(st.text(max_size=4), _scalars, max_size=2)
)


def test_a_gpu_that_is_smaller_than_what_the_driver_keeps(tmp_path: Path) -> None:
    case = CASES["4090x2-gpt-oss-120b"]
    case = {"id": "tiny", "model": case["model"], "gpus": [{**case["gpus"][0], "memory_mib": 1}]}
    ((_, parsed),) = cases(file(tmp_path, yaml.safe_dump({"cases": [case]})))
    assert not isinstance(parsed, UsageError)
    advice = advise(*parsed)
    assert not advice.feasible
    assert "exceed the 0 B available" in text_of(advice.rejections[0])


@given(st.sampled_from(sorted(CASES)), st.data())
def test_any_file_gives_advice_or_tw_a02(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    case = {key: CASES[name][key] for key in ("id", "gpus", "machine", "model", "request") if key in CASES[name]}
    part = data.draw(st.sampled_from(sorted(case)))
    if isinstance(case[part], dict):
        field = data.draw(st.sampled_from(sorted(case[part])))
        case[part] = {**case[part], field: data.draw(_anything)}
    elif part == "gpus" and case[part]:
        field = data.draw(st.sampled_from(["name", "count", "memory_mib", "cc", "nvlink", "mig", "free_mib", "driver"]))
        case[part] = [{**case[part][0], field: data.draw(_anything)}]
    else:
        case[part] = data.draw(_anything)
    path = file(tmp_path_factory.mktemp("cases"), yaml.safe_dump({"cases": [case]}))
    ((_, parsed),) = cases(path)
    if isinstance(parsed, UsageError):
        return
    advice = advise(*parsed)
    assert advice.feasible or advice.rejections


def test_a_draft_model_is_described_beside_the_model() -> None:
    drafted = {"id": "me/eagle3", "config": EAGLE, "weight_bytes": 850_000_000}
    model = {"id": LLAMA_8B, "config": CONFIGS[LLAMA_8B]}
    request = {"speculative": "eagle3", "stack": "vllm", "runtime": "native"}
    h100 = {"name": "NVIDIA H100 80GB HBM3", "memory_mib": 81559, "cc": "9.0"}
    entry = {"gpus": [h100], "model": model, "draft": drafted, "request": request}
    host, facts, asked = parse(entry)
    assert asked.draft == "me/eagle3"
    assert advise(host, facts, asked).choices[0].draft == facts.draft
    with pytest.raises(ValueError, match="beside `model`"):
        parse({**entry, "draft": None, "request": {"draft": "me/eagle3"}})
