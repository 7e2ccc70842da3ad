"""How a step's command is carried out: as a process in a server environment, or in a container."""
