"""The answers that lead to a plan, as a file for ``--answers``: the wizard's choices become constraints."""

from __future__ import annotations

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.toml import scalar
from wizard.plan.plan import Plan, Start
from wizard.plan.questions import BY_NAME
from wizard.plan.server_plan import model_origin


def answers(plan: Plan) -> str:
    """The file; with it, on the same machine, the wizard arrives at the same choice, name and first port."""
    starts = [action for step in plan.steps for action in step.actions if isinstance(action, Start)]
    choice = plan.choice
    given: dict[str, object] = {
        "model": model_origin(plan.facts),
        "users": choice.users,
        "replicas": choice.replicas,
        "max_len": choice.max_seq_len,
        "stack": choice.stack,
        "quantization": choice.quantization,
        "tp": choice.tp,
        "pp": choice.pp,
        "dp": choice.dp if plan.facts.experts else None,
        "expert_parallel": choice.expert_parallel or None,
        "speculative": choice.speculative or None,
        "draft": choice.draft.ref if choice.draft else None,
        "kv_dtype": choice.kv_cache_dtype,
        "release": choice.release.partition("-")[0],  # 25.11-vllm-python-py3 is release 25.11
        "runtime": None if choice.runtime == "docker" or choice.engine_python else choice.runtime,  # docker: or podman
        "engine_python": choice.engine_python,
        "name": plan.name,
        "http_port": starts[0].ports.http if starts else None,
    }
    head = tr("# Answers for triton-wizard; use them with --answers.\n")
    return head + "".join(f"{name} = {scalar(value)}\n" for name, value in given.items() if _answers(name, value))


def _answers(name: str, value: object) -> bool:
    """Whether ``value`` is a valid constraint: a release that is not an image's is not, for example."""
    try:
        return value is not None and BY_NAME[name].check(value) == value
    except UsageError:
        return False
