"""How a step's command runs: as a process in a server environment, or in a container."""
