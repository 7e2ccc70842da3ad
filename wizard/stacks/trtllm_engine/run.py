"""The engine's first test, with ``examples/run.py``: distinguishes a bad engine from a bad server."""

from __future__ import annotations

from wizard.kernel.language import tr
from wizard.plan.artefacts import ENGINE, MODEL, SCRIPTS
from wizard.plan.plan import Done, Estimate, Step, Write
from wizard.stacks.trtllm_engine.build import tested
from wizard.stacks.trtllm_engine.job import Call, Job

TOOL = "run.py"
TOKENS = 32


def call(job: Job, question: str) -> Call:
    """The command that gets an answer from the engine of ``job``."""
    values = {
        "engine_dir": job.engine,
        "tokenizer_dir": job.model,
        "max_output_len": TOKENS,
        "input_text": question,
    }
    return job.call(TOOL, (job.runtime.python, str(job.scripts / "examples" / TOOL)), values)


def step(job: Job, question: str) -> Step:
    """The step that sends a question to the engine, without a server."""
    ranks = ("mpirun", "--allow-run-as-root", "-n", str(job.world)) if job.world > 1 else ()
    how = tr(" MPI starts {world} ranks, one per GPU.", world=job.world) if ranks else ""
    return Step(
        id="engine-test",
        title=tr("Test the engine"),
        why=(
            tr(
                "run.py loads the engine and the tokenizer and continues one prompt, without Triton. If the text "
                "makes no sense here, the conversion or the build went wrong, not the server.{how}",
                how=how,
            )
        ),
        actions=(
            job.command("engine-test", (*ranks, *call(job, question).argv), gpus=job.world),
            Write(tested(job), f"{job.version}\n"),
        ),
        done=Done(files=(tested(job),)),
        estimate=Estimate(0, unknown=True),
        reads=(*job.runtime.needs, SCRIPTS, MODEL, ENGINE),
    )
