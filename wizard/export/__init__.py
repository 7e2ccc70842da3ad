"""Stage by the way: a plan as something that runs without the wizard."""
