"""Interface 2: the same questions in a plain terminal, and the answer to a pipe or a dumb terminal."""
