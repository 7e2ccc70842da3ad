from __future__ import annotations

import pytest

from wizard.kernel.errors import UsageError
from wizard.kernel.values import from_data
from wizard.plan.options import Options, check
from wizard.plan.stack import options_read


def checked(options: Options, stack: str, context: int | None = 4096) -> None:
    check(options, stack, options_read(stack, options), context)


@pytest.mark.parametrize(
    ("options", "stack", "message"),
    [
        (Options(lora={"a": "owner/x"}), "trtllm-engine", "lora"),
        (Options(bls=True), "vllm", "bls"),
        (Options(beside="transformers"), "trtllm-llmapi", "beside"),
        (Options(batching="none"), "llamacpp", "batching"),
        (Options(batching="none"), "trtllm-engine", "batching"),
        (Options(max_num_seqs=256), "trtllm-engine", "max_num_seqs"),
        (Options(max_num_seqs=0), "vllm", "max_num_seqs cannot be 0"),
        (Options(max_input_len=-5), "trtllm-engine", "max_input_len cannot be -5"),
        (Options(max_input_len=0), "trtllm-engine", "max_input_len cannot be 0"),
        (Options(max_input_len=4097), "trtllm-engine", "max_input_len cannot be 4097"),
    ],
)
def test_an_option_that_means_nothing_is_refused(options: Options, stack: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        checked(options, stack)
    assert caught.value.code == "TW-L09"


@pytest.mark.parametrize("stack", ["trtllm-engine", "trtllm-llmapi", "vllm", "transformers", "llamacpp"])
def test_no_option_is_always_right(stack: str) -> None:
    checked(Options(), stack)


@pytest.mark.parametrize(
    ("options", "stack", "context", "todo"),
    [
        (Options(bls=True), "vllm", None, "Supported options: lora, max_num_seqs."),
        (Options(bls=True), "llamacpp", None, "Supported options: none."),
        (Options(max_num_seqs=0), "vllm", None, "Set an integer of 1 or more, or omit it."),
        (
            Options(max_input_len=4097),
            "trtllm-engine",
            4096,
            "Set a number of tokens up to 4,096, the model's context, or omit it.",
        ),
        (Options(max_input_len=0), "trtllm-engine", None, "Set a number of tokens, or omit it."),
    ],
)
def test_what_may_be_set_is_named(options: Options, stack: str, context: int | None, todo: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked(options, stack, context)
    assert caught.value.todo == todo


def test_what_is_read_and_within_bounds_is_right() -> None:
    checked(Options(max_num_seqs=1), "vllm")
    checked(Options(max_input_len=1), "trtllm-engine")
    checked(Options(beside="transformers", batching="none", bls=True, max_input_len=4096), "trtllm-engine")
    checked(Options(max_input_len=999_999), "trtllm-engine", None)  # nobody knows the model's context


@pytest.mark.parametrize("data", [{"batching": "nonsense"}, {"beside": 1}, {"lora": [["a", "b"]]}])
def test_a_recipes_options_are_of_their_kinds(data: dict[str, object]) -> None:
    with pytest.raises(UsageError) as caught:
        from_data(Options, data, where="the recipe x")
    assert caught.value.code == "TW-K01"


def test_adapters_are_a_table() -> None:
    assert from_data(Options, {"lora": {"a": "owner/x"}}, where="x").lora == {"a": "owner/x"}
