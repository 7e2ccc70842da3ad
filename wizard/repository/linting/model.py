"""A model's folder: its configuration, its versions, its backend. Nothing in it is executed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from wizard.kernel import bounded
from wizard.repository.linting.finding import Finding, Severity

CONFIG = "config.pbtxt"

LARGEST = 16 * 2**20
"""Maximum size in bytes of a text file to read; no configuration is nearly as large."""

MODEL_FILES = {
    "python": "model.py",
    "onnxruntime": "model.onnx",
    "tensorrt": "model.plan",
    "pytorch": "model.pt",
    "openvino": "model.xml",
}
"""Backend → its file in a version's folder (triton-inference-server/server, model_repository.md)."""

PLATFORMS = {
    "ensemble": "ensemble",
    "tensorrt_plan": "tensorrt",
    "onnxruntime_onnx": "onnxruntime",
    "pytorch_libtorch": "pytorch",
    "tensorflow_graphdef": "tensorflow",
    "tensorflow_savedmodel": "tensorflow",
}
"""Values of ``platform`` that Triton supports → backend."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model's folder.

    Attributes:
        folder: Its path.
        text: Text of config.pbtxt; None if there is no readable one.
        config: The ``ModelConfig`` message, Any because mypy has no type for it; None if it could not be parsed.
        subfolders: Names of its subfolders, sorted.
        findings: Problems while reading it.
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
        """The names that Triton accepts as versions: ``1``, but not ``01`` (seen with 2.51.0)."""
        return tuple(int(name) for name in self.subfolders if name.isdecimal() and str(int(name)) == name)

    @property
    def is_ensemble(self) -> bool:
        """Whether it is an ensemble."""
        return bool(self.config and self.config.platform == "ensemble")

    @property
    def backend(self) -> str:
        """Name of its backend; empty if it is not set."""
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
        """A parameter's text; None if it is not set."""
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
            code: The code.
            message: The problem.
            fix: The remedy.
            severity: The severity.
            file: Relative to the model's folder.
            at: Line and column; or a text of config.pbtxt, whose first occurrence is the place.
        """
        line, column = at if isinstance(at, tuple) else self._place(at) if at and file == CONFIG else (None, None)
        return Finding(code, severity, self.name, f"{self.name}/{file}", message, fix, line, column)

    def _place(self, text: str) -> tuple[int | None, int | None]:
        return _first(self.text or "", text)


@lru_cache(maxsize=64)
def _first(text: str, words: str) -> tuple[int | None, int | None]:
    """The place of the first ``words`` in ``text``: thousands of findings may name the same one."""
    offset = text.find(words)
    return place(text, offset) if offset >= 0 else (None, None)


def contents(path: Path, most: int = LARGEST) -> bytes:
    """The bytes of a file.

    Raises:
        OSError: It is not readable.
        ValueError: It has more than ``most`` bytes.
    """
    return bounded.read(path, most)


def place(text: str, index: int) -> tuple[int, int]:
    """Line and column, both from 1, of a character."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)
