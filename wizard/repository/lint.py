"""Problems in a model repository, ours or another's, found before a server loads it.

Only texts are read: no model is loaded and none of its Python is run. An error is reported if tritonserver 2.51.0
rejects the model (a test checks it with the same repositories), or if the backend's documentation says that it does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from wizard.catalog.releases import families, images
from wizard.kernel.errors import UsageError
from wizard.kernel.language import ntr, tr
from wizard.repository.linting import ensembles, folders, instances, python_models, text, values
from wizard.repository.linting.finding import Finding, Server
from wizard.repository.linting.model import Model
from wizard.repository.linting.rules import rules


@dataclass(frozen=True, slots=True)
class Report:
    """All findings about a repository: models in order of their names, errors first in each."""

    repository: str
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> int:
        """Number of errors."""
        return sum(each.severity == "error" for each in self.findings)


def lint(repository: Path, server: Server = Server()) -> Report:  # noqa: B008 - a value
    """Check every model of a repository.

    Args:
        repository: Its folder.
        server: The known properties of the server that will load it.

    Raises:
        UsageError: TW-L62 if it is not a folder or not readable.
    """
    try:
        models = text.read_all(repository)
    except OSError as error:
        raise UsageError(
            "TW-L62",
            tr(
                "cannot read the model repository {repository}: {strerror}",
                repository=repository,
                strerror=error.strerror or error,
            ),
            tr("Pass a folder that contains one folder per model."),
        ) from error
    findings = [each for model in models.values() for each in _model(model, models, server)]
    broken = {each.model for each in findings if each.severity == "error"}
    findings += ensembles.dependents(models, broken)
    findings += [finding for stack in rules() for finding in stack.repository(models)]
    if re.search(r"\s", str(repository.resolve())) and any(
        each.config and each.name not in broken and each.backend == "python" for each in models.values()
    ):
        message = tr("the repository's path contains a space, which Triton's Python backend does not support")
        findings.append(Finding("R209", "error", "", "", message, tr("Move the repository to a path without spaces.")))
    if not models:
        message = tr("the repository contains no models; a server would start but serve nothing")
        findings.append(
            Finding("R207", "warning", "", "", message, tr("Pass the folder that contains the models' folders."))
        )
    findings = list(dict.fromkeys(findings))  # two steps may have the same mistake
    findings.sort(key=lambda each: (each.model, each.severity, each.code, each.file, each.line or 0, each.column or 0))
    return Report(str(repository), tuple(findings))


def _model(model: Model, models: dict[str, Model], server: Server) -> list[Finding]:
    findings = [*model.findings, *folders.names(model)]
    try:
        return [*findings, *_contents(model, models, server)]
    except OSError as error:  # a folder without permission, a name that no file system supports
        return [*findings, text.unreadable(model, error, "")]


def _contents(model: Model, models: dict[str, Model], server: Server) -> list[Finding]:
    if model.config is None:
        return [] if model.findings else folders.configuration(model)
    return [
        *folders.versions(model),
        *folders.files(model),
        *values.backend(model, server),
        *values.values(model),
        *instances.instances(model, server),
        *ensembles.ensemble(model, models),
        *python_models.python_models(model),
        *(finding for stack in rules() for finding in stack.model(model, models, server)),
    ]


def server(
    version: str | None, *, backends: str | None = None, gpus: int | None = None, mounts: tuple[str, ...] = ()
) -> Server:
    """The properties of a server.

    Args:
        version: Version of NVIDIA's image, ``24.09``, or its complete tag, ``24.09-trtllm-python-py3``; None if
            unknown.
        backends: Comma-separated names; None means those of the image.
        gpus: Number of visible GPUs; None if unknown.
        mounts: Mounts, each ``HERE:THERE``.

    Raises:
        UsageError: TW-L63 if the image is unknown, TW-L64 if a mount is invalid.
    """
    pairs = []
    for mount in mounts:
        local, _, seen = mount.partition(":")
        if not local or not seen.startswith("/"):
            raise UsageError(
                "TW-L64", tr("--mount {mount} is not a valid mount", mount=mount), tr("Write it as HERE:/THERE.")
            )
        pairs.append((local, seen))
    names = frozenset(backends.split(",")) if backends else None
    if version is None:
        return Server(names, {}, gpus, tuple(pairs))
    tag, _, suffix = version.rpartition(":")[2].partition("-")
    known = {family: {each.tag: each.engine for each in images(family).releases} for family in families()}
    tags = {tag for releases in known.values() for tag in releases}
    if tag not in tags:
        newest = ", ".join(sorted(tags, reverse=True)[:4])
        raise UsageError(
            "TW-L63",
            tr("unknown Triton image: {version!r}", version=version),
            tr("Use an image tag, such as {newest}.", newest=newest),
        )
    backends_of = values.backends()
    if suffix and suffix not in backends_of:
        raise UsageError(
            "TW-L63",
            tr("unknown Triton image: {version!r}", version=version),
            tr("Use a tag that ends in one of: {endings}.", endings=", ".join(backends_of)),
        )
    return Server(
        names or (backends_of[suffix] if suffix else None),
        {
            family: releases[tag]
            for family, releases in known.items()
            if tag in releases and suffix in ("", images(family).suffix)
        },
        gpus,
        tuple(pairs),
        f"Triton {version}",
    )


def report_text(report: Report) -> str:
    """The findings as text."""
    lines = []
    for each in report.findings:
        place = f":{each.line}:{each.column}" if each.line else ""
        lines.append(f"{each.file or report.repository}{place}: {each.severity} {each.code}: {each.what}")
        lines.append(f"    {each.fix}")
    warnings = len(report.findings) - report.errors
    counts = (
        ntr("{count:,} error", "{count:,} errors", report.errors, count=report.errors),
        ntr("{count:,} warning", "{count:,} warnings", warnings, count=warnings),
    )
    lines.append(f"{report.repository}: {', '.join(counts)}")
    return "\n".join(lines)
