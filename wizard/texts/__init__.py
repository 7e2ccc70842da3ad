"""Sentences in the current language, from the stages' values: a file per stage, imported by none of them."""
