"""Keys that belong together: neighbors in the footer, and under one heading in the help."""

from __future__ import annotations

from dataclasses import replace

from textual.binding import Binding

from wizard.kernel.language import mark

TURN = Binding.Group(mark("Question and answer"))
READ = Binding.Group(mark("Read and copy"))
TALK = Binding.Group(mark("Conversations"))
MODEL = Binding.Group(mark("Model and server"))
STEPS = Binding.Group(mark("Steps"))
OUTPUT = Binding.Group(mark("Output"))
WHAT_IF = Binding.Group(mark("What if"))
WHY = Binding.Group(mark("Reasons"))


def grouped(group: Binding.Group, *bindings: Binding) -> list[Binding]:
    """The ``bindings`` in ``group``."""
    return [replace(binding, group=group) for binding in bindings]
