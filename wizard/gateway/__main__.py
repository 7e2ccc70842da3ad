"""Run the gateway of a server: ``python -m wizard.gateway SERVER_FOLDER LISTENING_SOCKET``; `wizard.serve` does."""

from wizard.gateway.server import main

if __name__ == "__main__":
    main()
