"""As in vLLM."""
