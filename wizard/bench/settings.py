"""The settings of a server that a search varies, and the plans that have them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from wizard.advise.advice import Choice
from wizard.advise.calibration import Calibration
from wizard.advise.candidates import candidates
from wizard.advise.reasons import Refused
from wizard.bench.predicted import SETUP, constraints_of
from wizard.catalog import stacks
from wizard.kernel.errors import WizardError
from wizard.kernel.paths import Workspace
from wizard.plan.plan import Plan
from wizard.plan.server_plan import replan
from wizard.probe.host import Host

CACHES = ("auto", "fp8")
"""Types of the KV cache to try on GPUs; others than these are the same under another name."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is varied.

    Attributes:
        batch: Requests that the server runs at once (``max_num_seqs``, ``max_batch_size``, slots).
        cache: Type of the KV cache.
        step: Most tokens of an engine step (``max_num_batched_tokens``); None: it is not varied.
    """

    batch: int
    cache: str
    step: int | None = None

    @property
    def name(self) -> str:
        """``16, fp8, 8192``: batch size, KV cache and tokens of a step."""
        return ", ".join(filter(None, (str(self.batch), self.cache, str(self.step or ""))))


def setting_of(choice: Choice) -> Setting:
    """The setting of a choice."""
    return Setting(choice.users, choice.kv_cache_dtype, choice.step_tokens if has_steps(choice) else None)


def has_steps(choice: Choice) -> bool:
    """Whether the number of tokens of a step can be set."""
    gpu = stacks.facts(choice.stack).gpu
    return gpu is not None and gpu.memory.step_setting != "" and choice.step_tokens is not None


@dataclass(frozen=True, slots=True)
class Variants:
    """Makes the plans.

    Attributes:
        host: The machine, without the server running.
        plan: The server's own plan.
        workspace: Its workspace.
        past: Measurements of this machine.
    """

    host: Host
    plan: Plan
    workspace: Workspace
    past: Calibration

    def plan_of(self, setting: Setting) -> Plan | None:
        """The plan of the same server with ``setting``; None if this machine cannot serve it."""
        before = self.plan.choice
        wanted = replace(
            constraints_of(before),
            users=setting.batch,
            max_len=before.max_seq_len,
            kv_dtype=setting.cache,
            runtime=before.runtime,
            engine_python=before.engine_python,
        )
        with suppress(WizardError, Refused):
            made, _ = candidates(self.host, self.plan.facts, wanted, self.past)
            same = [each for each in made if self._is_same(each, setting)]
            if same:
                choice = replace(same[0], step_tokens=setting.step or same[0].step_tokens)
                name = self.plan.name
                return replan(self.host, self.plan.facts, choice, self.workspace, name=name, on_purpose=True)
        return None

    def _is_same(self, choice: Choice, setting: Setting) -> bool:
        fields = [name for name in SETUP if name != "kv_cache_dtype"]
        equal = all(getattr(choice, name) == getattr(self.plan.choice, name) for name in fields)
        return equal and (choice.users, choice.kv_cache_dtype) == (setting.batch, setting.cache)

    def largest(self, most: int) -> Setting | None:
        """The setting with the largest batch, a power of two up to ``most``, that this machine can serve."""
        own = setting_of(self.plan.choice)
        sizes = [2**power for power in range(most.bit_length()) if 2**power <= most]
        tried = (replace(own, batch=size) for size in sorted({*sizes, most}, reverse=True))
        return next((setting for setting in tried if self.plan_of(setting)), None)

    def caches(self, setting: Setting) -> Iterator[Setting]:
        """The same setting with each other type of the KV cache, as far as the stack has any."""
        for cache in CACHES if stacks.facts(self.plan.choice.stack).gpu and self.plan.choice.devices else ():
            if cache != setting.cache:
                yield replace(setting, cache=cache)
