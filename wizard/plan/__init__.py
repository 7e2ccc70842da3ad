"""Stage 4: what will be done. Makes a `Plan`: ordered steps with their reasons, exact commands and checks."""
