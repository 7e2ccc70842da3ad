"""Facts of files on disk: a model folder or a ``.gguf`` file. Pickle files are reported, never opened."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from wizard.kernel import regular_files
from wizard.kernel.errors import ModelError
from wizard.kernel.language import mark, tr
from wizard.kernel.values import from_json
from wizard.model import (
    chat_format,
    config,
    gguf,
    gguf_anatomy,
    gguf_files,
    gguf_layers,
    gguf_parts,
    quantization,
    safetensors,
    task,
    weights,
)
from wizard.model.facts import Gate, ModelFacts, Quantization, WeightFile
from wizard.model.untrusted import label, optional_object, read_bytes, read_object, unreadable, whole

_SUFFIXES = {
    **dict.fromkeys((".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"), "pickle"),
    ".safetensors": "safetensors",
    ".gguf": "gguf",
}
_FRONT_MATTER = 20_000  # maximum number of bytes of a model card to search for fields
LARGEST_INDEX = 32_000_000
"""Bytes of the index of a checkpoint's files; that of Kimi K2 has 14 MB."""
ADAPTER = "adapter_config.json"
"""PEFT's configuration of an adapter; its folder has no config.json."""
_NO_WEIGHTS = mark("no weights next to config.json")
_UNQUANTIZED = ("F32", "F16", "BF16", "F64")
_GGUF_FIELDS = {
    "layers": ("block_count", 10_000),
    "hidden_size": ("embedding_length", 1_000_000),
    "heads": ("attention.head_count", 100_000),
    "kv_heads": ("attention.head_count_kv", 100_000),
    "head_dim": ("attention.key_length", 100_000),
    "intermediate_size": ("feed_forward_length", 100_000_000),
    "vocabulary": ("vocab_size", 100_000_000),
    "experts": ("expert_count", 100_000),
    "experts_per_token": ("expert_used_count", 100_000),
    "max_context": ("context_length", 1_000_000_000),
}
"""Field of `ModelFacts` → its key in a GGUF file after ``ARCHITECTURE.`` (ggml, docs/gguf.md), and its plausible
maximum.
"""


def weight_format(name: str) -> Any:
    """``safetensors``, ``gguf``, ``pickle``, or None if it is not a weight file, by its name."""
    if Path(name).name in ("training_args.bin", "optimizer.bin", "scheduler.bin"):
        return None
    return _SUFFIXES.get(Path(name).suffix.lower())


def of_path(path: Path, ref: str) -> ModelFacts:
    """Facts of a folder or a ``.gguf`` file.

    Raises:
        ModelError: TW-M02 if it does not exist; others see `of_folder` and `of_gguf`.
    """
    try:
        is_folder, is_file = path.is_dir(), path.is_file()
    except OSError as error:  # no permission, or a name that is too long
        raise unreadable(path, error) from error
    if is_folder:
        return of_folder(path, ref)
    if not is_file:
        text = tr("file or folder not found: {path}", path=path)
        raise ModelError("TW-M02", text, tr("Check the path; run `ls` to see what is there."))
    if path.suffix.lower() == ".gguf":
        return of_gguf(path, ref)
    if weight_format(path.name) == "pickle":
        raise only_pickle(str(path))
    raise ModelError(
        "TW-M03",
        tr("{path} is neither a model folder nor a .gguf file", path=path),
        tr("Pass the folder that contains config.json, or a file whose name ends in .gguf."),
    )


def of_folder(folder: Path, ref: str) -> ModelFacts:
    """Facts of a folder with ``config.json``, of a diffusers pipeline, or of the GGUF file in it.

    Raises:
        ModelError: TW-M03 if it has no model; TW-M04, TW-M05, TW-M07, TW-M08 if its files are damaged;
            TW-M06 if its weights are pickle files only.
    """
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    except OSError as error:
        raise unreadable(folder, error) from error
    if "config.json" not in names:
        if task.PIPELINE not in names:
            return _folder_of_gguf(folder, names, ref)
        return replace(_in_folder(folder, ref), task="diffusion")
    facts = _in_folder(folder, ref)
    return _with_weights(described(facts, folder), folder, names)


def _in_folder(folder: Path, ref: str) -> ModelFacts:
    """The facts of a folder without those in its files."""
    return ModelFacts(ref, "folder", str(folder.absolute()), _name(folder), None, None, licence=_licence(folder))


def described(facts: ModelFacts, folder: Path) -> ModelFacts:
    """``facts`` completed from config.json and the small files beside it.

    Raises:
        ModelError: TW-M04 or TW-M05 if one of them is damaged.
    """
    settings = read_object(folder / "config.json")
    facts = config.describe(facts, settings, str(folder / "config.json"))
    facts = replace(facts, task=task.of_folder(folder, settings))
    chat = chat_format.of_folder(folder)
    unknown = {} if chat or facts.task else {"chat": tr("no chat template next to config.json")}
    stored_as = facts.quantization or quantization.of_modelopt(optional_object(folder / "hf_quant_config.json"))
    return replace(facts, chat=chat, quantization=stored_as, unknown={**facts.unknown, **unknown})


def of_gguf(path: Path, ref: str) -> ModelFacts:
    """Facts of a ``.gguf`` file, or of the split file that it is a part of, and of the small files beside it.

    Raises:
        ModelError: TW-M09 or TW-M10 if it is damaged; TW-M20 if parts are missing; TW-M05 if its metadata is invalid.
        UsageError: TW-K01 or TW-K02 if a file beside it does not fit.
    """
    header = gguf.read(path)
    names = gguf_parts.parts(path.name)
    path, name = path.with_name(names[0]), Path(gguf_parts.title(path.name)).stem
    facts = describe_gguf(
        ModelFacts(ref, "gguf", str(path.absolute()), name, None, None, licence=_licence(path.parent), local=True),
        header,
        str(path),
    )
    questions, gate = path.parent / "questions.json", path.parent / "gate.json"
    return replace(
        facts,
        weights=gguf_files.weight_files(path.name, {name: path.with_name(name).stat().st_size for name in names}),
        questions=from_json(tuple[str, ...], read_bytes(questions), where=str(questions))
        if questions.is_file()
        else (),
        gate=from_json(Gate, read_bytes(gate), where=str(gate)) if gate.is_file() else None,
    )


def describe_gguf(facts: ModelFacts, header: gguf.Header, where: str) -> ModelFacts:
    """``facts`` completed from a GGUF header.

    Raises:
        ModelError: TW-M05 if a value is invalid.
    """
    meta = header.metadata
    architecture = label(meta.get("general.architecture"))
    numbers: dict[str, Any] = {}
    for name, (key, high) in _GGUF_FIELDS.items():
        low = 0 if name.startswith("experts") else 1
        numbers[name] = whole(meta, f"{architecture}.{key}", high, where, low=low) or None
    numbers["kv_heads"] = numbers["kv_heads"] or numbers["heads"]
    if numbers["head_dim"] is None and numbers["heads"] and numbers["hidden_size"]:
        numbers["head_dim"] = numbers["hidden_size"] // numbers["heads"] or None
    numbers["vocabulary"] = header.vocabulary or numbers["vocabulary"]
    unknown = {
        name: tr("the file's header does not contain {field}", field=_GGUF_FIELDS[name][0])
        for name, value in numbers.items()
        if value is None and not name.startswith("experts")
    }
    chat = chat_format.of_gguf(header)
    if chat is None:
        unknown["chat"] = tr("the file has no chat template")
    if header.parameters is None:
        unknown["parameters"] = tr("only the start of the file was read")
    anatomy = gguf_anatomy.anatomy(header, numbers, where)
    if anatomy is None:
        unknown["anatomy"] = unknown.get("parameters") or tr(
            "the file's header lacks a field needed to estimate memory and speed"
        )
    return replace(
        facts,
        anatomy=anatomy,
        stored=gguf_anatomy.bytes_by_part(header, numbers),
        gguf_layers=gguf_layers.layers(header, numbers["layers"]),
        name=label(meta.get("general.name"), 60) or facts.name,
        architecture=architecture,
        parameters=header.parameters,
        **numbers,
        dtype=header.file_type,
        weight_bytes=header.weight_bytes,
        quantization=_gguf_quantization(header),
        licence=facts.licence or label(meta.get("general.license")),
        chat=chat,
        task=task.of_gguf(meta, architecture),
        unknown={**facts.unknown, **unknown},
    )


def only_pickle(where: str) -> ModelError:
    """The error for weights that run code when loaded."""
    return ModelError(
        "TW-M06",
        tr(
            "{where} contains only pickle weights (.bin, .pt), which can run arbitrary code when loaded",
            where=where,
        ),
        tr("Choose a repository or revision with .safetensors or .gguf files, or convert the weights in a sandbox."),
    )


def _gguf_quantization(header: gguf.Header) -> Quantization | None:
    if header.file_type is None or header.file_type in _UNQUANTIZED:
        return None
    bits = None
    if header.parameters and header.weight_bytes:
        bits = round(header.weight_bytes * 8 / header.parameters, 2)
    return Quantization("gguf", bits, header.file_type, format=f"gguf_{header.file_type.lower()}")


def _folder_of_gguf(folder: Path, names: list[str], ref: str) -> ModelFacts:
    files = [name for name in names if weight_format(name) == "gguf"]
    if chosen := gguf_files.preferred(files):
        return of_gguf(folder / chosen, ref)
    if not gguf_files.whole(files) and (absent := gguf_files.absent(files)):
        raise gguf_parts.incomplete(str(folder), absent, len(gguf_parts.parts(absent[0])))
    if files:
        text = tr("{folder} contains {count} .gguf files", folder=folder, count=len(files))
        raise ModelError("TW-M03", text, tr("Choose one of them, for example: {file}", file=folder / files[0]))
    if ADAPTER in names:
        raise _adapter(folder)
    if any(weight_format(name) == "pickle" for name in names):
        raise only_pickle(str(folder))
    raise ModelError(
        "TW-M03",
        tr("{folder} contains no model: it has neither config.json nor a .gguf file", folder=folder),
        tr("Pass a folder written by `hf download` or `save_pretrained`; it contains config.json."),
    )


def _adapter(folder: Path) -> ModelError:
    """The error for an adapter without its model."""
    base = label(optional_object(folder / ADAPTER).get("base_model_name_or_path"))
    return ModelError(
        "TW-M03",
        tr("{folder} contains an adapter (LoRA) for {base}, not a model", folder=folder, base=base or tr("a model")),
        tr("Merge it into that model (PEFT: `merge_and_unload`, then `save_pretrained`) and pass the new folder."),
    )


def _with_weights(facts: ModelFacts, folder: Path, names: list[str]) -> ModelFacts:
    """Add the weight files, their sizes and the contents of their headers."""
    files = loaded_files(names)
    if index := next((name for name in names if name.endswith(".safetensors.index.json")), None):
        files = _shards(folder / index)
    if not files:
        if facts.task is None and any(weight_format(name) == "pickle" for name in names):
            raise only_pickle(str(folder))
        return replace(facts, unknown={**facts.unknown, "weight_bytes": tr(_NO_WEIGHTS)})
    tensors: list[safetensors.Tensor] = []
    for name in files:
        tensors += safetensors.read(folder / name)
        if len(tensors) > safetensors.MOST_TENSORS:
            raise safetensors.damaged(folder / name, tr("more than {count:,} tensors", count=safetensors.MOST_TENSORS))
    facts = replace(
        facts,
        weight_bytes=sum(tensor.bytes for tensor in tensors),
        weights=tuple(WeightFile(name, (folder / name).stat().st_size, "safetensors") for name in files),
        local=True,
    )
    return weights.with_tensors(facts, tensors, read_object(folder / "config.json"), str(folder / "config.json"))


def loaded_files(names: list[str]) -> list[str]:
    """The safetensors files that an engine loads: not adapters, nor a second copy (``consolidated``)."""
    plain_files = [name for name in names if weight_format(name) == "safetensors" and "/" not in name]
    if "model.safetensors" in plain_files:
        return ["model.safetensors"]
    return [name for name in plain_files if not name.startswith(("adapter", "consolidated"))]


def _is_file_name(name: str) -> bool:
    """Whether Linux's file systems can have it (NAME_MAX of limits.h), in this folder."""
    return Path(name).name == name and name.isprintable() and len(name.encode()) <= 255


def _shards(index: Path) -> list[str]:
    """Shards in an index, all of which must exist."""
    shards = read_object(index, LARGEST_INDEX).get("weight_map")
    values = set(shards.values()) if isinstance(shards, dict) and _all_text(shards.values()) else set()
    names = sorted(values)
    if not names or not all(map(_is_file_name, names)):
        raise safetensors.damaged(index, tr("its weight_map is missing or invalid"))
    missing = [name for name in names if not (index.parent / name).is_file()]
    if missing:
        raise ModelError(
            "TW-M08",
            tr(
                "{missing} of {all} weight files are missing from {folder}: {names}",
                missing=len(missing),
                all=len(names),
                folder=index.parent,
                names=", ".join(missing[:3]) + (" …" if len(missing) > 3 else ""),
            ),
            tr("Run the download again; `hf download` resumes where it stopped."),
        )
    return names


def _all_text(values: Any) -> bool:
    return all(isinstance(value, str) and value.endswith(".safetensors") for value in values)


def _name(folder: Path) -> str:
    return folder.resolve().name or str(folder)


def _licence(folder: Path) -> str | None:
    """The ``license`` in a model card's front matter (Hub documentation, "Model Cards")."""
    try:
        with regular_files.opened(folder / "README.md") as card:
            return card_licence(card.read(_FRONT_MATTER).decode("utf-8", "replace"))
    except OSError:  # most folders have no card
        return None


def card_licence(text: str) -> str | None:
    """The license that a model card declares: ``license_name`` if ``license`` is ``other``."""
    front = re.match(r"---\s*\n(.*?)\n---", text, re.DOTALL)
    if front is None:
        return None
    fields = dict(re.findall(r"^(license|license_name):[ \t]*['\"]?([^\s'\"#]+)", front[1], re.MULTILINE))
    chosen = fields.get("license_name") if fields.get("license") == "other" else None
    return label(chosen or fields.get("license"), 60)
