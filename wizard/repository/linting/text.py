"""config.pbtxt as text: unfilled templates, and text that is not a ``ModelConfig``."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from pathlib import Path

from wizard.kernel.language import mark, tr
from wizard.repository.linting.finding import Finding
from wizard.repository.linting.model import CONFIG, Model, contents, place

LARGEST_CONFIG, LARGEST_ALL = 2**18, 2**20
"""Bytes of a configuration, most of them a chat template, and of all of a repository; they take 140 times as much
memory.
"""
MOST_UNFILLED = 100
"""Placeholders to report: finding the line of each takes time."""
TOKEN = re.compile(r"""(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|#[^\n]*|(?P<bare>\$\{[^}\s]*\}?)""")
TYPE = re.compile(r"data_type:\s*\Z")
FILL = mark(
    "Fill it in with tools/fill_template.py from the TensorRT-LLM backend, or generate the file with the wizard."
)

FILL_TYPE = mark(
    "Set the tensor's type, such as TYPE_FP16, with tools/fill_template.py from the TensorRT-LLM backend, or "
    "generate the file with the wizard."
)


def read_all(repository: Path) -> dict[str, Model]:
    """Name → model for every folder of a repository.

    Raises:
        OSError: The repository is not readable.
    """
    models: dict[str, Model] = {}
    left = LARGEST_ALL
    for folder in sorted(repository.iterdir()):
        if folder.is_dir():
            model = models[folder.name] = read(folder, left)
            left -= len((model.text or "").encode())
    return models


def read(folder: Path, left: int = LARGEST_CONFIG) -> Model:
    """Read a model's folder, with a configuration of at most ``left`` bytes."""
    blank = Model(folder, None, None, ())
    try:
        blank = Model(folder, None, None, tuple(sorted(each.name for each in folder.iterdir() if each.is_dir())))
        if not (folder / CONFIG).is_file():
            return blank
        text = contents(folder / CONFIG, min(LARGEST_CONFIG, left)).decode("utf-8")
    except (OSError, ValueError) as error:
        return replace(blank, findings=(unreadable(blank, error),))
    subfolders = blank.subfolders
    shell = Model(folder, text, None, subfolders)
    unfilled = list(islice((match for match in TOKEN.finditer(text) if match["bare"]), MOST_UNFILLED))
    if unfilled:
        findings = [
            shell.finding(
                "R101",
                tr("{match} was never filled in", match=match[0]),
                tr(FILL_TYPE if TYPE.search(text[: match.start()]) else FILL),
                at=place(text, match.start()),
            )
            for match in unfilled
        ]
        return Model(folder, text, None, subfolders, tuple(findings))
    return _parsed(shell, text)


def unreadable(model: Model, error: Exception, file: str = CONFIG) -> Finding:
    """The finding for an unreadable file of a model."""
    fix = tr("Save the file as UTF-8 text, and make it and its folders readable by the user that runs the server.")
    return model.finding("R107", tr("not readable: {error}", error=error), fix, file=file)


def _parsed(shell: Model, text: str) -> Model:
    from google.protobuf import text_format
    from tritonclient.grpc import model_config_pb2 as pb

    try:
        config = text_format.Parse(text, pb.ModelConfig())
    except (text_format.ParseError, ValueError) as error:
        line, column = getattr(error, "GetLine", int)(), getattr(error, "GetColumn", int)()
        message = re.sub(r"^\d+:\d+ : ('.*': )?", "", str(error), flags=re.DOTALL)
        unknown = "no field named" in message
        finding = shell.finding(
            "R105" if unknown else "R104",
            tr("not a valid Triton configuration: {said}", said=message),
            tr("Correct the field name; the schema is model_config.proto in triton-inference-server/common.")
            if unknown
            else tr("Correct the configuration; the schema is model_config.proto in triton-inference-server/common."),
            at=(line, column) if line else None,
        )
        return Model(shell.folder, text, None, shell.subfolders, (finding,))
    return Model(shell.folder, text, config, shell.subfolders)
