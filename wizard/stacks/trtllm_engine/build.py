"""The engine: ``trtllm-build`` from a checkpoint."""

from __future__ import annotations

import json

from wizard.kernel.language import ntr, tr
from wizard.plan.artefacts import CHECKPOINT, ENGINE
from wizard.plan.plan import Command, Done, Estimate, Step, Write
from wizard.probe.host import Host
from wizard.stacks.trtllm_engine.job import Call, Job, partial, whole
from wizard.stacks.trtllm_engine.lint import built_for

STEP_TOKENS = 8192
"""Tokens of an engine step if the choice does not say: the default of ``--max_num_tokens`` from 0.11 on."""
_STRONGLY_TYPED = ("fp8", "w4a8_awq")
"""Formats with strongly typed networks (llama and mixtral READMEs, 0.8 to 0.10)."""


def lengths(job: Job) -> tuple[int, int]:
    """Maximum tokens of the prompt and of the answer that the engine is built for.

    Together they never exceed the choice's context, regardless of the recipe. If the recipe sets no limit, or a longer
    one, a prompt may use the whole context; in releases that add the two (up to 0.10) half of it is reserved for the
    answer.
    """
    total, longest = job.choice.max_seq_len, job.options.max_input_len
    if "max_seq_len" in job.names("trtllm-build"):
        return min(longest or total, total), total
    prompt = longest if longest and longest < total else max(1, total // 2)
    return prompt, max(1, total - prompt)


def call(job: Job) -> Call:
    """The command that builds the engine of ``job``."""
    plugin = job.tools.plugin(job.version, job.choice.dtype)
    prompt, answer = lengths(job)
    values = {
        "checkpoint_dir": job.checkpoint,
        "output_dir": partial(job.engine),
        "attention_plugin": plugin,
        "gemm_plugin": plugin,
        "strongly_typed": job.quantization in _STRONGLY_TYPED,
        "max_batch_size": job.choice.max_batch_size,
        "max_input_len": prompt,
        "max_output_len": answer,
        "max_seq_len": job.choice.max_seq_len,
        # A prompt is processed in a single step.
        "max_num_tokens": max(prompt, job.choice.max_batch_size, job.choice.step_tokens or STEP_TOKENS),
        "workers": job.world if job.world > 1 else None,
    }
    return job.call("trtllm-build", ("trtllm-build",), values)


def step(job: Job, host: Host) -> Step:
    """Build the engine, and record its GPUs: for other GPUs it is a different step, which runs again."""
    prompt, answer = lengths(job)
    limits = (
        tr("prompt and answer of up to {max_seq_len:,} tokens combined", max_seq_len=job.choice.max_seq_len)
        if "max_seq_len" in job.names("trtllm-build")
        else tr("prompts of up to {prompt:,} tokens, answers of up to {answer:,}", prompt=prompt, answer=answer)
    )
    batch = job.choice.max_batch_size
    requests = ntr("one request", "{count} requests", batch, count=batch)
    return Step(
        id="engine",
        title=tr("Build the engine"),
        why=(
            tr(
                "trtllm-build compiles the checkpoint into TensorRT engines, one per rank, for exactly this kind of "
                "GPU, this TensorRT-LLM version and these limits: {requests} at a time, {limits}. The plugins are "
                "TensorRT-LLM's own kernels: attention with a paged KV cache, and matrix products. The engine is "
                "built in the image that serves it, because an engine loads only in the version that built it. It is "
                "moved into place only when complete, so a partial engine is never used.",
                requests=requests,
                limits=limits,
            )
        ),
        actions=(
            Command(("rm", "-f", str(tested(job)))),
            *whole(job.engine, job.command("engine", call(job).argv, gpus=job.world)),
            Write(str(built_for(job.engine)), _gpus(job, host)),
        ),
        done=Done(files=files(job)),
        estimate=Estimate(0, disk_bytes=job.weight_bytes, unknown=True),
        reads=(*job.runtime.needs, CHECKPOINT),
        writes=(ENGINE,),
    )


def files(job: Job) -> tuple[str, ...]:
    """The files of a complete engine."""
    names = (f"rank{rank}.engine" for rank in range(job.world))
    return tuple(str(job.engine / name) for name in ("config.json", *names))


def tested(job: Job) -> str:
    """The file that records that exactly this engine has answered."""
    return str(job.engine.with_name("engine.tested"))


def _gpus(job: Job, host: Host) -> str:
    """Compute capability → names of the engine's GPUs, as JSON; empty if unknown."""
    used = [gpu for gpu in host.gpus if gpu.index in job.choice.devices and gpu.compute_capability]
    names = {"{}.{}".format(*gpu.compute_capability or ()): gpu.name for gpu in used}
    return json.dumps(names, sort_keys=True) + "\n"
