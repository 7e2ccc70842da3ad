"""TensorRT-LLM's LLM API: checkpoints without an engine build."""
