"""Random changes of real files, for every parser of what strangers write; `python -m tests.fuzz` runs many of them."""
