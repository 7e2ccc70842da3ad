"""What a release's tools cannot do with a model, reported while planning: before any download."""

from __future__ import annotations

from dataclasses import replace

from wizard.advise import engines
from wizard.advise.advice import Choice
from wizard.advise.reasons import Refused, change
from wizard.catalog.releases import images
from wizard.catalog.trtllm_tools import Family, folder, tools, version_of
from wizard.kernel.errors import InfeasibleError
from wizard.kernel.language import tr
from wizard.kernel.units import size
from wizard.model.facts import ModelFacts, Quantization
from wizard.probe.host import Host
from wizard.stacks.trtllm.images import image
from wizard.stacks.trtllm_engine import convert
from wizard.stacks.trtllm_engine.job import Job


def builder(choice: Choice) -> str:
    """TensorRT-LLM's version in the image of ``choice``, which must be able to build an engine.

    Raises:
        InfeasibleError: TW-L40 if no image with TensorRT-LLM has that tag.
        Refused: TW-L47 if it builds no engines.
    """
    release = image(choice)
    if why := engines.obstacle(release):
        nearest = tuple(change(release=tag) for tag in engines.later(release.tag)[:1])
        raise Refused("TW-L47", InfeasibleError, replace(why, remedies=(*nearest, *why.remedies)))
    return release.engine


def family_of(facts: ModelFacts, version: str) -> Family:
    """The family whose script converts the model in ``version``.

    Raises:
        InfeasibleError: TW-L41 if none does.
    """
    family = tools().family(facts.architecture)
    since = family.architectures[facts.architecture or ""] if family else None
    if family and since and version_of(since) <= version_of(version) and folder(family, version):
        return family
    newer = (
        tr("Use --release to choose an image with TensorRT-LLM {since} or later", since=since)
        if since
        else tr("Use --stack vllm")
    )
    raise InfeasibleError(
        "TW-L41",
        tr(
            "TensorRT-LLM {version} has no script that builds an engine for {architecture}",
            version=version,
            architecture=facts.architecture or tr("this model"),
        ),
        tr("{newer}, or use --stack trtllm-llmapi, which needs no engine.", newer=newer),
    )


def check(job: Job, host: Host) -> None:
    """Reject a setup that cannot work.

    Raises:
        InfeasibleError: TW-L42 for a format, TW-L43 for a split over GPUs, TW-L44 for too little memory on the machine,
            TW-L45 for an already quantized repository, TW-L46 for a model that a script does not support.
    """
    if job.facts.quantization:
        _published(job, job.facts.quantization)
    else:
        _format(job)
    _split(job)
    names = job.names(convert.TOOL)
    if "model_type" in names and convert.phi_type(job.facts) is None:
        raise InfeasibleError(
            "TW-L46",
            tr(
                "the phi conversion of TensorRT-LLM {version} supports only Phi-2 and Phi-3 mini, not {name}",
                version=job.version,
                name=job.facts.name,
            ),
            tr("Use --release to choose an image with TensorRT-LLM 0.11 or later."),
        )
    have, needed = host.memory_total_bytes, job.facts.weight_bytes
    if have and needed and have < needed:
        raise InfeasibleError(
            "TW-L44",
            tr(
                "the conversion reads all weights ({needed}) into this machine's memory, which is only {have}",
                needed=size(needed),
                have=size(have),
            ),
            tr("Use a machine with more memory, or --stack trtllm-llmapi, which needs no conversion."),
        )


def _format(job: Job) -> None:
    name, version = job.quantization, version_of(job.version)
    made = job.tools.format(name)
    if made is None and name != "none":
        raise _no_format(
            job,
            tr("TensorRT-LLM's quantize.py cannot produce {name}", name=name),
            tr("use a repository that is quantized that way"),
        )
    if made and version < version_of(made.since):
        raise _no_format(
            job,
            tr("TensorRT-LLM {version} cannot produce {name}", version=job.version, name=name),
            tr("choose an image with TensorRT-LLM {since} or later", since=made.since),
        )
    if made and made.precision and not job.calibrated and "precision" not in job.names(convert.TOOL):
        text = tr(
            "{tool} for {name} in TensorRT-LLM {version} cannot produce {format}",
            tool=convert.TOOL,
            name=job.family.name,
            version=job.version,
            format=name,
        )
        raise _no_format(job, text, tr("choose a newer release"))


def _no_format(job: Job, text: str, remedy: str) -> InfeasibleError:
    return InfeasibleError(
        "TW-L42",
        text,
        tr(
            "Use another --quantization or --kv-dtype, or {remedy} (image: {release}).",
            remedy=remedy,
            release=job.choice.release,
        ),
    )


def _split(job: Job) -> None:
    choice, layers = job.choice, job.facts.layers
    tool = "quantize.py" if job.calibrated else convert.TOOL
    names = job.names(tool)
    for meaning, degree in (("tp", choice.tp), ("pp", choice.pp)):
        if degree > 1 and meaning not in names:
            raise InfeasibleError(
                "TW-L43",
                tr(
                    "{tool} for {name} in TensorRT-LLM {version} cannot split a model ({meaning} {wanted})",
                    tool=tool,
                    name=job.family.name,
                    version=job.version,
                    meaning=meaning,
                    wanted=degree,
                ),
                tr("Use --{meaning} 1, or use --release to choose an image with a newer TensorRT-LLM.", meaning=meaning)
                if meaning in job.tools.names(tool, images("trtllm").releases[0].engine, job.family.name)
                else tr("Use --{meaning} 1, or --stack trtllm-llmapi, which needs no conversion.", meaning=meaning),
            )
    if layers and layers % choice.pp:
        raise InfeasibleError(
            "TW-L43",
            tr("{layers} layers cannot be split evenly across {pp} pipeline stages", layers=layers, pp=choice.pp),
            tr("Choose a --pp that divides the number of layers, or use --tp."),
        )


def _published(job: Job, stored: Quantization) -> None:
    if job.quantization != (stored.format or stored.method):
        raise _refused(
            job,
            tr(
                "is stored as {format} and cannot be converted to {quantization}",
                format=stored.format or stored.method,
                quantization=job.quantization,
            ),
        )
    if stored.desc_act:
        raise _refused(job, tr("is a GPTQ repository with desc_act, which convert_checkpoint.py does not support"))
    known = [
        checkpoint
        for checkpoint in job.tools.checkpoints
        if (checkpoint.method, checkpoint.family) == (stored.method, job.family.name)
    ]
    if not any(version_of(entry.since) <= version_of(job.version) for entry in known):
        raise _refused(
            job,
            tr(
                "is quantized with {method}; building an engine from it requires TensorRT-LLM {since} or later",
                method=stored.method,
                since=known[0].since,
            )
            if known
            else tr("is quantized with {method}; TensorRT-LLM cannot build an engine from it", method=stored.method),
        )
    if job.fp8_cache:
        raise _refused(job, tr("is already quantized, so it cannot be calibrated for an FP8 KV cache"))


def _refused(job: Job, text: str) -> InfeasibleError:
    return InfeasibleError(
        "TW-L45",
        tr(
            "{ref} {what} (the image {release} has TensorRT-LLM {version})",
            ref=job.facts.ref,
            what=text,
            release=job.choice.release,
            version=job.version,
        ),
        tr("Use the model's unquantized repository, another --release, or --stack vllm."),
    )
