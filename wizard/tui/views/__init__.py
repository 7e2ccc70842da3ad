"""What the screens show, as values: computed from what is known, without a widget. Pure."""
