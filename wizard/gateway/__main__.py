"""Run the gateway of a workspace: ``python -m wizard.gateway WORKSPACE LISTENING_SOCKET EXPOSURE``, as `wizard.serve`
does.
"""

from wizard.gateway.server import main

if __name__ == "__main__":
    main()
