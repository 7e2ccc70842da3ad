"""What if: the constraints that can be changed in place, and their next values. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from wizard.advise.advice import Choice, Constraints
from wizard.advise.gpu_setups import SPLITS, TRIED
from wizard.advise.titles import format_title
from wizard.kernel.language import mark, tr
from wizard.model.facts import ModelFacts

CONTEXTS = tuple(1 << power for power in range(8, 21))
USERS = tuple(1 << power for power in range(11))


@dataclass(frozen=True, slots=True)
class Field:
    """A constraint.

    Attributes:
        name: Name of the field of `Constraints`.
        title: Display name; passed to `wizard.kernel.language.tr` where it is shown.
        values: All values in order; numbers ascend.
        now: Returns the value of a choice.
    """

    name: str
    title: str
    values: tuple[str | int, ...]
    now: Callable[[Choice], str | int]

    def value(self, constraints: Constraints, choice: Choice | None) -> str | int | None:
        """The constraint, else the value of ``choice``; None without either."""
        option: str | int | None = getattr(constraints, self.name)
        return option if option is not None else self.now(choice) if choice else None

    def stepped(self, constraints: Constraints, choice: Choice | None, by: int) -> Constraints:
        """The constraints with the next or previous value; unchanged at the end."""
        now = self.value(constraints, choice)
        if isinstance(now, int):
            others = [item for item in self.values if isinstance(item, int) and (item > now if by > 0 else item < now)]
            value: str | int | None = (min(others) if by > 0 else max(others)) if others else None
        else:
            at = (self.values.index(now) if now in self.values else -1) + by
            value = self.values[at] if 0 <= at < len(self.values) else None
        return constraints if value is None else replace(constraints, **{self.name: value})  # type: ignore[arg-type]  # as declared

    def words(self, constraints: Constraints, choice: Choice | None) -> str:
        """The value as text, with a star if it is a constraint."""
        now = self.value(constraints, choice)
        if self.name == "quantization" and now is not None:
            text = format_title(str(now), choice.dtype if choice else tr("16 bits"))
        else:
            text = f"{now:,}" if isinstance(now, int) else str(now or "?")
        return text + ("" if getattr(constraints, self.name) is None else "*")


def fields(facts: ModelFacts) -> Sequence[Field]:
    """The fields for this model: a quantized checkpoint has a fixed format, a GGUF also a fixed KV cache."""
    stored = facts.quantization
    gguf = bool(stored and stored.method == "gguf")
    longest = facts.max_context or CONTEXTS[-1]
    return (
        Field("quantization", mark("format"), () if stored else TRIED, lambda choice: choice.quantization or "none"),
        Field("tp", mark("tp"), (1,) if gguf else SPLITS, lambda choice: choice.tp),
        Field("kv_dtype", mark("KV"), () if gguf else ("auto", "fp8"), lambda choice: choice.kv_cache_dtype),
        Field(
            "max_len",
            mark("context"),
            (*(context for context in CONTEXTS if context < longest), longest),
            lambda choice: choice.max_seq_len,
        ),
        Field("users", mark("users"), USERS, lambda choice: choice.users),
    )


def nearest(choices: Sequence[Choice], to: Choice | None) -> int:
    """The index of ``to``, or of the most similar choice; the first if nothing is known."""
    if to is None or to in choices:
        return choices.index(to) if to else 0

    def likeness(choice: Choice) -> tuple[bool, ...]:
        same = (
            choice.stack == to.stack,
            choice.quantization == to.quantization,
            choice.tp == to.tp,
            (choice.pp, choice.dp) == (to.pp, to.dp),
        )
        return (*same, choice.kv_cache_dtype == to.kv_cache_dtype)

    return max(range(len(choices)), key=lambda at: (likeness(choices[at]), -at), default=0)
