"""Stage 4: the plan. Creates a `Plan`: ordered steps with their reasons, exact commands and checks."""
