"""What quantizing cost: accuracy on tasks, perplexity and divergence of GGUF files, and blind votes."""
