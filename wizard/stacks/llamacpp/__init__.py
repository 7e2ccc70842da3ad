"""llama.cpp: GGUF files behind Triton's Python backend."""
