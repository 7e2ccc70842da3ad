"""Interface 1: the full-screen wizard, in Textual."""
