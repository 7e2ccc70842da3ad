"""The engine: ``trtllm-build`` from a checkpoint (0.8 and later), or the example's own ``build.py`` (0.7)."""

from __future__ import annotations

import json

from wizard.catalog.trtllm_tools import version_of
from wizard.kernel.language import ntr, tr
from wizard.plan.plan import Command, Done, Estimate, Step, Write
from wizard.plan.stacks.trtllm.job import Call, Job, partial, whole
from wizard.probe.host import Host
from wizard.repository.linting.trtllm import built_for

UNIFIED = (0, 8)
"""From this release on an engine is built from a checkpoint."""
STEP_TOKENS = 8192
"""``--max_num_tokens`` unless said, from 0.11 on: a longer prompt would not fit into one step of the engine."""
_STRONG = ("fp8", "w4a8_awq")
"""Formats whose network keeps the types that it is given (llama and mixtral READMEs, 0.8 to 0.10)."""


def from_checkpoint(job: Job) -> bool:
    """Whether the release builds from a checkpoint of its own."""
    return version_of(job.version) >= UNIFIED


def lengths(job: Job) -> tuple[int, int]:
    """Tokens of the longest prompt and of the longest answer that the engine is built for.

    They are never more together than the choice's context, whatever a journey was made for. Where it says nothing, or
    something longer, a prompt may be as long as prompt and answer together; in releases that add the two (up to 0.10)
    half of it is kept for the answer.
    """
    total, asked = job.choice.max_seq_len, job.options.max_input_len
    if "max_seq_len" in job.names("trtllm-build"):
        return min(asked or total, total), total
    prompt = asked if asked and asked < total else max(1, total // 2)
    return prompt, max(1, total - prompt)


def call(job: Job) -> Call:
    """What builds the engine of ``job``."""
    return _unified(job) if from_checkpoint(job) else _example(job)


def _unified(job: Job) -> Call:
    plugin = job.tools.plugin(job.version, job.choice.dtype)
    prompt, answer = lengths(job)
    values = {
        "checkpoint_dir": job.checkpoint,
        "output_dir": partial(job.engine),
        "attention_plugin": plugin,
        "gemm_plugin": plugin,
        "strongly_typed": job.quantization in _STRONG,
        "max_batch_size": job.choice.max_batch_size,
        "max_input_len": prompt,
        "max_output_len": answer,
        "max_seq_len": job.choice.max_seq_len,
        "max_num_tokens": prompt if prompt > STEP_TOKENS else None,
        "workers": job.world if job.world > 1 else None,
    }
    return job.call("trtllm-build", ("trtllm-build",), values)


def _example(job: Job) -> Call:
    made = job.tools.format(job.quantization)
    prompt, answer = lengths(job)
    values = {
        "model_dir": job.model,
        "output_dir": partial(job.engine),
        "dtype": job.choice.dtype,
        "attention_plugin": job.choice.dtype,
        "gemm_plugin": job.choice.dtype,
        "weight_only": made is not None,
        "precision": made.precision if made else None,
        "max_batch_size": job.choice.max_batch_size,
        "max_input_len": prompt,
        "max_output_len": answer,
        "tp": job.choice.tp,
        "pp": job.choice.pp if job.choice.pp > 1 else None,
        "world_size": job.world,
        "parallel": job.world > 1,
    }
    found = job.call("build.py", (job.runtime.python, str(job.example / "build.py")), values)
    return Call(found.tool, found.program, (*found.arguments, *((switch, None) for switch in job.tools.batching)))


def step(job: Job, host: Host) -> Step:
    """Build the engine, and note which GPUs it is for: on others it is another step, done anew."""
    how = (
        tr("trtllm-build compiles the checkpoint")
        if from_checkpoint(job)
        else tr("build.py of the model's example reads the Hugging Face checkpoint and compiles it")
    )
    prompt, answer = lengths(job)
    limits = (
        tr("prompt and answer of {max_seq_len:,} tokens together", max_seq_len=job.choice.max_seq_len)
        if "max_seq_len" in job.names("trtllm-build")
        else tr("prompts of {prompt:,} tokens, answers of {answer:,}", prompt=prompt, answer=answer)
    )
    batch = job.choice.max_batch_size
    requests = ntr("one request", "{count} requests", batch, count=batch)
    return Step(
        id="engine",
        title=tr("Build the engine"),
        why=(
            tr(
                "{how} into TensorRT engines, one for each rank, for exactly this kind of GPU, "
                "this version of TensorRT-LLM and these limits: {requests} at a time, {limits}. "
                "The plugins are TensorRT-LLM's own kernels: attention with a paged KV cache, "
                "and matrix products. It is built in the very image that serves it, because an "
                "engine loads only in the version that built it. The engine is moved to its "
                "place when it is whole, so that half of one is never taken for an engine.",
                how=how,
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
    )


def files(job: Job) -> tuple[str, ...]:
    """What a whole engine consists of (0.7: ``get_engine_name`` of examples/llama/build.py)."""
    if from_checkpoint(job):
        names = [f"rank{rank}.engine" for rank in range(job.world)]
    else:
        split = f"tp{job.choice.tp}" + (f"_pp{job.choice.pp}" if job.choice.pp > 1 else "")
        names = [f"{job.family.name}_{job.choice.dtype}_{split}_rank{rank}.engine" for rank in range(job.world)]
    return tuple(str(job.engine / name) for name in ("config.json", *names))


def tested(job: Job) -> str:
    """The file that says that this very engine has answered."""
    return str(job.engine.with_name("engine.tested"))


def _gpus(job: Job, host: Host) -> str:
    """Compute capability → names of the GPUs that the engine is for, as JSON; empty where it is not known."""
    used = [gpu for gpu in host.gpus if gpu.index in job.choice.devices and gpu.compute_capability]
    found = {"{}.{}".format(*gpu.compute_capability or ()): gpu.name for gpu in used}
    return json.dumps(found, sort_keys=True) + "\n"
