"""What a release's tools cannot do with a model, said while planning: before any download."""

from __future__ import annotations

from wizard.advise.advice import Choice
from wizard.catalog.releases import images
from wizard.catalog.trtllm_tools import Family, folder, tools, version_of
from wizard.kernel.errors import InfeasibleError
from wizard.kernel.units import size
from wizard.model.facts import ModelFacts, Quantization
from wizard.plan.stacks.trtllm import convert
from wizard.plan.stacks.trtllm.build import from_checkpoint
from wizard.plan.stacks.trtllm.job import Job
from wizard.probe.host import Host


def version_in(choice: Choice) -> str:
    """TensorRT-LLM's version in the image of ``choice``.

    Raises:
        InfeasibleError: TW-L40 if no image with TensorRT-LLM has that tag.
    """
    known = images("trtllm")
    for one in known.releases:
        if choice.release == f"{one.tag}-{known.suffix}":
            return one.engine
    raise InfeasibleError(
        "TW-L40",
        f"no image with TensorRT-LLM is known as {choice.release!r}",
        f"Choose one from {known.releases[-1].tag} to {known.releases[0].tag} with --release.",
    )


def family_of(facts: ModelFacts, version: str) -> Family:
    """Whose script converts the model in ``version``.

    Raises:
        InfeasibleError: TW-L41 if none does.
    """
    found = tools().family(facts.architecture)
    since = found.architectures[facts.architecture or ""] if found else None
    if found and since and version_of(since) <= version_of(version) and folder(found, version):
        return found
    newer = f"Choose an image with TensorRT-LLM {since} or later with --release" if since else "Use --stack vllm"
    raise InfeasibleError(
        "TW-L41",
        f"TensorRT-LLM {version} has no script that makes an engine of {facts.architecture or 'this model'}",
        f"{newer}, or --stack trtllm-llmapi, which needs no engine.",
    )


def check(job: Job, host: Host) -> None:
    """Refuse what cannot end well.

    Raises:
        InfeasibleError: TW-L42 for a format, TW-L43 for a split over GPUs, TW-L44 for too little memory of the machine,
            TW-L45 for a repository that is quantised already, TW-L46 for a model that a script does not know by name.
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
            f"phi's conversion of TensorRT-LLM {job.version} knows Phi-2 and Phi-3 mini only, not {job.facts.name}",
            "Choose an image with TensorRT-LLM 0.11 or later with --release.",
        )
    have, needed = host.memory_total_bytes, job.facts.weight_bytes
    if have and needed and have < needed:
        raise InfeasibleError(
            "TW-L44",
            f"the conversion reads all weights ({size(needed)}) into this machine's memory, which has {size(have)}",
            "Use a machine with more memory, or --stack trtllm-llmapi, which converts nothing.",
        )


def _format(job: Job) -> None:
    name, version = job.quantization, version_of(job.version)
    made = job.tools.format(name)
    if made is None and name != "none":
        raise _no_format(job, f"TensorRT-LLM's quantize.py makes no {name}", "give a repository that is quantised so")
    if made and version < version_of(made.since):
        raise _no_format(job, f"TensorRT-LLM {job.version} makes no {name}", f"choose {made.since} or later")
    if job.fp8_cache and not from_checkpoint(job):
        raise _no_format(job, f"TensorRT-LLM {job.version} calibrates no FP8 KV cache", "choose 0.8 or later")
    tool = convert.TOOL if from_checkpoint(job) else "build.py"
    if made and made.precision and not job.calibrated and "precision" not in job.names(tool):
        text = f"{tool} of {job.family.name} in TensorRT-LLM {job.version} makes no {name}"
        raise _no_format(job, text, "choose a newer release")


def _no_format(job: Job, text: str, remedy: str) -> InfeasibleError:
    return InfeasibleError(
        "TW-L42", text, f"Take another --quantization or --kv-dtype, or {remedy} ({job.choice.release})."
    )


def _split(job: Job) -> None:
    choice, layers = job.choice, job.facts.layers
    tool = "quantize.py" if job.calibrated else convert.TOOL if from_checkpoint(job) else "build.py"
    names = job.names(tool)
    for meaning, wanted in (("tp", choice.tp), ("pp", choice.pp)):
        if wanted > 1 and meaning not in names:
            raise InfeasibleError(
                "TW-L43",
                f"{tool} of {job.family.name} in TensorRT-LLM {job.version} cannot split a model ({meaning} {wanted})",
                f"Use --{meaning} 1, or an image with a newer TensorRT-LLM with --release.",
            )
    if layers and layers % choice.pp:
        raise InfeasibleError(
            "TW-L43",
            f"{layers} layers cannot be shared out evenly among {choice.pp} GPUs in a row",
            "Choose --pp so that it divides the number of layers, or use --tp.",
        )


def _published(job: Job, stored: Quantization) -> None:
    if job.quantization != (stored.format or stored.method):
        raise _refused(job, f"is stored as {stored.format or stored.method} and cannot become {job.quantization}")
    if stored.desc_act:
        raise _refused(job, "is a GPTQ repository with desc_act, which convert_checkpoint.py refuses")
    known = [one for one in job.tools.checkpoints if (one.method, one.family) == (stored.method, job.family.name)]
    if not any(version_of(one.since) <= version_of(job.version) for one in known):
        since = f" before {known[0].since}" if known else ""
        raise _refused(job, f"is quantised by {stored.method}, which TensorRT-LLM{since} makes no engine of")
    if job.fp8_cache:
        raise _refused(job, "is quantised already: an FP8 KV cache would need a calibration")


def _refused(job: Job, text: str) -> InfeasibleError:
    return InfeasibleError(
        "TW-L45",
        f"{job.facts.ref} {text} (the image {job.choice.release} has {job.version})",
        "Give the model's unquantised repository, another --release, or --stack vllm.",
    )
