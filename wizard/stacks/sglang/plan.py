"""The stack `sglang`: SGLang in a separate environment, behind our engine proxy; natively only.

Source: ``srt/server_args.py`` and ``srt/entrypoints/engine.py`` of SGLang's wheels 0.5.15, 0.5.17 and 0.5.23.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wizard.advise.advice import Choice
from wizard.advise.memory import recurrent
from wizard.kernel.language import mark, tr
from wizard.kernel.values import fingerprint
from wizard.model.facts import ModelFacts
from wizard.plan import checkpoint
from wizard.plan.arguments import check_step
from wizard.plan.artefacts import REPOSITORY
from wizard.plan.fetch import fetch_models
from wizard.plan.options import Options
from wizard.plan.plan import Estimate, Step
from wizard.plan.ports import Ports
from wizard.plan.runtimes.runtime import WITHOUT_GPUS, Runtime
from wizard.plan.runtimes.venv import environment_changes, replicas
from wizard.plan.serving import question_step, repository_step, serve_steps
from wizard.plan.stack import StackPlan
from wizard.probe.host import Host
from wizard.repository import proxy

ENGINE = proxy.Engine(Path(__file__).parent / "engine" / "sglang_engine.py")
READY_SECONDS = 1800.0
"""As for vLLM. On H200s, an 8B model took 50 to 106 s, and up to 99 s more at the first start to compile kernels."""
NATIVELY = {"HF_HUB_OFFLINE": "1", "SPT_NOENV": "1"}
"""All files are local. setproctitle, with which SGLang names its processes, overwrites their environment unless the
second variable prevents it (its README), and the server's processes are found by their environment.
"""
ALGORITHMS = {"ngram": "NGRAM", "mtp": "EAGLE", "eagle3": "EAGLE3"}
"""Method of speculative decoding → SGLang's name: its alias ``NEXTN`` stands for ``EAGLE``."""
CHECK = """
import inspect, json, sys
from sglang.srt.server_args import ServerArgs
if wrong := sorted(set(json.loads(sys.argv[1])) - set(inspect.signature(ServerArgs).parameters)):
    sys.exit("this SGLang does not support: " + ", ".join(wrong))
print("this SGLang supports all arguments")
"""
WHY = mark(
    "This repository contains model.py, a thin engine proxy that starts SGLang in its own environment and "
    "forwards requests, streamed text and cancellations. 'decoupled' means that one request can have many "
    "responses, one per piece of text."
)


def arguments(model: str, facts: ModelFacts, choice: Choice, draft: str | None = None) -> dict[str, Any]:
    """Fields of SGLang's ``ServerArgs``, which ``sglang.Engine`` accepts.

    ``mem_fraction_static`` is left to SGLang: what it reserves besides weights and cache follows its own defaults
    (``_handle_gpu_memory_settings``). ``max_total_tokens`` keeps the cache within the budget of the advice.

    Args:
        model: The model's folder, as seen by SGLang.
        facts: The model: its stored quantization, which SGLang detects.
        choice: The choice, for everything else.
        draft: The draft model's folder, as seen by SGLang; None: there is none.
    """
    settings: dict[str, Any] = {
        "model_path": model,
        "dtype": choice.dtype if choice.dtype in ("bfloat16", "float16", "float32") else "auto",
        "context_length": choice.max_seq_len,
        "max_running_requests": choice.max_batch_size * choice.dp,
        # Engine's own default is "error"; its memory is logged at "info".
        "log_level": "info",
    }
    if choice.memory.kv_capacity_tokens:
        settings["max_total_tokens"] = choice.memory.kv_capacity_tokens
    if choice.step_tokens:
        settings["chunked_prefill_size"] = choice.step_tokens * choice.dp  # SGLang divides both by dp_size
        # Cached prefixes of recurrent models take states beside those of the running requests, which are counted.
        settings["disable_radix_cache"] = recurrent(facts.anatomy)
    if choice.tp * choice.dp > 1:
        settings["tp_size"] = choice.tp * choice.dp
    if choice.pp > 1:
        settings["pp_size"] = choice.pp
    if choice.dp > 1:
        settings |= {"dp_size": choice.dp, "enable_dp_attention": True}
    if choice.expert_parallel:
        settings["ep_size"] = choice.tp * choice.dp
    settings |= _speculation(choice, draft or model)  # its own layers are in the model's folder
    if choice.kv_cache_dtype.startswith("fp8"):
        settings["kv_cache_dtype"] = "fp8_e4m3"
    if choice.quantization == "fp8" and facts.quantization is None:
        settings["quantization"] = "fp8"
    return settings


def _speculation(choice: Choice, draft: str) -> dict[str, Any]:
    """Arguments of speculative decoding (``arg_groups/speculative_hook.py``): a chain of proposals, not a tree.

    SGLang counts the token that is certain among the proposed ones. ``draft`` is what proposes them.
    """
    if not choice.speculative:
        return {}
    settings: dict[str, Any] = {
        "speculative_algorithm": ALGORITHMS[choice.speculative],
        "speculative_num_draft_tokens": 1 + choice.proposed_tokens,
    }
    if choice.speculative == "ngram":
        return {**settings, "speculative_ngram_max_bfs_breadth": 1}
    steps = {"speculative_num_steps": choice.proposed_tokens, "speculative_eagle_topk": 1}
    return {**settings, **steps, "speculative_draft_model_path": draft}


def steps(
    choice: Choice, host: Host, facts: ModelFacts, runtime: Runtime, ports: Ports, question: str, options: Options
) -> tuple[Step, ...]:
    """All steps from nothing to a first answer; see `wizard.plan.stack.Steps`.

    Raises:
        InfeasibleError: TW-L30 to TW-L33 for a checkpoint that is not supported.
    """
    checkpoint.check(choice, facts)
    get = fetch_models(facts, choice.draft, runtime.workspace)
    settings = arguments(get.path, facts, choice, get.draft_path)
    repository = proxy.repository(
        runtime.server.name,
        engine=ENGINE,
        python=runtime.python,
        settings=settings,
        env={**environment_changes(runtime.python, choice), **NATIVELY},
        facts=facts,
        choice=choice,
        replicas=replicas(choice),
    )
    check = check_step("SGLang", runtime, CHECK, settings, Estimate(0, unknown=True), gpus=len(choice.devices))
    prepared = (*runtime.prepare(), check, *get.steps, repository_step(runtime, repository, tr(WHY)))
    made_from = fingerprint([step.fingerprint for step in prepared])
    start = runtime.start(runtime.server.name, ports, made_from, env=WITHOUT_GPUS, reads=get.reads)
    reads = (*runtime.server_needs, *get.needs, REPOSITORY)
    return (*prepared, *serve_steps(start, reads, READY_SECONDS), question_step(runtime, question))


PORT = StackPlan(steps)
