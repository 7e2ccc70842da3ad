"""Typed reading of ``profiles/``: recipes, GPUs, models and server environments are data, one TOML file a thing."""
