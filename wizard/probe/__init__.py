"""Stage 1: describe this machine. Creates a `Host` from NVML, the operating system and the container engines."""
