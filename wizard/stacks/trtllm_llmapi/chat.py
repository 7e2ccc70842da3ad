"""Request format of the LLM API's model in NVIDIA's images.

Source: ``triton_backend/all_models/llmapi`` of NVIDIA/TensorRT-LLM.
"""

from __future__ import annotations

from wizard.chat.wire import Format, StackWire

LLM_API = Format(
    "TensorRT-LLM's LLM API",
    frozenset({"text_input", "sampling_param_max_tokens"}),
    (
        ("text_input", "prompt"),
        ("streaming", "stream"),
        ("sampling_param_max_tokens", "max_tokens"),
        ("sampling_param_temperature", "temperature"),
        ("sampling_param_top_p", "top_p"),
        ("sampling_param_top_k", "top_k"),
        ("sampling_param_presence_penalty", "presence_penalty"),
        ("sampling_param_frequency_penalty", "frequency_penalty"),
        ("sampling_param_seed", "seed"),
        ("sampling_param_stop", "stop"),
        ("sampling_param_exclude_input_from_output", "yes"),
        ("return_finish_reason", "yes"),
    ),
    finish="finish_reason",
    begins=True,
    mode="either",
)

PORT = StackWire((LLM_API,))
