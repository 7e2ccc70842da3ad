"""The plan of a TensorRT-LLM engine: what is made from what, in which order, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stacks.trtllm_values import AWQ, GPTQ, LLAMA, TAGS, choice, command, inside, model, planned, runtime
from wizard.catalog.trtllm_tools import version_of
from wizard.kernel.errors import InfeasibleError
from wizard.kernel.units import GIB
from wizard.model.facts import Quantization
from wizard.plan.artefacts import fingerprints
from wizard.plan.options import Options
from wizard.plan.plan import Command, Plan, Start, Step, Wait, Write
from wizard.plan.ports import Ports
from wizard.plan.summary import cost
from wizard.probe.shorthand import host
from wizard.stacks.trtllm_engine import plan as trtllm_engine
from wizard.texts.errors import user_errors


def ids(steps: tuple[Step, ...]) -> list[str]:
    return [step.id for step in steps]


def values(argv: tuple[str, ...]) -> dict[str, str]:
    """Flag → the word after it."""
    return {flag: value for flag, value in pairwise(argv) if flag.startswith("--")}


def named(steps: tuple[Step, ...], name: str) -> Step:
    (match,) = [step for step in steps if step.id == name]
    return match


def test_the_order() -> None:
    """What is quick and can fail goes before what is long: the flags are checked before the weights are fetched."""
    made = ["image", "sources", "check", "model", "checkpoint", "engine", "engine-test", "repository"]
    assert ids(planned(LLAMA, choice("0.13.0"))) == [*made, "start", "ready", "question"]


def test_every_step_teaches() -> None:
    for step in planned(LLAMA, choice("0.13.0", "int4_awq", tp=2)):
        assert len(step.why) > 60
        assert step.title


def test_a_calibrated_format_is_quantised_and_not_converted() -> None:
    steps = planned(LLAMA, choice("0.13.0", "int4_awq", tp=2))
    argv = command(steps, "quantize.py")
    assert values(argv)["--qformat"] == "int4_awq"
    assert values(argv)["--awq_block_size"] == "128"
    assert values(argv)["--tp_size"] == "2"
    assert not any("convert_checkpoint.py" in word for argv in inside(steps) for word in argv)


def test_an_fp8_cache_is_calibrated_whatever_the_weights_are() -> None:
    argv = command(planned(LLAMA, choice("0.13.0", kv="fp8")), "quantize.py")
    assert values(argv)["--qformat"] == "full_prec"
    assert values(argv)["--kv_cache_dtype"] == "fp8"


@pytest.mark.parametrize("version", ["0.9.0", "0.13.0", "1.2.1"])
def test_tp_is_never_passed_to_trtllm_build(version: str) -> None:
    steps = planned(LLAMA, choice(version, tp=2, pp=2))
    assert {"--tp_size", "--pp_size"}.isdisjoint(command(steps, "trtllm-build"))
    assert values(command(steps, "trtllm-build"))["--workers"] == "4"
    converted = values(command(steps, "convert_checkpoint.py"))
    assert (converted["--tp_size"], converted["--pp_size"]) == ("2", "2")


@pytest.mark.parametrize("version", TAGS)
def test_lengths_add_up(version: str) -> None:
    """Up to 0.10 the engine holds prompt plus answer; from 0.11 on one flag says both together."""
    flags = values(command(planned(LLAMA, choice(version, length=2048)), "trtllm-build"))
    if version_of(version) < (0, 11):
        assert int(flags["--max_input_len"]) + int(flags["--max_output_len"]) == 2048
    else:
        assert flags["--max_seq_len"] == "2048"
        assert int(flags["--max_input_len"]) <= 2048


@given(length=st.integers(2, 200_000), prompt=st.none() | st.integers(1, 200_000))
def test_lengths_are_never_nothing_and_never_more_than_was_counted(length: int, prompt: int | None) -> None:
    for version in ("0.10.0", "0.13.0"):
        steps = planned(LLAMA, choice(version, length=length), Options(max_input_len=prompt))
        flags = values(command(steps, "trtllm-build"))
        assert int(flags["--max_input_len"]) >= 1
        if "--max_seq_len" in flags:
            assert int(flags["--max_input_len"]) <= int(flags["--max_seq_len"]) == length
        else:
            assert int(flags["--max_input_len"]) + int(flags["--max_output_len"]) == length


@pytest.mark.parametrize(
    ("version", "length", "tokens"), [("0.13.0", 1024, "8192"), ("0.13.0", 32768, "32768"), ("0.10.0", 32768, None)]
)
def test_a_long_prompt_fits_into_one_step(version: str, length: int, tokens: str | None) -> None:
    argv = command(planned(LLAMA, choice(version, length=length)), "trtllm-build")
    assert values(argv).get("--max_num_tokens") == tokens


def test_a_recipes_lengths_are_kept() -> None:
    made = planned(LLAMA, choice("0.10.0", length=1536), Options(max_input_len=1024))
    flags = values(command(made, "trtllm-build"))
    assert (flags["--max_input_len"], flags["--max_output_len"]) == ("1024", "512")


def test_plugins_choose_their_dtype_where_they_can() -> None:
    assert (
        values(command(planned(LLAMA, choice("0.10.0", dtype="bfloat16")), "trtllm-build"))["--gemm_plugin"]
        == "bfloat16"
    )
    assert (
        values(command(planned(LLAMA, choice("0.11.0", dtype="bfloat16")), "trtllm-build"))["--gemm_plugin"] == "auto"
    )


@pytest.mark.parametrize(
    ("version", "tp", "files"),
    [
        ("0.9.0", 1, ["config.json", "rank0.engine"]),
        ("0.13.0", 2, ["config.json", "rank0.engine", "rank1.engine"]),
    ],
)
def test_a_partial_engine_is_never_accepted(version: str, tp: int, files: list[str]) -> None:
    """The tool writes beside the engine's place; only a whole engine is moved there; the step promises every rank."""
    step = named(planned(LLAMA, choice(version, tp=tp)), "engine")
    assert [Path(file).name for file in step.done.files] == files
    commands = [action for action in step.actions if isinstance(action, Command)]
    engine = str(Path(step.done.files[0]).parent)
    assert commands[-1].argv == ("mv", "-T", f"{engine}.partial", engine)
    assert f"{engine}.partial" in commands[-2].argv
    assert engine not in commands[-2].argv
    assert commands[-3].argv == ("rm", "-rf", f"{engine}.partial", engine)


def test_a_new_engine_is_tested_again() -> None:
    steps = planned(LLAMA, choice("0.13.0"))
    (marker,) = named(steps, "engine-test").done.files
    assert any(marker in action.argv for action in named(steps, "engine").actions if isinstance(action, Command))


@pytest.mark.parametrize("other", [("0.13.0", "int8_sq"), ("0.13.0", "fp8", "fp8"), ("0.14.0", "fp8")])
def test_an_engine_of_another_checkpoint_is_another_engine(other: tuple[str, ...]) -> None:
    """trtllm-build may say the same of two checkpoints; an engine of one is not taken for an engine of the other."""
    version, how, kv = (*other, "auto")[:3]
    first = planned(LLAMA, choice("0.13.0", "fp8"))
    second = planned(LLAMA, choice(version, how, kv=kv))
    for name in ("checkpoint", "engine"):
        assert fingerprints(first)[name] != fingerprints(second)[name]
    assert fingerprints(planned(LLAMA, choice("0.13.0", "fp8"))) == fingerprints(first)


def test_an_engine_is_rebuilt_by_another_release_and_on_another_gpu() -> None:
    """What a resumed workspace skips is known by fingerprints: an engine loads where and by what it was built."""

    def made(version: str, machine: str) -> dict[str, str]:
        return fingerprints(planned(LLAMA, choice(version), machine=machine))

    first = made("0.13.0", "1xL4")
    assert made("0.13.0", "1xL4") == first
    for other in (made("0.14.0", "1xL4"), made("0.13.0", "1xA100")):
        assert {"engine", "start"} <= {name for name in first if first[name] != other[name]}
    *_, note = named(planned(LLAMA, choice("0.13.0"), machine="1xL4"), "engine").actions
    assert note == Write("/w/servers/demo/engine.gpus.json", '{"8.9": "NVIDIA L4"}\n')


def test_ranks_are_started_by_mpi() -> None:
    steps = planned(LLAMA, choice("0.13.0", tp=2))
    assert command(steps, "examples/run.py")[:4] == ("mpirun", "--allow-run-as-root", "-n", "2")
    (start,) = [action for action in named(steps, "start").actions if isinstance(action, Start)]
    assert [Path(word).name for word in start.argv[1:3]] == ["launch_and_wait.py", "launch_triton_server.py"]
    assert values(start.argv)["--world_size"] == "2"
    assert start.container
    assert "--env=OMPI_MCA_odls_base_sigkill_timeout=5" in start.container.options
    brought = {Path(action.path).name for action in named(steps, "sources").actions if isinstance(action, Write)}
    assert brought == {"check_tools.py", "launch_and_wait.py"}


def test_one_rank_is_started_by_triton_itself() -> None:
    steps = planned(LLAMA, choice("0.13.0"))
    (start,) = [action for action in named(steps, "start").actions if isinstance(action, Start)]
    assert start.argv[0] == "tritonserver"
    assert command(steps, "examples/run.py")[0] == "python3"


def test_the_ensemble_is_what_is_waited_for() -> None:
    (wait,) = named(planned(LLAMA, choice("0.13.0")), "ready").actions
    assert isinstance(wait, Wait)
    assert wait.model == "ensemble"


@pytest.mark.parametrize("bls", [True, False])
def test_bls_is_kept_or_left_out(bls: bool) -> None:
    step = named(planned(LLAMA, choice("0.13.0"), Options(bls=bls)), "repository")
    written = {Path(action.path).parts[-2] for action in step.actions if isinstance(action, Write)}
    copied = {
        Path(action.argv[-1]).parts[-2]
        for action in step.actions
        if isinstance(action, Command) and "cp" in action.argv
    }
    assert ("tensorrt_llm_bls" in written) is bls
    assert copied == {"preprocessing", "postprocessing"} | ({"tensorrt_llm_bls"} if bls else set())


def test_the_kv_cache_takes_the_share_that_was_chosen() -> None:
    step = named(planned(LLAMA, replace(choice("0.13.0"), kv_cache_fraction=0.43)), "repository")
    (config,) = [
        action.text for action in step.actions if isinstance(action, Write) and "/tensorrt_llm/config" in action.path
    ]
    assert 'key: "kv_cache_free_gpu_mem_fraction"\n  value {\n    string_value: "0.43"' in config


def test_another_model_is_served_beside_the_engine() -> None:
    alone, both = planned(LLAMA, choice("0.13.0")), planned(LLAMA, choice("0.13.0"), Options(beside="transformers"))
    files = [
        {
            Path(action.path).parts[-2]: action.text
            for action in named(steps, "repository").actions
            if isinstance(action, Write)
        }
        for steps in (alone, both)
    ]
    assert "transformers" in files[1]
    assert "transformers" not in files[0]
    assert "max_tokens_in_paged_kv_cache" in files[1]["tensorrt_llm"]  # the engine leaves memory to the other
    assert "max_tokens_in_paged_kv_cache" not in files[0]["tensorrt_llm"]
    assert ids(both).index("engine-test") < ids(both).index("engine-environment") < ids(both).index("repository")


def test_scripts_are_cloned_at_the_releases_tag_or_taken_from_the_image() -> None:
    clones = [argv for argv in inside(planned(LLAMA, choice("0.17.0.post1"))) if argv[:2] == ("git", "clone")]
    assert [argv[argv.index("--branch") + 1] for argv in clones] == ["v0.17.0", "v0.17.0"]
    newer = planned(LLAMA, choice("1.0.3.2510"))
    assert not any(argv[0] == "git" for argv in inside(newer))
    copies = [
        action for action in named(newer, "sources").actions if isinstance(action, Command) and "sh" in action.argv
    ]
    assert any("/app/examples" in action.argv for action in copies)


@pytest.mark.parametrize(("version", "library"), [("0.9.0", "nvidia-ammo~=0.7.3")])
def test_ammo_is_brought_where_quantize_imports_it(version: str, library: str) -> None:
    steps = planned(LLAMA, choice(version, "int4_awq"))
    assert any(library in argv for argv in inside(steps))
    (run,) = [
        action
        for action in named(steps, "checkpoint").actions
        if isinstance(action, Command) and "docker" in action.argv
    ]
    assert any(word.startswith("--env=PYTHONPATH=") for word in run.argv)
    assert not any(library in argv for argv in inside(planned(LLAMA, choice(version))))


def test_no_library_is_brought_where_the_image_has_it() -> None:
    assert not any("pip" in argv for argv in inside(planned(LLAMA, choice("0.10.0", "int4_awq"))))


def test_what_is_checked_is_what_is_called() -> None:
    """The flags that the check step expects are the very arguments of the commands that come later."""
    steps = planned(LLAMA, choice("0.13.0", "fp8", tp=2))
    (expected,) = [
        action
        for action in named(steps, "check").actions
        if isinstance(action, Write) and action.path.endswith(".json")
    ]
    tools = {load["tool"]: load for load in json.loads(expected.text)["tools"]}
    assert set(tools) == {"quantize.py", "trtllm-build", "run.py", "launch_triton_server.py"}
    for name, tool in tools.items():
        argv = command(steps, name)
        arguments = [word for pair in tool["arguments"] for word in pair if word is not None]
        assert list(argv[len(argv) - len(arguments) :]) == arguments


def test_phi_of_010_gets_its_variant() -> None:
    long = model("Phi3ForCausalLM", max_context=131072)
    assert (
        values(command(planned(long, choice("0.10.0")), "convert_checkpoint.py"))["--model_type"]
        == "Phi-3-mini-128k-instruct"
    )
    short = model("Phi3ForCausalLM", max_context=4096)
    assert (
        values(command(planned(short, choice("0.10.0")), "convert_checkpoint.py"))["--model_type"]
        == "Phi-3-mini-4k-instruct"
    )
    assert "--model_type" not in command(planned(long, choice("0.11.0")), "convert_checkpoint.py")


def test_gemma_spells_its_flags_differently() -> None:
    argv = command(planned(model("GemmaForCausalLM"), choice("0.13.0", "int8_wo", tp=2)), "convert_checkpoint.py")
    flags = values(argv)
    assert (flags["--ckpt-type"], flags["--world-size"], flags["--use-weight-only-with-precision"]) == (
        "hf",
        "2",
        "int8",
    )
    assert {"--model_dir", "--output_dir", "--use_weight_only"}.isdisjoint(argv)


@pytest.mark.parametrize(
    ("vocabulary", "width", "name"),
    [(64000, 4096, "v1_7b"), (64000, 5120, "v1_13b"), (125696, 4096, "v2_7b"), (125696, 5120, "v2_13b")],
)
def test_baichuan_gets_its_version(vocabulary: int, width: int, name: str) -> None:
    facts = model("BaichuanForCausalLM", vocabulary=vocabulary)
    argv = command(planned(replace(facts, hidden_size=width), choice("0.13.0")), "convert_checkpoint.py")
    assert values(argv)["--model_version"] == name


def test_the_disk_is_counted_for_checkpoint_and_engine() -> None:
    steps = planned(LLAMA, choice("0.13.0", "int4_awq"))
    weights = choice("0.13.0").memory.weights_bytes
    assert named(steps, "checkpoint").estimate.disk_bytes == named(steps, "engine").estimate.disk_bytes == weights


def test_an_unmeasured_time_is_not_shown() -> None:
    steps = planned(LLAMA, choice("0.13.0"))
    assert cost(named(steps, "engine").estimate).startswith("time unknown · ")
    plan = Plan("demo", "/w", "demo", LLAMA, choice("0.13.0"), steps)
    assert cost(plan.estimate).startswith("more than ")
    assert cost(replace(plan.estimate, unknown=False)).startswith("about ")


def refused(code: str, facts: object, *args: object, machine: str = "4xH100", **changes: object) -> InfeasibleError:
    with pytest.raises(InfeasibleError) as caught, user_errors():
        planned(facts, choice(*args, **changes), machine=machine)  # type: ignore[arg-type]
    assert caught.value.code == code
    assert caught.value.todo
    return caught.value


def test_an_unknown_image() -> None:
    chosen = replace(choice("0.13.0"), release="24.99-trtllm-python-py3")
    with pytest.raises(InfeasibleError, match=r"24\.99") as caught, user_errors():
        planned(LLAMA, chosen)
    assert caught.value.code == "TW-L40"


@pytest.mark.parametrize("tag", ["23.12", "24.01", "24.02", "24.03"])
def test_an_image_without_the_build_tools_is_refused_with_the_nearest_that_has_them(tag: str) -> None:
    with pytest.raises(InfeasibleError, match=tag) as caught, user_errors():
        planned(LLAMA, replace(choice("0.13.0"), release=f"{tag}-trtllm-python-py3"))
    assert caught.value.code == "TW-L47"
    assert "--release 24.04" in caught.value.todo


def test_a_model_without_a_script() -> None:
    refused("TW-L41", model("DeepseekV3ForCausalLM"), "0.13.0")
    refused("TW-L41", replace(LLAMA, architecture=None), "0.13.0")
    assert "0.10.0" in refused("TW-L41", model("Phi3ForCausalLM"), "0.9.0").todo


def test_a_format_before_its_time_or_without_a_tool() -> None:
    refused("TW-L42", LLAMA, "0.17.0", "nvfp4")
    refused("TW-L42", LLAMA, "0.13.0", "int4_gptq")
    refused("TW-L42", model("Phi3ForCausalLM"), "0.10.0", "int8_wo")


def test_a_split_that_a_script_does_not_know() -> None:
    refused("TW-L43", model("Phi3ForCausalLM"), "0.10.0", tp=2)
    refused("TW-L43", model("PhiForCausalLM"), "0.9.0", tp=2)
    assert "newer" in refused("TW-L43", model("PhiForCausalLM"), "0.9.0", tp=2).todo
    assert "newer" not in refused("TW-L43", model("GemmaForCausalLM"), "0.13.0", pp=2).todo
    refused("TW-L43", replace(LLAMA, layers=31), "0.13.0", pp=2)


@pytest.mark.parametrize("architecture", ["BloomForCausalLM", "ChatGLMModel", "GPTNeoXForCausalLM", "OPTForCausalLM"])
@pytest.mark.parametrize("version", ["0.9.0", "0.13.0", "0.17.0"])
def test_a_split_that_a_script_has_a_flag_for_and_refuses(architecture: str, version: str) -> None:
    """Their main() asserts that --pp_size is 1, in every release."""
    refused("TW-L43", model(architecture), version, pp=2)
    assert planned(model(architecture), choice(version, tp=2))


def test_phi_2_of_09_is_converted_with_the_three_flags_that_its_script_has() -> None:
    steps = planned(model("PhiForCausalLM"), choice("0.9.0"))
    argv = command(steps, "convert_checkpoint.py")
    assert {word for word in argv if word.startswith("--")} == {"--model_dir", "--output_dir", "--dtype"}
    assert "--tp_size" not in named(steps, "checkpoint").why


def test_a_machine_with_too_little_memory_for_the_conversion() -> None:
    small = replace(host("1xL4"), memory_total_bytes=8 * GIB)
    chosen = choice("0.13.0")
    with pytest.raises(InfeasibleError) as caught, user_errors():
        trtllm_engine.steps(chosen, small, LLAMA, runtime(chosen), Ports(), "?", Options())
    assert caught.value.code == "TW-L44"


def test_a_repository_that_is_quantised_already() -> None:
    refused("TW-L45", model("LlamaForCausalLM", AWQ), "0.15.0", "int4_awq")
    refused("TW-L45", model("LlamaForCausalLM", AWQ), "0.16.0", "int8_wo")
    refused("TW-L45", model("LlamaForCausalLM", AWQ), "0.16.0", "int4_awq", kv="fp8")
    refused("TW-L45", model("Qwen2ForCausalLM", AWQ), "0.16.0", "int4_awq")
    refused("TW-L45", model("LlamaForCausalLM", replace(GPTQ, desc_act=True)), "0.16.0", "int4_gptq")
    refused("TW-L45", model("LlamaForCausalLM", Quantization("fp8", 8, format="fp8")), "1.2.1", "fp8")


def test_a_phi_that_the_script_of_010_has_no_name_for() -> None:
    medium = replace(model("Phi3ForCausalLM"), hidden_size=5120)
    refused("TW-L46", medium, "0.10.0")
    assert planned(medium, choice("0.11.0"))


def test_what_is_published_is_converted_as_it_is() -> None:
    argv = command(planned(model("LlamaForCausalLM", AWQ), choice("0.16.0", "int4_awq")), "convert_checkpoint.py")
    assert {"--use_weight_only", "--weight_only_precision", "--qformat"}.isdisjoint(argv)
