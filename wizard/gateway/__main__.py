"""Run the gateway of a workspace: ``python -m wizard.gateway WORKSPACE LISTENING_SOCKET EXPOSURE``, as `wizard.serve`
does.
"""

from wizard.gateway.keeper import keep


def main() -> None:
    """Serve in a process that is started again if it dies."""
    keeper = keep()
    from wizard.gateway.server import main  # 500 modules that the keeper does not need

    main(keeper)


if __name__ == "__main__":
    main()
