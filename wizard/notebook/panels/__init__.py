"""Panels of a notebook: widgets for what-ifs, a build, a chat and benchmarks.

ipywidgets is imported only here, and only to show a panel.

Only the standard widgets are used, with what ipywidgets 7.7 has too: that is what Colab has.
"""
