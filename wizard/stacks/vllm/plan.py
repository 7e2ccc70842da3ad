"""The stack `vllm`: Triton's own vLLM backend in NVIDIA's image; natively vLLM in a separate environment."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wizard.advise.advice import Choice
from wizard.advise.devices import group
from wizard.kernel.errors import InfeasibleError
from wizard.kernel.language import mark, tr
from wizard.kernel.paths import suggest_name
from wizard.kernel.values import fingerprint
from wizard.model import manifest
from wizard.model.facts import ModelFacts
from wizard.plan import artefacts, checkpoint
from wizard.plan.arguments import check_step
from wizard.plan.artefacts import REPOSITORY
from wizard.plan.fetch import FetchedModels, download, fetch_models
from wizard.plan.options import Options
from wizard.plan.plan import Done, Estimate, Step
from wizard.plan.ports import Ports
from wizard.plan.runtimes.runtime import WITHOUT_GPUS, Runtime
from wizard.plan.runtimes.venv import environment_changes, replicas
from wizard.plan.serving import question_step, repository_step, serve_steps
from wizard.plan.stack import StackPlan
from wizard.probe.host import Host
from wizard.repository import proxy
from wizard.repository.repository import Repository
from wizard.stacks.vllm import repository

READY_SECONDS = 1800.0
"""Tutorial 004 reports 10 to 15 minutes for 70 billion parameters."""
SETTINGS = (("HF_HUB_OFFLINE", "1"), ("VLLM_NO_USAGE_STATS", "1"))
"""All files are local, and no usage statistics are sent (docs.vllm.ai, "Usage Stats Collection")."""
IN_A_CONTAINER = (("LOGNAME", "triton-wizard"),)
"""The container's user has no name, and PyTorch's compiler requires one (Python's ``getpass.getuser`` reads these)."""
NATIVELY = {"VLLM_USE_FLASHINFER_SAMPLER": "0", "SPT_NOENV": "1"}
"""FlashInfer's sampler is compiled with CUDA's own compiler at first use; vLLM's other one is precompiled.
setproctitle, with which vLLM names its processes, overwrites their environment unless this prevents it (its README),
and the server's processes are found by their environment.
"""

AMPERE, READY_MADE = (8, 0), "TRITON_ATTN"
"""On older GPUs vLLM uses FlashInfer (0.19.1: from 7.5 on), which needs CUDA's own compiler too. This backend compiles
with its own packages: tested with Triton 3.6.0 for 7.0 and 7.5, without a GPU.
"""

CHECK = """
import dataclasses, json, sys
from vllm.engine.arg_utils import AsyncEngineArgs
known = {field.name for field in dataclasses.fields(AsyncEngineArgs)}
if wrong := sorted(set(json.loads(sys.argv[1])) - known):
    sys.exit("this vLLM does not support: " + ", ".join(wrong))
print("this vLLM supports all arguments")
"""
RANKS = (16, 32, 64, 128, 256, 512)
"""Ranks of LoRA adapters that vLLM supports (``vllm/config/lora.py``; older ones stop at 64 or 256). The first is its
default maximum.
"""
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


def steps(
    choice: Choice, host: Host, facts: ModelFacts, runtime: Runtime, ports: Ports, question: str, options: Options
) -> tuple[Step, ...]:
    """All steps from nothing to a first answer; see `wizard.plan.stack.Steps`.

    Of the options, ``lora`` and ``max_num_seqs`` are used. Natively, and with several replicas or data-parallel ranks,
    our proxy starts vLLM.

    Raises:
        InfeasibleError: TW-L30 to TW-L33 for a checkpoint that is not supported, TW-L34 for an adapter.
    """
    checkpoint.check(choice, facts)
    native = choice.runtime == "native"
    behind_proxy = native or choice.shares > 1
    adapters = _adapters(choice, runtime, options)
    get = fetch_models(facts, choice.draft, runtime.workspace)
    served = replace(choice, max_batch_size=options.max_num_seqs or choice.max_batch_size)
    if behind_proxy:
        made, arguments = _behind_proxy(served, host, facts, runtime, get)
    else:
        made, arguments = _backend(served, facts, runtime, get, adapters)
    why = tr(WHY_PROXY if behind_proxy else WHY_BACKEND) + _more(options, choice)
    write = repository_step(runtime, made, why)
    settings = SETTINGS if native else (*SETTINGS, *IN_A_CONTAINER)
    check = check_step("vLLM", runtime, CHECK, arguments, Estimate(15), env=settings, gpus=len(choice.devices))
    prepared = (*runtime.prepare(), check, *get.steps, *adapters.steps, write)
    start = runtime.start(
        runtime.server.name,
        ports,
        fingerprint([step.fingerprint for step in prepared]),
        env=WITHOUT_GPUS if native else settings,
        reads=(*get.reads, *adapters.reads),
        auto_complete=not behind_proxy,  # the backend itself declares its inputs and outputs
    )
    reads = (*runtime.server_needs, *get.needs, REPOSITORY, *adapters.needs)
    return (*prepared, *serve_steps(start, reads, READY_SECONDS), question_step(runtime, question))


def _more(options: Options, choice: Choice) -> str:
    if options.max_num_seqs is None:
        return ""
    return tr(
        " Up to {most} sequences run concurrently (max_num_seqs). The KV cache has room for {users} of them at "
        "{length:,} tokens each, or for more if they are shorter; the rest wait.",
        most=options.max_num_seqs,
        users=choice.max_batch_size,
        length=choice.max_seq_len,
    )


WHY_BACKEND = mark(
    "For this stack, the folder contains config.pbtxt, which selects the vllm backend, and model.json, with the "
    "arguments of vLLM's AsyncEngineArgs: the model's folder, the number of GPUs that share it, and how much of "
    "their memory it can use. The backend adds inputs and outputs automatically. KIND_MODEL means that the model "
    "chooses its GPUs."
)
WHY_PROXY = mark(
    "The wizard's repository contains model.py, a thin engine proxy that starts vLLM in its own environment and "
    "forwards requests, streamed text and cancellations. 'decoupled' means that one request can have many "
    "responses, one per piece of text."
)

Made = tuple[Repository, Mapping[str, Any]]
"""A repository, and its arguments for vLLM."""


def _backend(choice: Choice, facts: ModelFacts, runtime: Runtime, get: FetchedModels, adapters: _Adapters) -> Made:
    name = runtime.server.name
    made = repository.repository(
        name,
        model=get.path,
        facts=facts,
        choice=choice,
        lora=adapters.paths,
        lora_rank=adapters.rank,
        draft=get.draft_path,
    )
    (settings,) = (file.text for file in made.files if file.path == f"{name}/1/model.json")
    return made, json.loads(settings)


def _behind_proxy(choice: Choice, host: Host, facts: ModelFacts, runtime: Runtime, get: FetchedModels) -> Made:
    settings = repository.engine_args(get.path, facts, choice, get.draft_path)
    settings |= repository.step_args(facts, choice)
    device = group(host, choice.devices, choice.slices)
    if choice.environment and device and device.compute_capability < AMPERE:
        settings["attention_backend"] = READY_MADE
    inside = dict(IN_A_CONTAINER)  # the image has all that vLLM needs
    around = environment_changes(runtime.python, choice) if choice.runtime == "native" else inside
    made = proxy.repository(
        runtime.server.name,
        engine=repository.ENGINE,
        python=runtime.python,
        settings=settings,
        env={**around, **dict(SETTINGS), **NATIVELY},
        facts=facts,
        choice=choice,
        replicas=replicas(choice),
    )
    return made, settings


@dataclass(frozen=True, slots=True)
class _Adapters:
    """LoRA adapters: the steps that get them, their folders, the paths that must be readable, and vLLM's rank."""

    steps: tuple[Step, ...] = ()
    paths: Mapping[str, str] | None = None
    reads: tuple[Path, ...] = ()
    rank: int | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """Artifacts that the server reads: downloaded and given ones."""
        return (*(name for step in self.steps for name in step.writes), *map(str, self.reads))


def _adapters(choice: Choice, runtime: Runtime, options: Options) -> _Adapters:
    """The adapters of ``options``.

    Raises:
        InfeasibleError: TW-L34 if one is neither a folder nor a model ID, if two have the same name, if vLLM does not
            support the rank, or for any adapter natively.
    """
    if not options.lora:
        return _Adapters()
    if choice.runtime == "native" or choice.shares > 1:
        raise InfeasibleError(
            "TW-L34",
            tr("LoRA adapters are served by Triton's own vLLM backend, which runs one replica in NVIDIA's image"),
            tr("Serve from NVIDIA's image with --replicas 1, or merge the adapter into the model."),
        )
    if len({suggest_name(name) for name in options.lora}) < len(options.lora):
        raise InfeasibleError(
            "TW-L34",
            tr(
                "two of the LoRA adapters {lora} have names that differ only in case or punctuation",
                lora=", ".join(options.lora),
            ),
            tr("Give the adapters names that differ in more than case or punctuation."),
        )
    steps: list[Step] = []
    paths: dict[str, str] = {}
    reads: list[Path] = []
    for name, place in options.lora.items():
        local = Path(place).expanduser().absolute()
        if (local / "adapter_config.json").is_file():
            paths[name] = str(local)
            reads.append(local)
        elif _HUB_ID.fullmatch(place) and not local.exists():
            folder = runtime.workspace.models / f"{suggest_name(place)}-{fingerprint(place)[:8]}"
            steps.append(_fetch_adapter(name, place, folder))
            paths[name] = str(folder)
        else:
            raise InfeasibleError(
                "TW-L34",
                tr(
                    "the LoRA adapter {name!r} is neither a folder with adapter_config.json nor a Hub repository: "
                    "{place!r}",
                    name=name,
                    place=place[:200],
                ),
                tr("Pass the adapter's folder, or its Hub repository in the form owner/name."),
            )
    return _Adapters(tuple(steps), paths, tuple(reads), _rank(reads))


def _rank(folders: Sequence[Path]) -> int | None:
    """The smallest of vLLM's `RANKS` that fits the adapters in ``folders``; None if its default does."""
    largest = max((_rank_in(folder) for folder in folders), default=0)
    if largest > RANKS[-1]:
        raise InfeasibleError(
            "TW-L34",
            tr(
                "a LoRA adapter has rank {largest}, but vLLM supports ranks only up to {ranks}",
                largest=largest,
                ranks=RANKS[-1],
            ),
            tr("Merge it into the model."),
        )
    smallest = next(rank for rank in RANKS if rank >= largest)
    return smallest if smallest > RANKS[0] else None


def _rank_in(folder: Path) -> int:
    """PEFT's ``r`` of the adapter in ``folder``; 0 if it is not set."""
    try:
        config = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return 0
    rank = config.get("r") if isinstance(config, dict) else None
    return rank if type(rank) is int else 0


def _fetch_adapter(name: str, repo: str, folder: Path) -> Step:
    return Step(
        id=f"adapter-{suggest_name(name)}",
        title=tr("Get the LoRA adapter {name}", name=name),
        why=(
            tr(
                "An adapter is a small change to the model's weights; vLLM applies it to the requests that "
                "select it. The rank of an adapter on the Hub is not known in advance, so vLLM accepts ranks "
                "only up to {ranks}. For a higher rank, pass a local folder.",
                ranks=RANKS[0],
            )
        ),
        actions=download(repo, None, folder),
        done=Done(files=(str(folder / "adapter_config.json"), str(manifest.path_of(folder)))),
        estimate=Estimate(10),
        writes=(artefacts.adapter(name),),
    )


PORT = StackPlan(steps, options=frozenset({"lora", "max_num_seqs"}))
