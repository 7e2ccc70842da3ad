"""TensorRT-LLM's LLM API: checkpoints as they are."""
