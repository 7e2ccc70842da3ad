"""Calibrated quantization with ``examples/quantization/quantize.py``, which writes TensorRT-LLM's checkpoint
directly.
"""

from __future__ import annotations

from wizard.kernel.language import mark, tr
from wizard.plan.artefacts import CHECKPOINT, MODEL, SCRIPTS
from wizard.plan.plan import Done, Estimate, Step
from wizard.stacks.trtllm_engine import convert
from wizard.stacks.trtllm_engine.job import Call, Job, partial, whole

TOOL = "quantize.py"
BLOCK = 128
"""Weights that share a scale; quantize.py supports 64 or 128."""
_WHY = {
    "fp8": mark("FP8 stores weights and activations in 8-bit floating point, which Ada and Hopper multiply directly."),
    "int8_sq": mark("SmoothQuant moves activation outliers into the weights, so that both fit into 8-bit integers."),
    "int4_awq": mark(
        "AWQ uses the activations to find the most important weights, and scales them up before it rounds all "
        "weights to 4 bits."
    ),
    "w4a8_awq": mark("W4A8 uses AWQ's 4-bit weights and computes with FP8 activations."),
    "nvfp4": mark("NVFP4 stores weights and activations in 4-bit floating point, which Blackwell multiplies directly."),
}


def call(job: Job) -> Call:
    """The quantization of ``job``."""
    made = job.tools.format(job.quantization)
    values = {
        "model_dir": job.model,
        "output_dir": partial(job.checkpoint),
        "dtype": job.choice.dtype,
        "qformat": made.qformat if made else "full_prec",
        "block": BLOCK if made and made.block else None,
        "kv_cache_dtype": "fp8" if job.fp8_cache else None,
        "tp": job.choice.tp,
        "pp": job.choice.pp if job.choice.pp > 1 else None,
    }
    return job.call(TOOL, (job.runtime.python, str(job.scripts / "examples" / "quantization" / TOOL)), values)


def step(job: Job) -> Step:
    """The step that quantizes the checkpoint."""
    cache = tr(" The KV cache gets its own FP8 scales.") if job.fp8_cache else ""
    return Step(
        id="checkpoint",
        title=tr("Quantize the model"),
        why=(
            tr(
                "{why}{cache} The scales are calibrated on 512 CNN/DailyMail articles, which quantize.py "
                "downloads from the Hugging Face Hub. The script runs the whole model on the GPU and writes a "
                "TensorRT-LLM checkpoint, so no conversion is needed.",
                why=tr(_WHY.get(job.quantization, mark("The weights keep their format."))),
                cache=cache,
            )
        ),
        actions=whole(job.checkpoint, job.command("checkpoint", call(job).argv, gpus=job.world)),
        done=Done(files=convert.files(job)),
        estimate=Estimate(0, disk_bytes=job.weight_bytes, unknown=True),
        reads=(*job.runtime.needs, SCRIPTS, MODEL),
        writes=(CHECKPOINT,),
    )
