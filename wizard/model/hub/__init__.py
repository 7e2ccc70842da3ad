"""The Hugging Face Hub: the only folder that imports ``huggingface_hub``, and only inside functions."""
