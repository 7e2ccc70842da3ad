"""Engines built by TensorRT-LLM's tools, served by its C++ backend."""
