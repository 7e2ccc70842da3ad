"""Every command of TensorRT-LLM's stacks, against what the real tools of each release accept."""

from __future__ import annotations

import re
import sys
from itertools import product

import pytest

from tests.plan import contracts
from tests.plan.contracts import broken, neighbours, options, violations
from tests.stacks.trtllm_values import ARCHITECTURES, AWQ, GPTQ, LLAMA, TAGS, choice, inside, model, planned
from wizard.catalog.trtllm_tools import tools, version_of
from wizard.kernel.errors import InfeasibleError
from wizard.plan.options import Options
from wizard.texts.errors import user_errors

FORMATS = ("none", *(scheme.name for scheme in tools().formats))
SPLITS = ((1, 1), (2, 1), (1, 2), (2, 2))
REFUSALS = {"TW-L41", "TW-L42", "TW-L43", "TW-L45", "TW-L46", "TW-L47", "TW-L48"}
VERSIONS = sorted(TAGS, key=version_of)


def wrong(version: str, facts: object, *args: object, **changes: object) -> list[str] | None:
    """What is wrong with the commands of a plan, or None where it was refused."""
    try:
        with user_errors():
            steps = planned(facts, choice(version, *args, **changes))  # type: ignore[arg-type]
    except InfeasibleError as error:
        return None if error.code in REFUSALS else [str(error)]
    # The wizard's own commands are those of its interpreter: fetching and asking.
    return [text for argv in inside(steps) if argv[0] != sys.executable for text in violations(argv, version)]


@pytest.mark.parametrize("version", VERSIONS)
def test_llama_by_every_format_split_and_cache(version: str) -> None:
    violated = {
        (name, split, kv): wrong(version, LLAMA, name, tp=split[0], pp=split[1], kv=kv)
        for name, split, kv in product(FORMATS, SPLITS, ("auto", "fp8"))
    }
    assert {key: texts for key, texts in violated.items() if texts} == {}
    made = {key for key, texts in violated.items() if texts is not None}
    assert {(name, split, "auto") for name, split in product(("none", "int8_wo", "int4_wo"), SPLITS)} <= made
    calibrated = ("none", "fp8", "int8_sq", "int4_awq", "w4a8_awq", "int8_wo", "int4_wo")
    assert set(product(calibrated, SPLITS, ("auto", "fp8"))) <= made


@pytest.mark.parametrize("version", VERSIONS)
def test_every_family(version: str) -> None:
    setups = (("none", (1, 1)), ("none", (2, 1)), ("none", (1, 2)), ("int4_wo", (2, 1)), ("fp8", (1, 1)))
    cases = [(name, how, split) for name, (how, split) in product(ARCHITECTURES, setups)]
    violated = {
        (name, how, split): wrong(version, model(name), how, tp=split[0], pp=split[1], dtype=dtype)
        for (name, how, split), dtype in zip(cases, ("float16", "bfloat16") * len(cases), strict=False)
    }
    assert {key: texts for key, texts in violated.items() if texts} == {}
    families = [
        family
        for family in tools().families
        if any(violated[name, "none", (1, 1)] is not None for name in family.architectures)
    ]
    assert len(families) >= (8 if version_of(version) < (0, 10) else 12)


@pytest.mark.parametrize("version", [version for version in VERSIONS if version_of(version) >= (0, 16)])
@pytest.mark.parametrize("stored", [AWQ, GPTQ], ids=["awq", "gptq"])
def test_published_quantisations(version: str, stored: object) -> None:
    facts = model("LlamaForCausalLM", stored)  # type: ignore[arg-type]
    assert wrong(version, facts, facts.quantization.format) == []  # type: ignore[union-attr]


@pytest.mark.parametrize("version", VERSIONS)
def test_lengths_that_a_recipe_settles(version: str) -> None:
    steps = planned(LLAMA, choice(version), Options(max_input_len=1024))
    assert [text for argv in inside(steps) if argv[0] != sys.executable for text in violations(argv, version)] == []


@pytest.mark.parametrize("version", [version for version in VERSIONS if version_of(version) >= (0, 19)])
def test_the_llm_api_calls_no_tool(version: str) -> None:
    assert wrong(version, LLAMA, stack="trtllm-llmapi") == []
    assert wrong(version, LLAMA, stack="trtllm-llmapi", tp=2, pp=2) == []


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("examples/llama/convert_checkpoint.py", "--model_dir m --enable_fp8", "unknown flag --enable_fp8"),
        ("examples/llama/convert_checkpoint.py", "--dtype float8", "--dtype takes one of"),
        ("examples/llama/convert_checkpoint.py", "--tp_size two", "--tp_size takes a number"),
        ("examples/llama/convert_checkpoint.py", "--use_weight_only int8", "--use_weight_only takes 0 to 0 values"),
        ("examples/llama/convert_checkpoint.py", "--tp_size", "--tp_size takes 1 to 1 values"),
        ("examples/run.py", "--engine_dir e", "--max_output_len is missing"),
        ("examples/gemma/convert_checkpoint.py", "--ckpt-type hf --output-model-dir o", "--model-dir is missing"),
        ("tensorrt_llm/commands/build.py", "--max_seq_len 4096", "unknown flag --max_seq_len"),
        ("tensorrt_llm/commands/build.py", "--gemm_plugin auto", "--gemm_plugin takes one of"),
        ("tensorrt_llm/commands/build.py", "--context_fmha true", "--context_fmha takes one of"),
    ],
)
def test_the_checker_sees_what_is_wrong(tool: str, arguments: str, text: str) -> None:
    (contract,) = neighbours("0.10.0")
    assert any(violation.startswith(text) for violation in broken(options(contract, tool), arguments.split()))


def test_a_plan_of_another_release_is_wrong_here() -> None:
    """The checker is no rubber stamp: a newer plan's commands break an older contract, and the other way round."""
    new = [argv for argv in inside(planned(LLAMA, choice("0.13.0"))) if argv[0] != sys.executable]
    old = [argv for argv in inside(planned(LLAMA, choice("0.10.0"))) if argv[0] != sys.executable]
    assert any("--max_seq_len" in text for argv in new for text in violations(argv, "0.10.0"))
    assert any("--max_output_len" in text for argv in old for text in violations(argv, "0.13.0"))


def test_every_tool_of_a_contract_is_called_by_some_plan() -> None:
    called = set()
    for version, how, split in product(("0.9.0", "0.10.0", "0.13.0"), ("none", "fp8"), (1, 2)):
        for name in ARCHITECTURES:
            try:
                steps = planned(model(name), choice(version, how, tp=split))
            except InfeasibleError:
                continue
            for argv in inside(steps):
                if argv[0] != sys.executable and (call := contracts.tool_of(argv)):
                    called.add(call[0])
    known = {tool for contract in contracts.contracts().values() for tool in contract}
    # fill_template.py is shown as the equivalent, utils.py and plugin.py are parts of others, 0.7's build.py is in no
    # image that builds engines, trtllm-serve and internlm are no part of these stacks.
    others = r"fill_template|utils\.py|plugin\.py|serve\.py|internlm|llama/build\.py"
    assert {tool for tool in known - called if not re.search(others, tool)} == set()
