"""One screen a file; a screen is dismissed with a value and knows nothing of the order."""
