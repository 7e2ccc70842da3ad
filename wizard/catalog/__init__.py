"""Typed access to ``profiles/``: recipes, GPUs, models and server environments are data, one TOML file each."""
