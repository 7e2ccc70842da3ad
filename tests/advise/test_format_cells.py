"""Formats by stack, release and GPU, as the packages or the documentation of exactly that release have them.

Minimum compute capabilities of vLLM and SGLang: ``get_min_capability`` of the class in the release's wheel.
TensorRT-LLM: the hardware table in docs/source/features/quantization.md of the release. None was tried on a GPU.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.advise.worlds import LLAMA_8B, facts_of, machine
from wizard.advise.devices import devices
from wizard.advise.needs import needed, too_old
from wizard.advise.rules import obstacles
from wizard.advise.setup import Setup
from wizard.model.facts import Quantization

VLLM, SGLANG, LLM_API = "vllm", "sglang", "trtllm-llmapi"
CELLS = [
    # stack, release, GPU, quant_method, format, served, source
    (VLLM, "0.27.1", "1xL4", "bitsandbytes", "int4_wo", True, "in QUANTIZATION_METHODS"),
    (VLLM, "0.28.0", "1xL4", "bitsandbytes", "int4_wo", False, "not in QUANTIZATION_METHODS"),
    (VLLM, "0.31.0", "1xT4", "fp8", "fp8", True, "Fp8Config: 75"),
    (VLLM, "0.31.0", "1xV100", "fp8", "fp8", False, "Fp8Config: 75"),
    (VLLM, "0.31.0", "1xT4", "fbgemm_fp8", "fp8", False, "FBGEMMFp8Config: 80"),
    (VLLM, "0.19.1", "1xA100", "fbgemm_fp8", "fp8", True, "FBGEMMFp8Config: 80"),
    (VLLM, "0.31.0", "1xT4", "awq", "int4_awq", True, "AutoAWQConfig: 75"),
    (VLLM, "0.19.1", "1xV100", "awq", "int4_awq", False, "AWQConfig: 75"),
    (VLLM, "0.19.1", "1xV100", "gptq", "int4_gptq", True, "GPTQConfig: 60"),
    (VLLM, "0.19.1", "1xV100", "compressed-tensors", "int4_gptq", False, "CompressedTensorsWNA16: 75"),
    (VLLM, "0.19.1", "1xA100", "modelopt", "fp8", False, "ModelOptFp8Config: 89"),
    (VLLM, "0.31.0", "1xA100", "modelopt", "fp8", True, "ModelOptFp8Config: 80"),
    (VLLM, "0.31.0", "1xT4", "mxfp4", "mxfp4", False, "Mxfp4Config: 80"),
    (VLLM, "0.31.0", "1xA100", "mxfp4", "mxfp4", True, "Mxfp4Config: 80"),
    (VLLM, "0.10.0", "1xH100", "mxfp4", "mxfp4", False, "mxfp4 not in QUANTIZATION_METHODS"),
    (VLLM, "0.31.0", "1xT4", "compressed-tensors", "nvfp4", True, "CompressedTensorsW4A4Fp4: 75"),
    (SGLANG, "0.5.17", "1xL4", "fp8", "fp8", True, "Fp8Config: 80"),
    (SGLANG, "0.5.17", "1xT4", "fp8", "fp8", False, "Fp8Config: 80"),
    (SGLANG, "0.5.17", "1xA100", "modelopt", "fp8", False, "ModelOptFp8Config: 89"),
    (SGLANG, "0.5.17", "1xH100", "compressed-tensors", "nvfp4", False, "CompressedTensorsW4A4Fp4: 100"),
    (SGLANG, "0.5.17", "1xB200", "compressed-tensors", "nvfp4", True, "CompressedTensorsW4A4Fp4: 100"),
    (SGLANG, "0.5.17", "1xA100", "mxfp4", "mxfp4", True, "Mxfp4Config: 80"),
    (SGLANG, "0.5.17", "1xT4", "mxfp4", "mxfp4", False, "Mxfp4Config: 80"),
    (SGLANG, "0.5.17", "1xA100", "compressed-tensors", "int8_sq", True, "CompressedTensorsW8A8Int8: 80"),
    (SGLANG, "0.5.17", "1xA100", "fbgemm_fp8", "fp8", False, "dropped after 0.5.15.post1"),
    (LLM_API, "1.2.1", "1xA100", "modelopt", "fp8", False, "Ampere: no FP8"),
    (LLM_API, "1.2.1", "1xL4", "modelopt", "fp8", True, "Ada: FP8 (per tensor)"),
    (LLM_API, "1.2.1", "1xL4", "fp8", "fp8_block", False, "Ada: no FP8 (block scaling)"),
    (LLM_API, "1.2.1", "1xRTX5090", "fp8", "fp8_block", False, "sm120: no FP8 (block scaling)"),
    (LLM_API, "1.2.1", "1xB200", "fp8", "fp8_block", True, "sm100: FP8 (block scaling)"),
    (LLM_API, "1.1.0", "1xB200", "modelopt", "int4_awq", False, "sm100: no W4A16 AWQ in the table of 1.1"),
    (LLM_API, "1.2.1", "1xB200", "modelopt", "int4_awq", True, "sm100: W4A16 AWQ in the table of 1.2.1"),
    (LLM_API, "1.2.1", "1xRTX5090", "modelopt", "int4_awq", False, "sm120: no W4A16 AWQ"),
    (LLM_API, "1.2.1", "1xA100", "modelopt", "int4_awq", True, "Ampere: W4A16 AWQ"),
    (LLM_API, "1.1.0", "1xH100", "modelopt", "w4a8_awq", True, "Hopper: W4A8 AWQ"),
    (LLM_API, "1.2.1", "1xH100", "modelopt", "nvfp4", False, "Hopper: no NVFP4"),
    (LLM_API, "1.2.1", "1xRTX5090", "modelopt", "nvfp4", True, "sm120: NVFP4"),
    (LLM_API, "1.0.0", "1xB200", "mxfp4", "mxfp4", False, "QuantAlgo: no W4A16_MXFP4, no W4A8_MXFP4_MXFP8"),
    (LLM_API, "1.1.0", "1xB200", "mxfp4", "mxfp4", True, "sm100: MXFP4 in the table of 1.1"),
    (LLM_API, "1.2.1", "1xH100", "awq", "int4_awq", False, "llm_utils.py: awq raises NotImplementedError"),
]
STRICTER = [
    # The release loads these, and the advice refuses them: profiles/stacks/sglang.toml has one GPU for each format, the
    # newest that a class asks for, and knows no unpacking to 16 bits.
    (SGLANG, "0.5.17", "1xA100", "fp8", "fp8", False, "Fp8Config: 80, unpacked by Marlin"),
    (SGLANG, "0.5.17", "1xA100", "compressed-tensors", "fp8", False, "CompressedTensorsW8A16Fp8: 80"),
    (SGLANG, "0.5.17", "1xT4", "awq", "int4_awq", False, "AWQConfig: 75"),
    (SGLANG, "0.5.17", "1xT4", "gptq", "int4_gptq", False, "GPTQConfig: 60"),
    (SGLANG, "0.5.17", "1xA100", "bitsandbytes", "int4_wo", False, "BitsAndBytesConfig: 70"),
]


@pytest.mark.parametrize(("stack", "release", "gpu", "method", "kind", "served", "source"), [*CELLS, *STRICTER])
def test_a_cell(stack: str, release: str, gpu: str, method: str, kind: str, served: bool, source: str) -> None:
    facts = replace(facts_of(LLAMA_8B), quantization=Quantization(method, 8.0, format=kind))
    device = devices(machine(gpu))[0]
    setup = Setup(stack, "bfloat16" if device.compute_capability >= (8, 0) else "float16", kind)
    assert facts.anatomy
    broken = [
        *obstacles(facts, facts.anatomy, device, setup),
        *too_old(needed(facts, device, setup), setup, release, None),
    ]
    assert (not broken) == served, source
