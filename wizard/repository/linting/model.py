"""One model's folder, read: its configuration, its versions, its backend. Nothing in it is executed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wizard.repository.linting.finding import Finding, Severity

CONFIG = "config.pbtxt"

LARGEST = 16 * 2**20
"""Bytes of a text file that is read; no configuration and no Python model is near that."""

MODEL_FILES = {
    "python": "model.py",
    "onnxruntime": "model.onnx",
    "tensorrt": "model.plan",
    "pytorch": "model.pt",
    "openvino": "model.xml",
}
"""Backend → file that it looks for in a version's folder (triton-inference-server/server, model_repository.md)."""

PLATFORMS = {
    "ensemble": "ensemble",
    "tensorrt_plan": "tensorrt",
    "onnxruntime_onnx": "onnxruntime",
    "pytorch_libtorch": "pytorch",
    "tensorflow_graphdef": "tensorflow",
    "tensorflow_savedmodel": "tensorflow",
}
"""Values of ``platform`` that Triton knows → backend."""


@dataclass(frozen=True, slots=True)
class Model:
    """One model's folder.

    Attributes:
        folder: Its path.
        text: Of config.pbtxt; None if there is none that can be read.
        config: The ``ModelConfig`` message, Any because it has no type that mypy sees; None if it could not be read.
        subfolders: Names of the folders in it, sorted.
        findings: What was wrong with reading it.
    """

    folder: Path
    text: str | None
    config: Any
    subfolders: tuple[str, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def name(self) -> str:
        """The folder's name, which must be the model's."""
        return self.folder.name

    @property
    def versions(self) -> tuple[int, ...]:
        """What Triton takes for a version: ``1``, but not ``01`` (seen with 2.51.0)."""
        return tuple(int(name) for name in self.subfolders if name.isdecimal() and str(int(name)) == name)

    @property
    def is_ensemble(self) -> bool:
        """Whether it is an ensemble."""
        return bool(self.config and self.config.platform == "ensemble")

    @property
    def backend(self) -> str:
        """Name of its backend; empty if nothing says it."""
        if self.config.backend or self.config.platform:
            return str(self.config.backend or PLATFORMS.get(self.config.platform, ""))
        there = {
            file for version in self.versions for file in MODEL_FILES.values() if self.file(version, file).exists()
        }
        return next((backend for backend, file in MODEL_FILES.items() if file in there), "")

    def file(self, version: int, name: str) -> Path:
        """A file in a version's folder."""
        return self.folder / str(version) / name

    def parameter(self, key: str) -> str | None:
        """A parameter's text; None if there is no such parameter."""
        return str(self.config.parameters[key].string_value) if key in self.config.parameters else None

    def finding(
        self,
        code: str,
        message: str,
        fix: str,
        *,
        severity: Severity = "error",
        file: str = CONFIG,
        at: str | tuple[int, int] | None = None,
    ) -> Finding:
        """A finding about this model.

        Args:
            code: Its code.
            what: What is wrong.
            fix: What to do.
            severity: How bad it is.
            file: Relative to the model's folder.
            at: Line and column; or a text of config.pbtxt, whose first occurrence is the place.
        """
        line, column = at if isinstance(at, tuple) else self._place(at) if at and file == CONFIG else (None, None)
        return Finding(code, severity, self.name, f"{self.name}/{file}", message, fix, line, column)

    def _place(self, text: str) -> tuple[int | None, int | None]:
        offset = (self.text or "").find(text)
        return place(self.text or "", offset) if offset >= 0 else (None, None)


def contents(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        OSError: It cannot be read.
        ValueError: It has more than `LARGEST` bytes.
    """
    if path.stat().st_size > LARGEST:
        raise ValueError(f"it has more than {LARGEST} bytes")
    return path.read_bytes()


def place(text: str, index: int) -> tuple[int, int]:
    """Line and column, both from 1, of a character."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)
