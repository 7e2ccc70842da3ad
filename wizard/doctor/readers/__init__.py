"""What the checks need: files under /proc, /sys and /etc, NVML, the wizard's own servers, the network."""
