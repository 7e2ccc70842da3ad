"""A class: the bundle that a seat is installed from without a network, and how far the seats are."""
