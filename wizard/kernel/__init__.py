"""The foundation of every stage: errors, units, paths, secrets, text, values, processes."""
