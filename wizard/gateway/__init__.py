"""The OpenAI-compatible address in front of all served models: a process beside Triton."""
