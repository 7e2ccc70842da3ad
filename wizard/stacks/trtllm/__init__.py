"""What both of TensorRT-LLM's stacks share."""
