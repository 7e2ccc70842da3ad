"""Models of TensorRT-LLM's backend: the engine's files, the tokenizer's, streaming."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from wizard.kernel import bounded
from wizard.kernel.language import mark, ntr, tr
from wizard.repository.linting.finding import Finding, Server
from wizard.repository.linting.model import Model, contents
from wizard.repository.linting.rules import StackRules
from wizard.repository.linting.text import unreadable
from wizard.stacks.trtllm_engine import templates

FAMILY = "trtllm"
"""Family of the images with this engine."""
STRATEGIES = ("v1", "V1", "inflight_batching", "inflight_fused_batching")
"""Values of gpt_model_type (tensorrtllm_backend, docs/model_config.md); the third is an old name of the last."""

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+|[\w.-]+")
SEEN = mark("If the server's folders differ from this machine's, map them with --mount HERE:/THERE.")


def paths(model: Model, server: Server) -> list[Finding]:
    """The folders in the parameters."""
    findings = []
    tokenizer = model.parameter("tokenizer_dir")
    if tokenizer and "${" not in tokenizer and model.backend != "tensorrtllm":
        folder = here(tokenizer, server)
        if not folder.is_dir() and not (HUB_ID.fullmatch(tokenizer) and not tokenizer.startswith(".")):
            message = tr("the tokenizer's folder {tokenizer} does not exist", tokenizer=tokenizer)
            findings.append(
                model.finding("R701", message, tr("Correct tokenizer_dir. {mount}", mount=tr(SEEN)), at=tokenizer)
            )
    engine = model.parameter("gpt_model_path")
    if model.name == "tensorrt_llm" or model.backend == "tensorrtllm":
        strategy = model.parameter("gpt_model_type")
        if strategy is not None and "${" not in strategy and strategy not in STRATEGIES:
            message = tr("unknown gpt_model_type (batching_strategy): {strategy!r}", strategy=strategy)
            findings.append(
                model.finding("R707", message, tr("Use one of: {known}.", known=", ".join(STRATEGIES)), at=strategy)
            )
        if engine is not None and "${" not in engine:
            findings += _engine(model, engine, server)
    return findings


def here(path: str, server: Server) -> Path:
    """The path on this machine of the server's ``path``."""
    for local, seen in server.mounts:
        if PurePosixPath(path).is_relative_to(seen):
            return Path(local) / PurePosixPath(path).relative_to(seen)
    return Path(path)


def built_for(engine: Path) -> Path:
    """The file beside an engine's folder that records its GPUs: compute capability → name."""
    return engine.with_name(f"{engine.name}.gpus.json")


def _gpus(model: Model, path: str, note: Path, server: Server) -> list[Finding]:
    """An engine only runs on GPUs with the compute capability that it was built on (TensorRT support matrix)."""
    try:
        known = bounded.loads(contents(note))
    except (OSError, ValueError, RecursionError):  # engines built elsewhere have none
        return []
    if not isinstance(known, dict) or not known or not server.capabilities or server.capabilities & set(known):
        return []
    built = ", ".join(f"{name} ({capability})" for capability, name in sorted(known.items()))
    here = ", ".join(sorted(server.capabilities))
    message = tr(
        "the engine was built for {built}, but the GPUs here have compute capability {here}", built=built, here=here
    )
    return [model.finding("R708", message, tr("Build it on the kind of GPU that will run it."), at=path)]


def _engine(model: Model, path: str, server: Server) -> list[Finding]:
    folder = here(path, server)
    if not folder.is_dir():
        return [
            model.finding(
                "R702",
                tr("the engine's folder {path} does not exist", path=path),
                tr("Fix the path. {mount}", mount=tr(SEEN)),
                at=path,
            )
        ]
    try:
        config = bounded.loads(contents(folder / "config.json"))
        tp, pp, version, batch = _facts(config)
    except (OSError, ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        message = tr("{path}/config.json is not a valid engine configuration: {error}", path=path, error=error)
        return [model.finding("R703", message, tr("Use the folder written by trtllm-build (or build.py)."), at=path)]
    return [
        *_files(model, path, folder, (tp, pp)),
        *_version(model, path, version, server),
        *_gpus(model, path, built_for(folder), server),
        *_limits(model, path, server, tp * pp, batch),
    ]


def _files(model: Model, path: str, folder: Path, split: tuple[int, int]) -> Iterator[Finding]:
    ranks = sorted(each.name for each in folder.glob("*rank*.engine"))
    tp, pp = split
    if len(ranks) != tp * pp:
        message = tr(
            "the number of engine files in {path} is {count}, but config.json specifies tensor parallel {tp} × "
            "pipeline parallel {pp}",
            path=path,
            count=len(ranks),
            tp=tp,
            pp=pp,
        )
        yield model.finding("R704", message, tr("Rebuild the engine, or copy all of its files."), at=path)


def _version(model: Model, path: str, version: str | None, server: Server) -> Iterator[Finding]:
    own = server.engines.get(FAMILY)
    if own and version and version != own:
        message = tr(
            "the engine was built with TensorRT-LLM {version}, but {name} has {own}",
            version=version,
            name=tr(server.name),
            own=own,
        )
        yield model.finding("R705", message, tr("Build it in the image that serves it."), at=path)


def _limits(model: Model, path: str, server: Server, world: int, batch: int | None) -> Iterator[Finding]:
    if server.gpus is not None and 0 < server.gpus < world:
        message = ntr(
            "the engine needs {count} GPUs, but there is only {gpus}",
            "the engine needs {count} GPUs, but there are only {gpus}",
            server.gpus,
            count=world,
            gpus=server.gpus,
        )
        yield model.finding("R402", message, tr("Build it for fewer GPUs, or use another machine."), at=path)
    if batch is not None and batch < model.config.max_batch_size:
        message = tr(
            "max_batch_size is {max_batch_size}, but the engine was built for {batch}",
            max_batch_size=model.config.max_batch_size,
            batch=batch,
        )
        fix = tr("Use {batch} or less.", batch=batch)
        yield model.finding("R706", message, fix, severity="warning", at="max_batch_size")


def _facts(config: dict[str, Any]) -> tuple[int, int, str | None, int | None]:
    """Tensor and pipeline parallel size, TensorRT-LLM's version and maximum batch size in an engine's config.json.

    From 0.8 on they are in ``pretrained_config.mapping`` and ``build_config``; 0.7's build.py wrote ``builder_config``.
    """
    if "builder_config" in config:
        built = config["builder_config"]
        tp, pp, version, batch = built["tensor_parallel"], built.get("pipeline_parallel", 1), None, built
    else:
        mapping = config["pretrained_config"].get("mapping", {})
        tp, pp, version = mapping.get("tp_size", 1), mapping.get("pp_size", 1), config.get("version")
        batch = config.get("build_config", {})
    largest = batch.get("max_batch_size")
    return int(tp), int(pp), version, None if largest is None else int(largest)


def streaming(model: Model, models: Mapping[str, Model]) -> list[Finding]:
    """Features that only a decoupled model can stream."""
    config = model.config
    if model.is_ensemble or config.model_transaction_policy.decoupled:
        return []
    fix = tr("Set model_transaction_policy { decoupled: true }, or do not request streaming.")
    if model.backend in ("tensorrtllm", "python") and any(
        each.name in ("streaming", "stream") for each in config.input
    ):
        users = [
            each.name
            for each in models.values()
            if each.config and each.is_ensemble
            for step in each.config.ensemble_scheduling.step
            if step.model_name == model.name
        ]
        through = tr(" (also through {set})", set=", ".join(sorted(set(users)))) if users else ""
        message = tr(
            "the model has a streaming input{through} but is not decoupled, so it rejects streaming requests",
            through=through,
        )
        return [model.finding("R901", message, fix, severity="warning")]
    for version in model.versions:
        path = model.file(version, "model.yaml")
        try:
            text = contents(path) if path.is_file() else b""
        except (OSError, ValueError) as error:
            return [unreadable(model, error, f"{version}/model.yaml")]
        if re.search(rb"^\s*decoupled:\s*[Tt]rue", text, re.MULTILINE):
            message = tr(
                "model.yaml sets decoupled, but config.pbtxt does not; with launch_triton_server.py, only the "
                "latter takes effect"
            )
            return [model.finding("R901", message, fix, severity="warning")]
    return []


def findings(model: Model, models: Mapping[str, Model], server: Server) -> list[Finding]:
    """All findings about a model."""
    return [*templates.unfilled(model), *paths(model, server), *streaming(model, models)]


def of_all(models: Mapping[str, Model]) -> list[Finding]:
    """All findings about all models together."""
    return templates.defaults(models.values())


PORT = StackRules(findings, of_all)
