"""Numbers with units in words."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log10

from wizard.advise.reasons import Param
from wizard.kernel.language import ntr, tr


def whole(value: Param) -> int:
    """A count; 0 if it is none."""
    return value if isinstance(value, int) else 0


def rate(per_s: float) -> str:
    """Tokens per second."""
    return f"{per_s:,.0f}" if per_s >= 9.95 else f"{per_s:.1f}"


def money(amount: float) -> str:
    """An amount in a currency that is not named: two decimals, or three significant digits if it is below 1."""
    rounded = float(f"{amount:.2e}")
    return f"{rounded:.{2 - floor(log10(rounded))}f}" if 0 < rounded < 1 else f"{amount:,.2f}"


def load(users_count: Param, isl: Param, osl: Param) -> str:
    """The load that figures are for: ``4 users, 1,024 tokens in, 256 out``."""
    return tr("{users}, {isl:,} tokens in, {osl:,} out", users=users(users_count), isl=isl, osl=osl)


def gpus(count: Param) -> str:
    """``2 GPUs``."""
    return ntr("{count} GPU", "{count} GPUs", whole(count), count=count)


def split(params: Mapping[str, Param]) -> str:
    """``tp 2 × pp 1``, or with data-parallel ranks ``tp 1 × dp 4``."""
    first = "tp {tp} × dp {dp}" if "dp" in params else "tp {tp} × pp {pp}"
    return first.format_map(params)


def users(count: Param) -> str:
    """``2 users``."""
    number = whole(count)
    return ntr("{count:,} user", "{count:,} users", number, count=number)


def room(users: Param, tokens: Param) -> str:
    """``4 users at a time, 8,192 tokens each``."""
    return ntr(
        "{users:,} user, {tokens:,} tokens",
        "{users:,} users at a time, {tokens:,} tokens each",
        whole(users),
        users=users,
        tokens=tokens,
    )
