"""Export a plan as something that runs without the wizard."""
