"""Typed reading of ``profiles/``: journeys, GPUs, models and server environments are data, one TOML file a thing."""
