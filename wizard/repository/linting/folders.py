"""Names, versions and the files that must be in them."""

from __future__ import annotations

import re

from wizard.kernel.language import tr
from wizard.repository.linting.finding import Finding
from wizard.repository.linting.model import MODEL_FILES, Model

URL_SAFE = re.compile(r"[A-Za-z0-9._~-]+")


def names(model: Model) -> list[Finding]:
    """The folder's name against the configuration's, and against what can be asked for."""
    findings = []
    name = model.config.name if model.config else ""
    if name and name != model.name:
        what = tr("the folder is {name!r}, but the model's name is {said!r}", name=model.name, said=name)
        findings.append(model.finding("R201", what, tr("Use the same name for both."), at=f'"{name}"'))
    if re.search(r"\s", model.name):
        what = tr("the name {name!r} contains a space; the Python backend cannot start with it", name=model.name)
        findings.append(model.finding("R202", what, tr("Rename the folder and the model in it."), file=""))
    elif not URL_SAFE.fullmatch(model.name):
        what = tr("the name {name!r} must be escaped in every URL", name=model.name)
        fix = tr("Use letters, digits, dots, hyphens and underscores.")
        findings.append(model.finding("R208", what, fix, severity="warning", file=""))
    return findings


def configuration(model: Model) -> list[Finding]:
    """What is wrong with a model that has no configuration."""
    fix = tr("Create one; `triton-wizard plan` shows examples from the wizard's own stacks.")
    complete = {MODEL_FILES[name] for name in ("onnxruntime", "tensorrt", "openvino")}
    if any(model.file(version, file).exists() for version in model.versions for file in complete):
        what = tr("no config.pbtxt; a server started with --disable-auto-complete-config rejects the model")
        return [model.finding("R106", what, fix, severity="warning")]
    return [model.finding("R106", tr("no config.pbtxt"), fix)]


def versions(model: Model) -> list[Finding]:
    """The folders of versions."""
    findings = []
    numbers = {str(number) for number in model.versions}
    for name in model.subfolders:
        if name not in numbers and re.fullmatch(r"-?\d+", name):
            what = tr("{name!r} is not a version: use a number without sign or leading zero", name=name)
            negative = name.startswith("-")  # Triton 2.51.0 takes it for 2**64 - 1 and never comes up
            fix = tr("Name the folder 1, 2, …")
            findings.append(
                model.finding("R204", what, fix, severity="error" if negative else "warning", file=f"{name}/")
            )
    if not numbers:
        what = tr("no version folder")
        return [
            *findings,
            model.finding("R203", what, tr("Create {name}/1, even if it stays empty.", name=model.name), file=""),
        ]
    policy = model.config.version_policy
    if policy.HasField("specific") and not policy.specific.versions:
        findings.append(
            model.finding("R206", tr("version_policy lists no version"), tr("Add one."), at="version_policy")
        )
    for version in policy.specific.versions:
        if str(version) not in numbers:
            what = tr("version_policy requires version {wanted}, which is missing", wanted=version)
            findings.append(
                model.finding(
                    "R206",
                    what,
                    tr("Create {name}/{wanted}, or change version_policy.", name=model.name, wanted=version),
                )
            )
    return findings


def loaded(model: Model) -> list[int]:
    """The versions that Triton loads (``version_policy``; without one, the newest)."""
    policy = model.config.version_policy
    chosen = policy.WhichOneof("policy_choice")
    ordered = sorted(model.versions)
    if chosen == "specific":
        return [number for number in ordered if number in policy.specific.versions]
    if chosen == "all":
        return ordered
    return ordered[-max(1, policy.latest.num_versions) :]


def files(model: Model, file: str = "") -> list[Finding]:
    """The file that the backend looks for in each version that is loaded; ``wanted`` where only its stack knows it."""
    file = file or model.config.default_model_filename or MODEL_FILES.get(model.backend, "")
    if model.is_ensemble or not file:
        return []
    return [
        model.finding(
            "R205",
            tr("the backend {backend!r} needs {wanted}, which is missing", backend=model.backend, wanted=file),
            tr(
                "Put it in {name}/{version}. (With the Python backend, the server does not start without it.)",
                name=model.name,
                version=version,
            ),
            file=f"{version}/{file}",
        )
        for version in loaded(model)
        if not model.file(version, file).exists()
    ]
