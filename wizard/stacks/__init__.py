"""One file for each serving stack: ``steps(choice, host, facts, runtime)`` and ``repository(choice, facts)``."""
