"""Hugging Face Transformers behind our proxy: the baseline."""
