"""Fields of a case in the words of other files: ``machine`` of a recorded host, ``config`` of a config.json. Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.kernel.values import from_data, to_data
from wizard.model import config as configs
from wizard.model.facts import ModelFacts, Quantization, WeightFile
from wizard.probe import hardware
from wizard.probe.host import Host


def machine(host: Host, fields: dict[str, Any]) -> Host:
    """``host`` with the fields of a recorded host (``probe --save``); mappings are merged, lists and values replaced.

    Raises:
        ValueError: If a field is unknown or its value impossible; the message names it.
    """
    if not fields:
        return host
    try:
        made = from_data(Host, _merged(to_data(host), fields, "machine"), where="`machine`")
    except WizardError as error:
        raise ValueError(error.what) from error
    if wrong := hardware.fault(made):
        raise ValueError(wrong)
    return made


def _merged(data: dict[str, Any], fields: dict[str, Any], where: str) -> dict[str, Any]:
    merged = dict(data)
    for name, new in fields.items():
        if name not in data and not where.endswith(".unknown"):  # whose keys are free
            raise ValueError(tr("{field} is not a field of a recorded host", field=f"{where}.{name}"))
        old: Any = data.get(name)
        both = isinstance(old, dict) and isinstance(new, dict)
        merged[name] = _merged(old, new, f"{where}.{name}") if both else new
    return merged


def model(ref: str, config: dict[str, Any], gguf: str | None, weight_bytes: int | None) -> ModelFacts:
    """A model described by its config.json.

    Args:
        ref: Its ID.
        config: The contents of config.json.
        gguf: File type, such as ``Q4_K_M``, of a GGUF file with its weights; None for safetensors.
        weight_bytes: Size of the weights; None if unknown.

    Raises:
        ValueError: If a value is impossible; the message names the field.
    """
    name = re.split(r"[/\\]", ref)[-1]
    try:
        facts = configs.describe(ModelFacts(ref, "case", ref, name, None, None), config, "`config`")
    except WizardError as error:
        raise ValueError(error.what) from error
    facts = replace(facts, weight_bytes=weight_bytes)
    if gguf is None:
        return facts
    bits = weight_bytes * 8 / facts.parameters if weight_bytes and facts.parameters else None
    stored = Quantization("gguf", bits, gguf, format=f"gguf_{gguf.lower()}")
    file = WeightFile(f"{name}-{gguf}.gguf", weight_bytes, "gguf")
    return replace(facts, dtype=gguf, quantization=stored, weights=(file,))
