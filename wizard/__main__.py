"""``python -m wizard`` is ``triton-wizard``."""

from wizard.cli import main

if __name__ == "__main__":
    main()
