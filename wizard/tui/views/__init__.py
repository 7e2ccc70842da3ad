"""The content of the screens, as values computed without widgets. Pure."""
