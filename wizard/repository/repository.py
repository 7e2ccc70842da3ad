"""A Triton model repository as a value: relative paths and texts. Whoever carries it out writes the files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RepositoryFile:
    """One text file; ``path`` is relative to the repository, with ``/``: ``demo/config.pbtxt``, ``demo/1/model.py``."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Repository:
    """A model repository (docs.nvidia.com, Triton user guide, "Model Repository").

    Attributes:
        files: What the wizard writes.
        copied: Folders that come from elsewhere: from a backend's checkout or image, where they have the same names.
    """

    files: tuple[RepositoryFile, ...]
    copied: tuple[str, ...] = ()
