"""Door 3: Jupyter. Asynchronous inside, synchronous outside."""
