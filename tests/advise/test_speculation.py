"""Speculative decoding: what it needs, what prevents it, and what the engines get."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.advise.test_gpu import choices, rejections
from tests.advise.worlds import AWQ, BLOCKS, LLAMA_8B, TESTS, facts_of
from tests.plan.stack_values import FACTS, LLM_API, VLLM, commands, engine, machine, named, native, planned
from tests.values import GGUF, PYTHON
from tests.worded import remedy_of, text_of
from wizard.advise import memory, speculation
from wizard.advise.advice import Checkpoint, Choice, Constraints
from wizard.advise.ranking import advise
from wizard.advise.reasons import Note
from wizard.advise.setup import LOOKAHEAD, Setup
from wizard.catalog.releases import version as numbers
from wizard.catalog.stacks import on_gpu
from wizard.kernel.values import from_data, to_data
from wizard.model.anatomy import Parts
from wizard.model.config import describe
from wizard.model.facts import ModelFacts, WeightFile
from wizard.model.source import find
from wizard.probe.shorthand import host
from wizard.stacks.trtllm_llmapi.repository import llm_args
from wizard.texts import advise as words

TOKENS = LOOKAHEAD["ngram"]
PLAIN = Setup("vllm", "bfloat16", "none")
NGRAM = replace(PLAIN, speculative="ngram")


def test_the_tokens_that_are_proposed_have_room() -> None:
    facts = facts_of(LLAMA_8B)
    (choice,) = choices("1xH100", facts, stack="vllm", quantization="none", speculative="ngram", users=9)
    assert choice.speculative == "ngram"
    assert facts.anatomy is not None
    each = memory.sequence_bytes(facts.anatomy, PLAIN, choice.max_seq_len + TOKENS, 8192)
    assert each * 9 <= choice.memory.kv_capacity_tokens * choice.memory.kv_bytes_per_token
    plain = memory.outside(facts.anatomy, PLAIN, 9)
    assert memory.outside(facts.anatomy, NGRAM, 9) > plain  # graphs of more tokens
    logits = 8 * 512 * (1 + TOKENS) * facts.anatomy.vocabulary
    assert memory.activations(facts.anatomy, NGRAM, 512, 2048) == logits + 2 * 2 * 2048 * 4096
    (speed,) = (text_of(note) for note in choice.warnings if note.code == "speed")
    assert speed == "Speed unknown: with speculative decoding it depends on how many proposed tokens are accepted."


@pytest.mark.parametrize("asked", [None, "none"])
def test_there_is_none_unless_it_is_asked_for(asked: str | None) -> None:
    assert {choice.speculative for choice in choices("1xH100", speculative=asked)} == {""}


@pytest.mark.parametrize(
    ("model", "constraints", "text"),
    [
        (LLAMA_8B, {"stack": "vllm", "release": "25.05"}, "(ngram) needs vLLM 0.9.2 or later; found 0.8.4."),
        (LLAMA_8B, {"stack": "transformers"}, "does not set up speculative decoding (ngram) with Transformers."),
        (LLAMA_8B, {"stack": "trtllm-llmapi", "release": "25.08"}, "(ngram) needs TensorRT-LLM 1.0 or later"),
        (LLAMA_8B, {"stack": "vllm", "pp": 2}, "without pipeline stages"),
        ("Qwen/Qwen3.5-27B", {"stack": "vllm", "runtime": "native"}, "recurrent states"),
    ],
)
def test_what_cannot_be_met_is_refused(model: str, constraints: dict[str, Any], text: str) -> None:
    refused = rejections("8xH100", model, speculative="ngram", **constraints)
    (refusal,) = {text_of(rejection): rejection for rejection in refused if rejection.code == "speculative"}.values()
    assert text in text_of(refusal)
    assert refusal.remedies[-1].changes == {"speculative": None}
    stages = [{"pp": 1}] if "pp" in constraints else []
    assert [remedy.changes for remedy in refusal.remedies[:-1]] == stages


def test_vllm_gets_them() -> None:
    assert "speculative_config" not in engine(planned(VLLM, FACTS))[1]
    choice = replace(VLLM, speculative="ngram", proposed_tokens=TOKENS, step_tokens=2048, max_batch_size=400)
    _, settings, _ = engine(planned(choice, FACTS))
    assert settings["speculative_config"] == {
        "method": "ngram",
        "num_speculative_tokens": TOKENS,
        "prompt_lookup_max": 4,
    }
    assert settings["max_num_batched_tokens"] == 400 * (1 + TOKENS)  # a step verifies the tokens of all


DEEPSEEK, MIMO = "deepseek-ai/DeepSeek-V3", "XiaomiMiMo/MiMo-7B-Base"


@pytest.mark.parametrize("stack", ["vllm", "sglang"])
def test_layers_for_multi_token_prediction_take_weights_and_cache(stack: str) -> None:
    facts = facts_of(MIMO)
    asked: dict[str, Any] = {"stack": stack, "quantization": "none", "runtime": "native", "users": 4, "max_len": 8192}
    (plain,) = choices("1xH100", facts, **asked)
    (made,) = choices("1xH100", facts, **asked, speculative="mtp")
    assert facts.anatomy is not None
    layers = facts.anatomy.predictor
    assert layers is not None
    assert facts.anatomy is not None
    assert (made.speculative, made.proposed_tokens) == ("mtp", 1)
    assert made.memory.weights_bytes - plain.memory.weights_bytes == 2 * layers.parts.total
    layer = 2 * 2 * 8 * 128
    assert plain.memory.kv_bytes_per_token == 36 * layer
    assert made.memory.kv_bytes_per_token == pytest.approx(37 * layer, rel=0.003)  # with the proposed token, in blocks
    (note,) = (text_of(each) for each in made.reasons if each.code == "draft-layers")
    assert "402 MiB per GPU are layers for multi-token prediction" in note


def test_its_layers_have_the_blocks_of_the_checkpoint_and_whole_experts() -> None:
    facts = facts_of(DEEPSEEK, quantization_config=BLOCKS)
    assert facts.anatomy is not None
    layers = facts.anatomy.predictor
    assert layers is not None
    stored, sixteen = (
        speculation.prepared(each, replace(PLAIN, quantization=name, speculative="mtp", tp=8)).draft
        for each, name in ((facts, "fp8_block"), (facts_of(DEEPSEEK), "fp8"))
    )
    assert stored is not None
    assert sixteen is not None
    assert stored.stored.experts == pytest.approx(layers.parts.experts, rel=0.001)
    assert sixteen.stored.experts == 2 * layers.parts.experts
    split = Setup("vllm", "bfloat16", "fp8_block", tp=6, draft=stored)
    whole = replace(split, expert_parallel=True)
    more = stored.stored.experts * (43 / 256 - 1 / 6)  # of 256 experts
    assert memory.draft_weights(whole, stored) - memory.draft_weights(split, stored) == pytest.approx(more, abs=2)


def test_its_layers_count_as_stored_only_if_their_headers_were_read() -> None:
    unread = facts_of(MIMO, quantization_config=AWQ)
    assert unread.anatomy
    assert unread.anatomy.predictor
    stored = Parts(other=12345)
    setup = replace(PLAIN, quantization="int4_awq", speculative="mtp")
    guess, read = (
        speculation.prepared(each, setup).draft for each in (unread, replace(unread, stored_predictor=stored))
    )
    assert guess
    assert read
    assert guess.stored.total == 2 * unread.anatomy.predictor.parts.total
    assert read.stored == stored


@pytest.mark.parametrize(
    ("model", "constraints", "text"),
    [
        (LLAMA_8B, {"stack": "vllm"}, "has no layers for multi-token prediction (MTP)"),
        (LLAMA_8B, {"stack": "transformers"}, "has no layers for multi-token prediction (MTP)"),
        ("Qwen/Qwen3.5-27B", {"stack": "vllm"}, "more memory for recurrent states"),
        (MIMO, {"stack": "transformers"}, "does not set up speculative decoding (mtp) with Transformers."),
        (
            "deepseek-ai/DeepSeek-V3.2",
            {"stack": "trtllm-llmapi"},
            "(mtp) for DeepseekV32ForCausalLM with TensorRT-LLM",
        ),
        (MIMO, {"stack": "vllm", "release": "25.12"}, "(mtp) needs vLLM 0.19.1 or later; found 0.11.1."),
        (MIMO, {"stack": "vllm", "runtime": "native", "pp": 2}, "without pipeline stages"),
    ],
)
def test_the_first_reason_is_the_models_then_the_stacks_then_the_releases(
    model: str, constraints: dict[str, Any], text: str
) -> None:
    refused = rejections("8xH100", model, speculative="mtp", quantization="none", **constraints)
    texts = {text_of(rejection) for rejection in refused if rejection.code == "speculative"}
    assert [text in each for each in texts] == [True], texts


def test_a_checkpoint_that_somebody_else_quantized_may_lack_them() -> None:
    setup = replace(PLAIN, speculative="mtp", quantization="fp8")
    for how, expected in (("ready", True), ("stored", False), ("loading", False)):
        refusal = speculation.missing(setup, Checkpoint("me/mine", how=how))  # type: ignore[arg-type]
        assert (refusal is not None) == expected
    assert speculation.missing(replace(setup, speculative="ngram"), Checkpoint("me/mine", how="ready")) is None


SPECULATIVE = json.loads((TESTS / "stacks/vllm/speculative.json").read_text(encoding="utf-8"))["versions"]


@pytest.mark.parametrize("method", ["ngram", "mtp"])
@pytest.mark.parametrize("version", SPECULATIVE)
def test_vllms_releases_know_its_fields(method: str, version: str) -> None:
    """Where the profile says that a release has a method, its `SpeculativeConfig` has the name and all fields."""
    known = on_gpu("vllm").speculative
    assert known is not None
    oldest = min(known.methods[method].values(), key=numbers)
    if numbers(version) < numbers(oldest):
        return
    settings = engine(planned(replace(VLLM, speculative=method, proposed_tokens=1), FACTS))[1]["speculative_config"]
    assert settings["method"] in SPECULATIVE[version]["methods"]
    assert settings.keys() <= set(SPECULATIVE[version]["fields"])


def test_sglang_gets_them() -> None:
    _, ngram, _ = engine(planned(replace(native("sglang"), speculative="ngram", proposed_tokens=5), FACTS))
    settings = {name: value for name, value in ngram.items() if name.startswith("speculative")}
    assert settings == {
        "speculative_algorithm": "NGRAM",
        "speculative_ngram_max_bfs_breadth": 1,
        "speculative_num_draft_tokens": 6,
    }
    _, mtp, _ = engine(planned(replace(native("sglang"), speculative="mtp", proposed_tokens=1), FACTS))
    assert mtp["speculative_algorithm"] == "EAGLE"
    assert mtp["speculative_draft_model_path"] == mtp["model_path"]
    assert [mtp[f"speculative_{name}"] for name in ("num_steps", "eagle_topk", "num_draft_tokens")] == [1, 1, 2]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("ngram", {"decoding_type": "NGram", "max_draft_len": 5, "max_matching_ngram_size": 3}),
        ("mtp", {"decoding_type": "MTP", "num_nextn_predict_layers": 5}),
    ],
)
def test_tensorrt_llm_gets_them(method: str, expected: dict[str, Any]) -> None:
    choice = replace(LLM_API, speculative=method, proposed_tokens=5, step_tokens=2048, max_batch_size=400)
    settings = llm_args("/m", choice)
    assert settings["speculative_config"] == expected
    assert settings["max_num_tokens"] == 400 * 6
    assert "speculative_config" not in llm_args("/m", LLM_API)


EAGLE = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 1,
    "vocab_size": 128256,
    "draft_vocab_size": 32000,
    "max_position_embeddings": 2048,
    "torch_dtype": "float16",
}
"""As EAGLE-3's draft models for Llama 3.1 8B (SafeAILab/EAGLE, config.json of EAGLE3-LLaMA3.1-Instruct-8B)."""
DRAFT_BYTES = 850_000_000
PYTHON_3_12 = replace(machine(), interpreters=(replace(PYTHON, version=(3, 12, 3)),))


def draft(**changes: Any) -> ModelFacts:
    made = describe(ModelFacts("me/eagle3", "hub", "me/eagle3", "eagle3", None, None), {**EAGLE, **changes})
    return replace(
        made, weight_bytes=DRAFT_BYTES, weights=(WeightFile("model.safetensors", DRAFT_BYTES, "safetensors"),)
    )


def served(model: str, drafted: ModelFacts | None) -> ModelFacts:
    return replace(facts_of(model), draft=drafted)


WITH_EAGLE: dict[str, Any] = {"speculative": "eagle3", "draft": "me/eagle3", "runtime": "native"}


@pytest.mark.parametrize("stack", ["vllm", "sglang"])
def test_a_draft_model_takes_weights_and_cache(stack: str) -> None:
    asked: dict[str, Any] = {"stack": stack, "quantization": "none", "users": 4, "max_len": 8192}
    (plain,) = choices("1xH100", LLAMA_8B, **asked, runtime="native")
    (made,) = choices("1xH100", served(LLAMA_8B, draft()), **asked, **WITH_EAGLE)
    assert (made.speculative, made.proposed_tokens, made.draft) == ("eagle3", 3, draft())
    assert made.memory.weights_bytes - plain.memory.weights_bytes == DRAFT_BYTES
    assert made.memory.kv_bytes_per_token == pytest.approx(33 / 32 * plain.memory.kv_bytes_per_token, rel=0.003)
    (note,) = (text_of(each) for each in made.reasons if each.code == "draft")
    assert "811 MiB per GPU are the draft model me/eagle3, counted as a whole on every GPU" in note


@pytest.mark.parametrize(
    ("model", "drafted", "stack", "text"),
    [
        (LLAMA_8B, None, "vllm", "EAGLE-3 needs a draft model that was trained for"),
        (LLAMA_8B, draft(architectures=["LlamaForCausalLM"]), "vllm", "me/eagle3 is LlamaForCausalLM; for"),
        (LLAMA_8B, replace(draft(), weight_bytes=None), "vllm", "The memory of the draft model me/eagle3"),
        (LLAMA_8B, draft(vocab_size=32000), "vllm", "its vocabulary is 32,000 and its hidden size 4,096"),
        (MIMO, draft(vocab_size=151680), "vllm", "(eagle3) for MiMoForCausalLM"),
        (LLAMA_8B, draft(), "transformers", "does not set up speculative decoding (eagle3) with Transformers"),
    ],
)
def test_a_draft_model_that_cannot_propose_is_refused(
    model: str, drafted: ModelFacts | None, stack: str, text: str
) -> None:
    named = {**WITH_EAGLE, "draft": drafted and drafted.ref, "stack": stack}
    refused = rejections("1xH100", served(model, drafted), **named, quantization="none")
    texts = {text_of(rejection) for rejection in refused if rejection.code == "speculative"}
    assert [text in each for each in texts] == [True], texts


@pytest.mark.parametrize(("host", "facts"), [("1xH100", facts_of(LLAMA_8B)), ("cpu", GGUF)])
def test_a_draft_model_alone_is_refused(host: str, facts: ModelFacts) -> None:
    advice = advise(machine(host), facts, Constraints(draft="me/eagle3"))
    refusal = next(each for each in advice.rejections if each.code == "draft")
    assert text_of(refusal) == "The draft model me/eagle3 is only used with --speculative eagle3."
    assert [remedy.changes for remedy in refusal.remedies] == [{"draft": None}]


@pytest.mark.parametrize("stack", ["vllm", "sglang", "trtllm-llmapi"])
def test_the_plan_fetches_the_draft_model_and_the_engine_gets_its_folder(stack: str) -> None:
    choice = replace(native(stack), speculative="eagle3", proposed_tokens=3, draft=draft())
    steps = planned(choice, FACTS, on=PYTHON_3_12)
    got = named(steps, "draft")
    assert got.writes == ("draft",)
    assert got.estimate.download_bytes == DRAFT_BYTES
    assert "draft" in named(steps, "start").reads
    command, _ = commands(got)  # it is downloaded and verified
    assert "me/eagle3" in command.argv
    folder = str(Path(got.done.files[0]).parent)
    settings = engine(steps)[1]
    if stack == "vllm":
        expected: Any = {"method": "eagle3", "model": folder, "num_speculative_tokens": 3}
        assert settings["speculative_config"] == expected
        assert expected.keys() <= set(SPECULATIVE["0.11.0"]["fields"])
    elif stack == "sglang":
        assert settings["speculative_algorithm"] == "EAGLE3"
        assert settings["speculative_draft_model_path"] == folder
        assert [settings[f"speculative_{name}"] for name in ("num_steps", "eagle_topk", "num_draft_tokens")] == [
            3,
            1,
            4,
        ]
    else:
        expected = {"decoding_type": "Eagle", "max_draft_len": 3, "speculative_model_dir": folder}
        assert settings["speculative_config"] == {**expected, "eagle3_one_model": True}
    assert from_data(Choice, to_data(choice), where="plan") == choice  # a stopped server is started again from its plan
    assert not [step for step in planned(native(stack), FACTS, on=PYTHON_3_12) if step.id == "draft"]


@pytest.mark.parametrize("changes", [{}, {"tp": 1}])
def test_the_remedy_gives_up_the_method_and_its_draft_model(changes: dict[str, Any]) -> None:
    """Without the method, the draft model alone would be refused."""
    asked = Constraints(speculative="eagle3", draft="me/eagle3", quantization="none", **changes)
    facts = served(LLAMA_8B, draft(vocab_size=32000))
    advice = advise(machine("1xH100"), facts, asked)
    assert not advice.feasible
    assert advice.rejections[0].remedies[0].changes == {"speculative": None, "draft": None}
    assert advise(machine("1xH100"), facts, replace(asked, speculative=None, draft=None)).feasible


@pytest.mark.parametrize("goal", ["chat", "documents", "code", "throughput", "quality", "smallest"])
def test_the_format_is_that_without_speculation(goal: str) -> None:
    """Its speed is unknown; that without it still tells which format reads fewer bytes."""
    model = find("Qwen/Qwen3-8B", offline=True)
    plain = advise(host("1xL4"), model, Constraints(goal=goal)).choices[0]
    advice = advise(host("1xL4"), model, Constraints(goal=goal, speculative="ngram"))
    first = advice.choices[0]
    assert first.quantization == plain.quantization
    assert first.speed is None
    assert all(words.note(note) for choice in advice.choices for note in choice.reasons)


def test_a_draft_model_is_only_given_up_if_it_was_named() -> None:
    """EAGLE-3 without ``--draft``: every rejection for it has the same remedy, so they are one group."""
    advice = advise(machine("4xL40S"), facts_of("Qwen/Qwen2.5-7B"), Constraints(speculative="eagle3"))
    refused = [each for each in advice.rejections if each.reason.code == "no-draft"]
    assert len(refused) > 1
    assert {remedy_of(each) for each in refused} == {"omit --speculative"}


def test_a_method_without_a_draft_model_is_kept_when_the_draft_model_is_given_up() -> None:
    asked = Constraints(speculative="ngram", draft="me/eagle3", quantization="none")
    advice = advise(machine("1xH100"), served(LLAMA_8B, draft()), asked)
    assert remedy_of(advice.rejections[0]) == "omit --draft, or --speculative eagle3"


@pytest.mark.parametrize(
    ("drafted", "remedy"),
    [(draft(), "omit --draft, or --speculative eagle3"), (draft(vocab_size=32000), "omit --draft")],
)
def test_eagle_is_only_a_remedy_for_a_draft_model_that_it_can_use(drafted: ModelFacts, remedy: str) -> None:
    asked = Constraints(draft="me/eagle3", quantization="none", stack="vllm", runtime="native")
    advice = advise(machine("1xH100"), served(LLAMA_8B, drafted), asked)
    assert [remedy_of(each) for each in advice.rejections] == [remedy]


def test_a_remedy_that_keeps_the_method_is_not_lost() -> None:
    """One reason, one group: the tested remedy first, then the other one."""
    asked = Constraints(speculative="ngram", pp=2)
    advice = advise(machine("4xL40S"), facts_of("Qwen/Qwen2.5-32B"), asked)
    assert advice.rejections[0].reason.code == "speculative-stages"
    refused = [each for each in advice.rejections if each.reason.code == "speculative-stages"]
    assert {remedy_of(each) for each in refused} == {"omit --speculative, or --pp 1"}


@pytest.mark.parametrize(("tokens", "text"), [(1, "one token is proposed"), (5, "up to 5 tokens are proposed")])
def test_proposed_tokens_are_counted(tokens: int, text: str) -> None:
    assert text in text_of(Note("speculative", {"method": "mtp", "tokens": tokens}))


@pytest.mark.parametrize(("engine", "refused"), [("0.9.1", True), ("0.9.2", False), ("0.9.3", False)])
def test_a_method_begins_with_this_release(engine: str, refused: bool) -> None:
    setup = replace(PLAIN, stack="vllm", speculative="ngram")
    why = speculation.obstacle(facts_of(LLAMA_8B), setup, Constraints(speculative="ngram"), engine)
    assert (why is not None) is refused
