"""TensorRT-LLM engines, a file for each thing done: sources, check, convert, quantize, build, run, launch."""
