"""``model.py`` of the Python backend, compiled and never run."""

from __future__ import annotations

import ast
import sys

from wizard.kernel.language import tr
from wizard.repository.linting.finding import Finding
from wizard.repository.linting.folders import loaded
from wizard.repository.linting.model import Model, contents

CLASS = "TritonPythonModel"
LARGEST = 2**18
"""Bytes of a program; its syntax tree takes 700 times as much memory."""


def python_models(model: Model) -> list[Finding]:
    """Check the syntax of each version's model.py, and that it has the class that the backend requires."""
    if model.backend != "python":
        return []
    findings = []
    for version in loaded(model):
        name = model.config.default_model_filename or "model.py"
        if model.file(version, name).is_file():
            findings += _check(model, version, name)
    return findings


def _check(model: Model, version: int, name: str) -> list[Finding]:
    where = f"{version}/{name}"
    try:
        tree = ast.parse(contents(model.file(version, name), LARGEST))
    except SyntaxError as error:
        at = (error.lineno, error.offset or 1) if error.lineno else None
        fix = tr(
            "Fix the syntax error. (The file was parsed as Python {major}.{minor}, not run.)",
            major=sys.version_info[0],
            minor=sys.version_info[1],
        )
        return [model.finding("R601", tr("not valid Python: {msg}", msg=error.msg), fix, file=where, at=at)]
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        return [model.finding("R601", tr("not valid Python: {error}", error=error), tr("Fix the file."), file=where)]
    names = {
        getattr(node, "asname", None) or getattr(node, "name", None) or getattr(node, "id", None)
        for node in ast.walk(tree)
        if isinstance(node, (ast.ClassDef, ast.alias))
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    }
    if CLASS in names or "*" in names:
        return []
    return [
        model.finding(
            "R602",
            tr("class {name} is missing", name=CLASS),
            tr("Name the model's class {name}.", name=CLASS),
            file=where,
        )
    ]
