"""triton-wizard: from a bare machine to a chat with a model that you serve yourself on NVIDIA Triton.

In a notebook or a script:

    >>> from wizard import Journey
    >>> journey = Journey("demo")
    >>> journey.up()                       # doctest: +SKIP
    >>> journey.chat("What is Triton?")    # doctest: +SKIP

The name is resolved on first use (PEP 562), so that ``import wizard`` stays fast and imports no other module.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False  # visible to type checkers by name; `wizard.__main__` must not import anything earlier
if TYPE_CHECKING:
    from typing import Any

    from wizard.notebook.session import Journey

__all__ = ["Journey", "__version__"]


def __getattr__(name: str) -> "Any":
    if name == "Journey":
        from wizard.notebook.session import Journey

        return Journey
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
