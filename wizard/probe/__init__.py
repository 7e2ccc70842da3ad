"""Stage 1: what this machine is. Makes a `Host` from NVML, the operating system and the container engines."""
