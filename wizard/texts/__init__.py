"""Sentences in the present language, made of the stages' values: one file for each stage, imported by none of them."""
