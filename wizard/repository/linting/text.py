"""config.pbtxt as text: templates that were not filled, and what is no ``ModelConfig``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from wizard.kernel.language import mark, tr
from wizard.repository.linting.finding import Finding
from wizard.repository.linting.model import CONFIG, Model, contents, place

TOKEN = re.compile(r"""(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|#[^\n]*|(?P<bare>\$\{[^}\s]*\}?)""")
VARIABLE = re.compile(r"\$\{[^}]*\}")
TYPE = re.compile(r"data_type:\s*\Z")
FILL = mark("Fill it: tools/fill_template.py of the TensorRT-LLM backend does, or let the wizard write the file.")

FILL_TYPE = mark(
    "Fill it with the tensor's type, such as TYPE_FP16: tools/fill_template.py of the TensorRT-LLM backend does, or "
    "let the wizard write the file."
)

NEEDED = {"gpt_model_path", "gpt_model_type", "tokenizer_dir"}
"""Parameters whose template the backend takes for their value and then fails; of others it takes the default
(tensorrtllm_backend v0.13.0, model_instance_state.cc)."""
VISUAL = ("visual_model_path", "multimodal_model_path")
"""Parameters of ``preprocessing`` that name a visual model; without one it does not read ``gpt_model_path``
(tensorrtllm_backend v0.12.0 to v0.19.0, preprocessing/1/model.py; the second name from v0.19.0 on)."""


def read(folder: Path) -> Model:
    """Read one model's folder."""
    blank = Model(folder, None, None, ())
    try:
        blank = Model(folder, None, None, tuple(sorted(each.name for each in folder.iterdir() if each.is_dir())))
        if not (folder / CONFIG).is_file():
            return blank
        text = contents(folder / CONFIG).decode("utf-8")
    except (OSError, ValueError) as error:
        return replace(blank, findings=(unreadable(blank, error),))
    subfolders = blank.subfolders
    shell = Model(folder, text, None, subfolders)
    unfilled = [match for match in TOKEN.finditer(text) if match["bare"]]
    if unfilled:
        findings = [
            shell.finding(
                "R101",
                tr("{match} was never filled", match=match[0]),
                tr(FILL_TYPE if TYPE.search(text, 0, match.start()) else FILL),
                at=place(text, match.start()),
            )
            for match in unfilled
        ]
        return Model(folder, text, None, subfolders, tuple(findings))
    return _parsed(shell, text)


def unreadable(model: Model, error: Exception, file: str = CONFIG) -> Finding:
    """The finding for what cannot be read of a model."""
    fix = tr("Make it a readable text in UTF-8, and its folders readable by whoever runs the server.")
    return model.finding("R107", tr("this cannot be read: {error}", error=error), fix, file=file)


def _parsed(shell: Model, text: str) -> Model:
    from google.protobuf import text_format
    from tritonclient.grpc import model_config_pb2 as pb

    try:
        config = text_format.Parse(text, pb.ModelConfig())
    except (text_format.ParseError, ValueError) as error:
        line, column = getattr(error, "GetLine", int)(), getattr(error, "GetColumn", int)()
        said = re.sub(r"^\d+:\d+ : ('.*': )?", "", str(error), flags=re.DOTALL)
        unknown = "no field named" in said
        finding = shell.finding(
            "R105" if unknown else "R104",
            tr("this is no configuration of Triton: {said}", said=said),
            tr("Correct the field's name; the schema is model_config.proto of triton-inference-server/common.")
            if unknown
            else tr("Correct the text; the schema is model_config.proto of triton-inference-server/common."),
            at=(line, column) if line else None,
        )
        return Model(shell.folder, text, None, shell.subfolders, (finding,))
    return Model(shell.folder, text, config, shell.subfolders)


def unfilled(model: Model) -> list[Finding]:
    """Templates in strings that the server takes as they are and then fails with."""
    return [
        model.finding(
            "R102", tr("the parameter {key!r} is still {match}", key=key, match=variable), tr(FILL), at=variable
        )
        for key, variable in _variables(model)
        if _needed(model, key)
    ]


def defaults(models: Iterable[Model]) -> list[Finding]:
    """Templates in strings that the backend takes its default for: one finding for all of them."""
    left = [
        (model, key, variable) for model in models for key, variable in _variables(model) if not _needed(model, key)
    ]
    if not left:
        return []
    of: dict[str, list[str]] = {}
    for model, key, _ in left:
        of.setdefault(model.name, []).append(key)
    model, key, variable = left[0]
    if len(left) == 1:
        what = tr("the parameter {key!r} is still {match}; the backend takes its default", key=key, match=variable)
    else:
        what = tr(
            "{count} optional parameters are still placeholders, and the backend takes its defaults: {names}",
            count=len(left),
            names="; ".join(f"{name}: {', '.join(keys)}" for name, keys in of.items()),
        )
    if len(of) == 1:
        return [model.finding("R103", what, tr(FILL), severity="warning", at=variable)]
    return [Finding("R103", "warning", "", "", what, tr(FILL))]


def _variables(model: Model) -> list[tuple[str, str]]:
    """Parameters that still hold a variable of the template, and the variable."""
    if model.config is None:
        return []
    matches = [(key, VARIABLE.search(value.string_value)) for key, value in sorted(model.config.parameters.items())]
    return [(key, match[0]) for key, match in matches if match]


def _needed(model: Model, key: str) -> bool:
    if key == "tokenizer_dir":
        return model.backend != "tensorrtllm"
    visual = [value for value in map(model.parameter, VISUAL) if value is not None]
    if key == "gpt_model_path" and visual:
        return any(value and not VARIABLE.search(value) for value in visual)
    return key in NEEDED
