"""How an ensemble connects its members: names, types, dimensions, and that every tensor is produced before it is used.

Each rule is one that tritonserver 2.51.0 applies when it polls the repository (docs/repositories.md quotes it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from wizard.kernel.language import tr
from wizard.repository.linting.finding import Finding
from wizard.repository.linting.model import Model

Shape: TypeAlias = tuple[int, tuple[int, ...], bool]
"""Type, dimensions without the batch dimension, and whether there is one."""


def ensemble(model: Model, models: Mapping[str, Model]) -> list[Finding]:
    """All checks of an ensemble; none for other models."""
    config = model.config
    if config.HasField("ensemble_scheduling") and (not model.is_ensemble or config.backend):
        fix = tr('Use platform: "ensemble" and no backend, or remove ensemble_scheduling.')
        return [model.finding("R501", tr('ensemble_scheduling requires platform: "ensemble" and no backend'), fix)]
    if not model.is_ensemble:
        return []
    if config.backend:
        return [model.finding("R501", tr("an ensemble cannot have a backend"), tr("Remove backend."), at="backend")]
    if not config.ensemble_scheduling.step:
        return [model.finding("R501", tr("the ensemble has no steps"), tr("Add them to ensemble_scheduling."))]
    findings = []
    if config.instance_group:
        message = tr("an ensemble cannot have its own instances")
        findings.append(model.finding("R501", message, tr("Remove instance_group."), at="instance_group"))
    for number, step in enumerate(config.ensemble_scheduling.step):
        findings += _step(model, number, step, models)
    return [*findings, *_flow(model), *_consistent(model, models)]


def _step(model: Model, number: int, step: Any, models: Mapping[str, Model]) -> Iterator[Finding]:
    where = f"step {number} ({step.model_name!r})"
    for field in ("model_name", "input_map", "output_map"):
        if not getattr(step, field):
            yield model.finding("R501", tr("{where} has no {field}", where=where, field=field), tr("Set it."))
    if not step.model_name:
        return
    at = f'"{step.model_name}"'
    member = models.get(step.model_name)
    if member is None:
        message = tr("{where}: no such model in the repository", where=where)
        there = ", ".join(sorted(set(models) - {model.name})) or "none"
        yield model.finding("R502", message, tr("Available models: {there}.", there=there), at=at)
        return
    if step.model_version > 0 and step.model_version not in member.versions:
        message = tr("{where}: no version {model_version}", where=where, model_version=step.model_version)
        yield model.finding("R502", message, tr("Use -1 for the latest version."), at="model_version")
    if member.config is None:
        return
    yield from _names(model, where, step, member)
    size, own = member.config.max_batch_size, model.config.max_batch_size
    if 0 < size < own:
        message = tr(
            "max_batch_size is {own}, but {model_name!r} has {size}", own=own, model_name=step.model_name, size=size
        )
        yield model.finding("R508", message, tr("Use at most {size}.", size=size), at="max_batch_size")


def _names(model: Model, where: str, step: Any, member: Model) -> Iterator[Finding]:
    inputs = {tensor.name: tensor for tensor in member.config.input}
    outputs = {tensor.name for tensor in member.config.output}
    for key, kind, known in (
        *((key, "input", set(inputs)) for key in step.input_map),
        *((key, "output", outputs) for key in step.output_map),
    ):
        if key not in known:
            message = tr("{where} has no {kind} {key!r}", where=where, kind=kind, key=key)
            yield model.finding(
                "R503", message, tr("Available: {known}.", known=", ".join(sorted(known))), at=f'"{key}"'
            )
    for name, tensor in inputs.items():
        if not tensor.optional and name not in step.input_map:
            message = tr("{where}: input {name!r} is not connected", where=where, name=name)
            yield model.finding("R504", message, tr("Map one of the ensemble's tensors to it."))


def _flow(model: Model) -> Iterator[Finding]:
    """Every tensor is produced once, and used."""
    config = model.config
    steps = config.ensemble_scheduling.step
    inputs = [tensor.name for tensor in config.input]
    outputs = [tensor.name for tensor in config.output]
    made: list[str] = [name for step in steps for name in step.output_map.values()]
    used = {name for step in steps for name in step.input_map.values()}
    for name in sorted(set(made) & set(inputs)):
        message = tr("a step overwrites the ensemble's input {name!r}", name=name)
        yield model.finding(
            "R511", message, tr("Give the output a different name."), severity="warning", at=f'"{name}"'
        )
    for name in sorted({name for name in made if made.count(name) > 1}):
        message = tr("the tensor {name!r} is produced more than once", name=name)
        yield model.finding("R507", message, tr("Give each output a different name."), at=f'"{name}"')
    for name in sorted({*inputs, *made} - used - set(outputs)) + sorted(set(inputs) & set(outputs) - used):
        message = tr("the tensor {name!r} is not used by any step", name=name)
        yield model.finding("R507", message, tr("Map or remove it."), at=f'"{name}"')
    there = set(inputs)
    waiting = list(steps)
    while ready := [step for step in waiting if set(step.input_map.values()) <= there]:
        there |= {name for step in ready for name in step.output_map.values()}
        waiting = [step for step in waiting if step not in ready]
    missing = {name for step in waiting for name in step.input_map.values()} - there
    for name in sorted(missing | (set(outputs) - there)):
        message = tr("the tensor {name!r} is never produced", name=name)
        yield model.finding(
            "R507", message, tr("Map an output of a step to it, or add it to the inputs."), at=f'"{name}"'
        )


def _consistent(model: Model, models: Mapping[str, Model]) -> Iterator[Finding]:
    """Types and dimensions of each tensor match wherever it is connected."""
    first: dict[str, tuple[str, Shape]] = {}
    for name, where, shape in _uses(model, models):
        before, other = first.setdefault(name, (where, shape))
        if other[0] != shape[0]:
            message = tr(
                "the tensor {name!r} is {type} in {before} and {other} in {where}",
                name=name,
                type=_type(other[0]),
                before=before,
                other=_type(shape[0]),
                where=where,
            )
            yield model.finding("R505", message, tr("Use the same type in both."), at=f'"{name}"')
        elif not _fits(other, shape):
            message = tr(
                "the tensor {name!r} has dims {dims} in {before} and {other} in {where}",
                name=name,
                dims=list(other[1]),
                before=before,
                other=list(shape[1]),
                where=where,
            )
            yield model.finding("R506", message, tr("Use the same dims in both."), at=f'"{name}"')


def _uses(model: Model, models: Mapping[str, Model]) -> Iterator[tuple[str, str, Shape]]:
    config = model.config
    for tensor in (*config.input, *config.output):
        yield tensor.name, tr("the ensemble"), _shape(tensor, config)
    for step in config.ensemble_scheduling.step:
        member = models.get(step.model_name)
        if member is None or member.config is None:
            continue
        for tensors, names in ((member.config.input, step.input_map), (member.config.output, step.output_map)):
            known = {tensor.name: tensor for tensor in tensors}
            for key in sorted(set(names) & set(known)):
                yield names[key], f"{step.model_name!r}", _shape(known[key], member.config)


def _shape(tensor: Any, config: Any) -> Shape:
    return tensor.data_type, tuple(tensor.dims), config.max_batch_size > 0


def _fits(own: Shape, other: Shape) -> bool:
    def same(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
        return len(a) == len(b) and all(x == y or -1 in (x, y) for x, y in zip(a, b, strict=True))

    full = [(-1, *shape[1]) if shape[2] else shape[1] for shape in (own, other)]
    return same(own[1], other[1]) or same(*full)


def _type(number: int) -> str:
    from tritonclient.grpc import model_config_pb2 as pb

    return str(pb.DataType.Name(number))


def dependents(models: Mapping[str, Model], broken: set[str]) -> list[Finding]:
    """Ensembles that cannot load because a member cannot, directly or through another ensemble."""
    findings: list[Finding] = []
    while True:
        before = len(findings)
        for model in models.values():
            if not model.is_ensemble or model.name in broken:
                continue
            bad = [step.model_name for step in model.config.ensemble_scheduling.step if step.model_name in broken]
            if bad:
                message = tr("the ensemble needs {bad!r}, which cannot load", bad=bad[0])
                findings.append(model.finding("R509", message, tr("Fix that model first."), at=f'"{bad[0]}"'))
                broken = {*broken, model.name}
        if len(findings) == before:
            return [*findings, *_circles(models, broken)]


def _circles(models: Mapping[str, Model], broken: set[str]) -> Iterator[Finding]:
    for model in models.values():
        if not model.is_ensemble or model.name in broken:
            continue
        seen: set[str] = set()
        waiting = [model]
        while waiting:
            config = waiting.pop().config
            for step in config.ensemble_scheduling.step if config else ():
                if step.model_name not in seen:
                    seen.add(step.model_name)
                    waiting.append(models[step.model_name])
        if model.name in seen:
            yield model.finding(
                "R510", tr("the ensemble depends on itself"), tr("Break the cycle."), at=f'"{model.name}"'
            )
