"""The Pareto front: the setups of which none is both faster per user and higher in throughput than another. Pure.

Every setup that the advice considers is computed for several numbers of concurrent users, all with requests of the same
length, because speeds for different requests are not comparable. A setup of unknown speed is named, never placed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from wizard.advise import ranking, service
from wizard.advise.advice import Choice, Constraints, Rejection
from wizard.advise.calibration import NOTHING, Calibration
from wizard.advise.candidates import candidates
from wizard.advise.comparison import untested
from wizard.advise.criteria import quality
from wizard.advise.fit import LONGEST
from wizard.advise.reasons import Reason, because
from wizard.catalog import stacks
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host

USERS = tuple(1 << power for power in range(11))
"""Numbers of concurrent users to compute, unless the user gave one."""


@dataclass(frozen=True, slots=True)
class Point:
    """A setup on the front.

    Attributes:
        users: Concurrent users that both figures are for, all replicas together.
        tokens_per_s_per_user: Output tokens of one of them per second, once the first has arrived.
        tokens_per_s: Output tokens of all of them per second, the time to the first token included.
        choice: The setup, with the ranges of its speed.
    """

    users: int
    tokens_per_s_per_user: float
    tokens_per_s: float
    choice: Choice


@dataclass(frozen=True, slots=True)
class UnknownSpeed:
    """A stack of which a setup has no place on the front, and the reason."""

    stack: str
    why: Reason | str


@dataclass(frozen=True, slots=True)
class Front:
    """The front, the fastest per user first.

    Attributes:
        model: Name of the model.
        isl: Input tokens of every request.
        osl: Output tokens of every request.
        points: The setups on it; empty if no speed is known or nothing can be served.
        unknown: Stacks that could serve the model at an unknown speed.
        rejections: Why nothing can be served; empty if something can.
    """

    model: str
    isl: int
    osl: int
    points: tuple[Point, ...] = ()
    unknown: tuple[UnknownSpeed, ...] = ()
    rejections: tuple[Rejection, ...] = ()


def front(host: Host, facts: ModelFacts, constraints: Constraints, past: Calibration = NOTHING) -> Front:
    """The Pareto front of ``facts`` on ``host``; explicit constraints are never changed.

    Requests have the lengths of the goal or the user's, shortened if the model was trained for less, or if the user set
    a shorter context. Without ``constraints.users``, the numbers of users are `USERS`, as far as they fit.
    """
    if not host.is_here:
        past = NOTHING
    if service.too_long(facts, constraints):  # shortened, such requests would be others than the user's
        want = service.wanted(constraints)
        refused = ranking.advise(host, facts, constraints, past).rejections
        return Front(facts.name, want.isl, want.osl, rejections=refused)
    request = service.load_of(constraints, 1, constraints.max_len or facts.max_context or LONGEST)
    # For this goal, a setup has as many replicas as there are GPUs: fewer are neither faster nor higher in throughput.
    asked = replace(constraints, goal="throughput", isl=request.isl, osl=request.osl)
    choices: list[Choice] = []
    rejections: list[Rejection] = []
    for users in (constraints.users,) if constraints.users else USERS:
        made, rejections = candidates(host, facts, replace(asked, users=users), past)
        if not made:
            break
        choices += made
    if choices:
        rejections = []
    unknown = dict.fromkeys(UnknownSpeed(choice.stack, _why(choice)) for choice in choices if not _is_known(choice))
    return Front(facts.name, request.isl, request.osl, _undominated(choices), tuple(unknown), tuple(rejections))


def constrained(constraints: Constraints, point: Point) -> Constraints:
    """``constraints`` with the setup and the load of ``point``."""
    choice, speed = point.choice, point.choice.speed
    return replace(
        constraints,
        users=point.users,
        isl=speed.isl if speed else None,
        osl=speed.osl if speed else None,
        stack=choice.stack,
        quantization=choice.quantization,
        tp=choice.tp,
        pp=choice.pp,
        dp=choice.dp,
        kv_dtype=choice.kv_cache_dtype,
        replicas=choice.replicas,
        max_gpus=constraints.max_gpus if choice.devices else 0,
    )


def _is_known(choice: Choice) -> bool:
    """Whether both axes are known, also if not all users fit at once."""
    return bool(choice.speed and choice.speed.tpot_ms and choice.speed.throughput_tokens_per_s)


def _point(choice: Choice) -> Point | None:
    """``choice`` on the axes; None if its speed is unknown, or if not all users fit at once."""
    speed = choice.speed
    if speed is None or not (speed.tpot_ms and speed.throughput_tokens_per_s and speed.users):
        return None
    if speed.served is not None and speed.served < speed.users:
        return None
    return Point(speed.users, 1000 / speed.tpot_ms, speed.throughput_tokens_per_s, choice)


def _why(choice: Choice) -> Reason | str:
    """Why its speed, or only its throughput, is unknown."""
    if choice.speed and choice.speed.tpot_ms:
        return because("offload-throughput-unknown" if choice.offload else "throughput-unknown")
    whys = (note.params["why"] for note in choice.warnings if note.code == "speed")
    return next((why for why in whys if isinstance(why, (Reason, str))), because("cpu-speed-unknown"))


def _undominated(choices: Iterable[Choice]) -> tuple[Point, ...]:
    """The points that no other exceeds on both axes; of equal ones the most precise and simplest."""

    def order(point: Point) -> tuple[float, float, bool, int, int, int]:
        choice = point.choice
        simple = (untested(choice), quality(choice), stacks.facts(choice.stack).simplicity.steps)
        return (-point.tokens_per_s_per_user, -point.tokens_per_s, *simple, len(choice.devices))

    points: list[Point] = []
    for point in sorted(filter(None, map(_point, choices)), key=order):
        if not points or point.tokens_per_s > points[-1].tokens_per_s:
            points.append(point)
    return tuple(points)
