"""A stand-in for vLLM, which needs a GPU: as much of its interface as ``vllm_engine.py`` uses (vLLM 0.26.0, 0.31.0)."""
