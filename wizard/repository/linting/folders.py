"""Names, versions and the required files."""

from __future__ import annotations

import re

from wizard.kernel.language import tr
from wizard.repository.linting.finding import Finding
from wizard.repository.linting.model import MODEL_FILES, Model

URL_SAFE = re.compile(r"[A-Za-z0-9._~-]+")


def names(model: Model) -> list[Finding]:
    """The folder's name must match the configuration's, and be valid in requests."""
    findings = []
    name = model.config.name if model.config else ""
    if name and name != model.name:
        message = tr("the folder is {name!r}, but the model's name is {said!r}", name=model.name, said=name)
        findings.append(model.finding("R201", message, tr("Use the same name for both."), at=f'"{name}"'))
    if re.search(r"\s", model.name):
        message = tr(
            "the name {name!r} contains a space, which Triton's Python backend does not support", name=model.name
        )
        findings.append(
            model.finding(
                "R202", message, tr("Rename the folder, and change the name in its config.pbtxt to match."), file=""
            )
        )
    elif not URL_SAFE.fullmatch(model.name):
        message = tr("the name {name!r} must be escaped in every URL", name=model.name)
        fix = tr("Use letters, digits, dots, hyphens and underscores.")
        findings.append(model.finding("R208", message, fix, severity="warning", file=""))
    return findings


def configuration(model: Model) -> list[Finding]:
    """What is wrong with a model that has no configuration."""
    fix = tr("Create one; for an example, run `triton-wizard plan` with --full.")
    complete = {MODEL_FILES[name] for name in ("onnxruntime", "tensorrt", "openvino")}
    if any(model.file(version, file).exists() for version in model.versions for file in complete):
        message = tr("no config.pbtxt; a server started with --disable-auto-complete-config rejects the model")
        return [model.finding("R106", message, fix, severity="warning")]
    return [model.finding("R106", tr("no config.pbtxt"), fix)]


def versions(model: Model) -> list[Finding]:
    """The version folders."""
    findings = []
    numbers = {str(number) for number in model.versions}
    for name in model.subfolders:
        if name not in numbers and re.fullmatch(r"-?\d+", name):
            message = tr("{name!r} is not a valid version: use a number without a sign or leading zeros", name=name)
            negative = name.startswith("-")  # Triton 2.51.0 reads it as 2**64 - 1 and never becomes ready
            fix = tr("Name the folder 1, 2, …")
            findings.append(
                model.finding("R204", message, fix, severity="error" if negative else "warning", file=f"{name}/")
            )
    if not numbers:
        message = tr("no version folder")
        return [
            *findings,
            model.finding("R203", message, tr("Create {name}/1, even if it stays empty.", name=model.name), file=""),
        ]
    policy = model.config.version_policy
    if policy.HasField("specific") and not policy.specific.versions:
        findings.append(
            model.finding("R206", tr("version_policy lists no version"), tr("Add one."), at="version_policy")
        )
    for version in policy.specific.versions:
        if str(version) not in numbers:
            message = tr("version_policy requires version {wanted}, which is missing", wanted=version)
            findings.append(
                model.finding(
                    "R206",
                    message,
                    tr("Create {name}/{wanted}, or change version_policy.", name=model.name, wanted=version),
                )
            )
    return findings


def loaded(model: Model) -> list[int]:
    """The versions that Triton loads (``version_policy``; by default the newest)."""
    policy = model.config.version_policy
    chosen = policy.WhichOneof("policy_choice")
    ordered = sorted(model.versions)
    if chosen == "specific":
        return [number for number in ordered if number in policy.specific.versions]
    if chosen == "all":
        return ordered
    return ordered[-max(1, policy.latest.num_versions) :]


def files(model: Model, file: str = "") -> list[Finding]:
    """The backend's file in each loaded version; ``file`` if only its stack knows the name."""
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
