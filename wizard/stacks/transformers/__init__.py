"""Hugging Face Transformers behind our front: the baseline."""
