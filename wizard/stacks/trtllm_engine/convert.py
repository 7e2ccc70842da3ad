"""Convert the Hugging Face checkpoint to TensorRT-LLM's own format with the family's ``convert_checkpoint.py`` (0.8 and
later).
"""

from __future__ import annotations

from wizard.kernel.language import tr
from wizard.model.facts import ModelFacts
from wizard.plan.artefacts import CHECKPOINT, MODEL, SCRIPTS
from wizard.plan.plan import Done, Estimate, Step
from wizard.stacks.trtllm_engine.job import Call, Job, partial, whole

TOOL = "convert_checkpoint.py"
_PHI = {"PhiForCausalLM": "phi-2", "Phi3ForCausalLM": "Phi-3-mini-{}k-instruct"}
_QWEN = {"QWenLMHeadModel": "qwen", "Qwen2ForCausalLM": "qwen2"}
_BAICHUAN_1_VOCABULARY, _BAICHUAN_7B_HIDDEN = 64_000, 4096
"""config.json of baichuan-inc/Baichuan-7B: vocabulary 64,000, hidden size 4,096; Baichuan2 has 125,696, the 13B models
5,120.
"""


def call(job: Job) -> Call:
    """The conversion of ``job``."""
    made = job.tools.format(job.quantization) if not job.as_published else None
    values = {
        "checkpoint_type": "hf",
        "model_type": phi_type(job.facts),
        "qwen_type": _QWEN.get(job.facts.architecture or ""),
        "model_version": _baichuan(job.facts),
        "model_dir": job.model,
        "output_dir": partial(job.checkpoint),
        "dtype": job.choice.dtype,
        "tp": job.choice.tp,
        "pp": job.choice.pp if job.choice.pp > 1 else None,
        "weight_only": made is not None,
        "precision": made.precision if made else None,
        "workers": job.world if job.world > 1 else None,
    }
    return job.call(TOOL, (job.runtime.python, str(job.example / TOOL)), values)


def step(job: Job) -> Step:
    """The step that converts the checkpoint."""
    rounding = {
        "int8_wo": tr(" The weights are rounded to 8 bits here; this needs no calibration."),
        "int4_wo": tr(" The weights are rounded to 4 bits here; this needs no calibration."),
    }.get(job.quantization, "")
    flags = [job.names(TOOL)[meaning] for meaning in ("tp", "pp") if meaning in job.names(TOOL)]
    split = (
        tr(
            " The split ({flags}) is set here, not by trtllm-build.",
            flags=", ".join(flags),
        )
        if flags
        else ""
    )
    ranks = tr(" There is one file per GPU, {world} in total.", world=job.world) if job.world > 1 else ""
    return Step(
        id="checkpoint",
        title=tr("Convert the checkpoint"),
        why=(
            tr(
                "TensorRT-LLM does not read Hugging Face checkpoints: the convert_checkpoint.py of the model family "
                "renames, fuses and splits the weights into TensorRT-LLM's own format.{split}{ranks}{what}",
                split=split,
                ranks=ranks,
                what=rounding,
            )
        ),
        actions=whole(job.checkpoint, job.command("checkpoint", call(job).argv, gpus=1)),
        done=Done(files=files(job)),
        estimate=Estimate(0, disk_bytes=job.weight_bytes, unknown=True),
        reads=(*job.runtime.needs, SCRIPTS, MODEL),
        writes=(CHECKPOINT,),
    )


def files(job: Job) -> tuple[str, ...]:
    """The files of a complete checkpoint."""
    return (
        str(job.checkpoint / "config.json"),
        *(str(job.checkpoint / f"rank{rank}.safetensors") for rank in range(job.world)),
    )


def phi_type(facts: ModelFacts) -> str | None:
    """``--model_type`` of phi's script in 0.10, which supports Phi-2 and two Phi-3 mini; None for any other model."""
    name = _PHI.get(facts.architecture or "")
    if name and "{}" in name and facts.hidden_size != 3072:  # Phi-3 mini's hidden size; medium has 5,120
        return None
    return name and name.format(128 if (facts.max_context or 0) > 4096 else 4)


def _baichuan(facts: ModelFacts) -> str:
    version = 1 if facts.vocabulary == _BAICHUAN_1_VOCABULARY else 2
    return f"v{version}_{7 if facts.hidden_size == _BAICHUAN_7B_HIDDEN else 13}b"
