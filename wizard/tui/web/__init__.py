"""The full-screen wizard in a browser: a server on this machine, the page, and its driver."""
