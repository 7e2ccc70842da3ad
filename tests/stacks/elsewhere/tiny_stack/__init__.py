"""A serving stack of somebody else's: its engine counts. It has no rules for the linter."""
