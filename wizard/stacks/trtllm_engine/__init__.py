"""Engines that TensorRT-LLM's tools build, served by its C++ backend."""
