"""vLLM: Triton's backend in NVIDIA's images, natively behind our proxy."""
