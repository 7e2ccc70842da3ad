"""Stage 6: start Triton, wait until it is ready, find it again, stop it."""
