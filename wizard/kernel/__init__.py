"""What every stage stands on: errors, units, paths, secrets, text, values, processes."""
