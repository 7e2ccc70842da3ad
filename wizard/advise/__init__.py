"""Stage 3: what to run and why. Pure functions from (Host, ModelFacts, Constraints) to `Advice`."""
