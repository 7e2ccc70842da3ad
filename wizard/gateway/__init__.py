"""The OpenAI-compatible address in front of a served model: a process beside Triton, for this machine only."""
