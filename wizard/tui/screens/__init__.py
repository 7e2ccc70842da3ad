"""One screen per file; a screen is dismissed with a value and does not know the order."""
