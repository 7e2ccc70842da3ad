"""A Triton model repository as a value: relative paths and texts. The plan's runner writes the files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RepositoryFile:
    """A text file; ``path`` is relative to the repository, with ``/``: ``demo/config.pbtxt``, ``demo/1/model.py``."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Repository:
    """A model repository (docs.nvidia.com, Triton user guide, "Model Repository").

    Attributes:
        files: Files that the wizard writes.
        copied: Folders to copy from a backend's checkout or image, where they have the same names.
    """

    files: tuple[RepositoryFile, ...]
    copied: tuple[str, ...] = ()
