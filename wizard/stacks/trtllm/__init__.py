"""Shared by both of TensorRT-LLM's stacks."""
